"""The portability table as text and as script-free HTML."""

from __future__ import annotations

import html as markup
import textwrap
from collections.abc import Iterator
from typing import Any

from pallas_debug.views.text import place

MARKS = {
    "runs": "✓",
    "lowers": "✓",
    "differs": "≠",
    "refused": "⊘",
    "foreign": "–",
    "hangs": "∞",
    "unfinished": "–",
    "not tried": "–",
}
COLORS = {"✓": "#2b8a3e", "≠": "#b7791f", "⊘": "#e5484d", "∞": "#e5484d", "–": "#888"}
WIDTH = 88
CELL = "padding:2px 12px 2px 0;text-align:left;vertical-align:top;border:0"


def title(table: Any) -> str:
    """`matmul on JAX 0.12.0.1, as on h100`."""
    return f"{table.name} on JAX {table.jax}, as on {table.chip}"


def _reasons(row: Any) -> Iterator[str]:
    """Why, where, way out: as many as there are."""
    if row.why:
        yield " ".join(row.why.split())
    if row.loc:
        line = row.loc.excerpt.strip().partition("\n")[0]
        yield f"at {place(row.loc)}: {line}"
    if row.hint:
        code = f" ({row.code})" if row.code else ""
        yield f"try: {row.hint}{code}"


def text(table: Any) -> str:
    """The table for a terminal."""
    lines = [title(table)]
    width = max(len(row.target) for row in table.rows)
    for row in table.rows:
        head = f"  {MARKS[row.status]} {row.target:<{width}}  {row.status}"
        lines.append(head)
        for reason in _reasons(row):
            lines += textwrap.wrap(
                reason,
                WIDTH,
                initial_indent=" " * (width + 6),
                subsequent_indent=" " * (width + 8),
                break_on_hyphens=False,
            )
    return "\n".join(lines)


def html(table: Any) -> str:
    """The table for a notebook; color is only ever added to words."""
    rows: list[str] = []
    for row in table.rows:
        mark = MARKS[row.status]
        first, *more = [markup.escape(reason) for reason in _reasons(row)] or [""]
        reasons = first + "".join(f"<br><i>{reason}</i>" for reason in more)
        rows.append(
            f'<tr><td style="{CELL}"><b>{markup.escape(row.target)}</b></td>'
            f'<td style="{CELL};white-space:nowrap">'
            f'<b style="color:{COLORS[mark]}">{mark} {row.status}</b></td>'
            f'<td style="{CELL}">{reasons}</td></tr>'
        )
    return (
        '<div style="font-size:13px;line-height:1.35">'
        f"<b>{markup.escape(title(table))}</b>"
        f'<table style="border-collapse:collapse;margin:4px 0">{"".join(rows)}</table>'
        "</div>"
    )
