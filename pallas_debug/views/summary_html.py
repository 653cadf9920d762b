"""The summary as HTML without a script: it survives sanitizers, viewers and printing.

At most `LIMIT` bytes; colors are only ever added to words, and none is set for text or
background, so that the page's light or dark theme stays.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pallas_debug.trace import Trace
from pallas_debug.views import overview, text
from pallas_debug.views.view import view as exported

LIMIT = 20_000
CELL = "padding:1px 10px 1px 0;text-align:left;background:none;border:0"
BOX = '<div style="font-size:13px;line-height:1.35">'
COLORS = {"error": "#e5484d", "warning": "#b7791f", "info": "#888"}


def _escaped(words: object) -> str:
    return html.escape(str(words), quote=True)


def _row(cells: Iterable[object], tag: str = "td") -> str:
    return (
        "<tr>"
        + "".join(f'<{tag} style="{CELL}">{_escaped(cell)}</{tag}>' for cell in cells)
        + "</tr>"
    )


def _table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    body = "".join(_row(row) for row in rows)
    return (
        '<table style="border-collapse:collapse;margin:4px 0 8px 1em;font-size:inherit">'
        f"<thead>{_row(head, 'th')}</thead><tbody>{body}</tbody></table>"
    )


def _memory_rows(view: overview.Overview) -> Iterator[tuple[str, ...]]:
    for space in view.spaces:
        where = "a block" if space.per_block else "in all"
        peak = f"{text.size(space.peak_bytes)} {where}"
        for held in space.held[: text.MOST_BUFFERS]:
            size = text.size(held.size_bytes)
            yield space.name, held.name, held.role, text.shaped(held), size, peak
            peak = ""


def _launch(view: overview.Overview) -> str:
    launch = view.launch
    where = f" · {text.place(launch.loc)}" if launch.loc else ""
    name, _, chip = text.named(view).rpartition(" (")
    parts = [
        f"<b>{_escaped(name)}</b> ({_escaped(chip)}{_escaped(where)}<br>"
        f"{_escaped(text.layout(view))}; {_escaped(text.outcome(launch))}</div>"
    ]
    if launch.scalars:
        parts.append(_table(("scalar", "value"), launch.scalars.items()))
    if view.counts:
        head, *rows = text.count_rows(view)
        parts.append(_table(head, rows))
    if printed := "\n".join(text.printed_lines(view)):
        parts.append(f'<pre style="margin:2px 0 4px 1em">{_escaped(printed)}</pre>')
    if view.spaces:
        head = ("space", "buffer", "role", "type", "size", "at most")
        parts.append(_table(head, _memory_rows(view)))
    return "".join(parts)


def _finding(one: Any, following: Sequence[Any] = ()) -> str:
    color = COLORS.get(str(one.severity), COLORS["info"])
    head = f"{text.mark(one)} {one.severity} {one.code}"
    parts = [
        f'<b style="color:{color}">{_escaped(head)}</b> '
        f"{_escaped(one.name)}: {_escaped(one.message)}"
    ]
    if one.loc:
        parts.append(f"<br>{_escaped(text.place(one.loc))}")
        line = (one.loc.excerpt.splitlines() or [""])[0]
        parts.append(f": <code>{_escaped(line.strip())}</code>")
    if one.called:
        parts.append(f"<br>{_escaped(one.called)}")
    if one.hint and one.cause is None:
        parts.append(f"<br>try: {_escaped(one.hint)}")
    if one.count > 1 and f"{one.count:,} times" not in one.message:
        parts.append(f"<br>{one.count:,} times")
    if following:
        inside = "".join(map(_finding, following[: text.MOST_FINDINGS]))
        parts.append(f'<br>from this follows:<ul style="margin:0">{inside}</ul>')
    return f'<li style="margin:2px 0">{"".join(parts)}</li>'


def _fitted(parts: list[str], budget: int) -> str:
    """As many parts as fit, and a word about those that do not."""
    kept: list[str] = []
    for number, part in enumerate(parts):
        budget -= len(part.encode())
        if budget < 0:
            kept.append(f"<div>… and {len(parts) - number} more</div>")
            break
        kept.append(part)
    return "".join(kept)


def html_summary(trace: Trace, report: Any) -> str:
    """What each launch did, then every finding; a fragment for a notebook's output."""
    groups = text.grouped(overview.overviews(trace), _launch)
    launches = [f"<div>{_escaped(numbers)}: {body}" for numbers, body in groups]
    return f"{BOX}{_fitted(launches, LIMIT // 2)}{_findings(report, trace)}</div>"


def html_findings(report: Any) -> str:
    """Every finding; a fragment for a notebook's output."""
    return f"{BOX}{_findings(report, None)}</div>"


def _findings(report: Any, trace: Trace | None) -> str:
    found = [_finding(root, report.following(root)) for root in report.roots]
    refused = any(map(text.is_refusal, report.findings))
    legend = text.legend(report.findings, trace)
    return (
        f"<div><b>{_escaped(report.tally)}</b></div>"
        + f'<ul style="margin:0;padding-left:1.2em">{_fitted(found, LIMIT // 3)}</ul>'
        + (f"<i>{_escaped(legend)}</i>" if refused else "")
    )


@exported("summary-html", suffix=".summary.html")
def html_file(trace: Trace, report: Any) -> str:
    """The summary as a file that a browser opens."""
    title = _escaped(", ".join(launch.name for launch in trace.launches[:3]))
    head = f'<!doctype html><meta charset="utf-8"><title>{title}</title>'
    return head + html_summary(trace, report)
