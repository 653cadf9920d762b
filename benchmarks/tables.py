"""Prints measured cells as tables of plain text."""

from typing import Any

import engines

Cells = dict[tuple[str, int, str], dict[str, Any]]
ABSENT = {"refused": "–"}  # the run was stopped before


def duration(seconds: float | None) -> str:
    """Seconds or milliseconds with three digits."""
    if seconds is None:
        return "–"
    if seconds >= 1:
        return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:.0f} s"
    return f"{seconds * 1e3:.3g} ms"


def ratio(cell: dict[str, Any], ours: dict[str, Any], clock: str) -> str:
    """How many times as long as our recording a cell takes."""
    if not cell.get(clock) or not ours.get(clock):
        return ""
    times = cell[clock] / ours[clock]
    return f" ({times:.0f}×)" if times >= 10 else f" ({times:.2g}×)"


def grid(rows: list[list[str]]) -> str:
    """Rows as a Markdown table with aligned columns; the first row is the head."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(t.ljust(w) for t, w in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def _table(cells: Cells, chosen: list[str], show: Any) -> str:
    head = ["kernel", "blocks", *(engines.ENGINES[name] for name in chosen)]
    rows = [head]
    for kernel, blocks in dict.fromkeys(key[:2] for key in cells):
        found = [cells.get((kernel, blocks, name), ABSENT) for name in chosen]
        ours = cells.get((kernel, blocks, "ours"), {})
        rows.append([kernel, str(blocks), *(show(cell, ours) for cell in found)])
    return grid(rows)


def _second(clock: str) -> Any:
    def show(cell: dict[str, Any], ours: dict[str, Any]) -> str:
        if cell.get("refused"):
            return cell["refused"]
        times = "" if cell is ours else ratio(cell, ours, clock)
        return duration(cell[clock]) + times

    return show


def _first(clock: str) -> Any:
    def show(cell: dict[str, Any], ours: dict[str, Any]) -> str:
        return duration(cell[clock]) if cell.get(clock) else cell["refused"]

    return show


def _memory(cell: dict[str, Any], ours: dict[str, Any]) -> str:
    added = cell.get("added_mb")
    return cell.get("refused") or "–" if added is None else f"{added:.0f}"


def _events(clock: str) -> Any:
    def show(cell: dict[str, Any], ours: dict[str, Any]) -> str:
        if cell.get("refused"):
            return cell["refused"]
        rate = cell["events"] / cell[clock]
        return f"{cell['events']:,} ({rate / 1e3:,.0f}k/s)"

    return show


def report(
    machine: dict[str, Any], cells: Cells, chosen: list[str], cpu: bool = False
) -> str:
    """All tables of a run, by wall clock or by CPU time."""
    line = ", ".join(f"{name} {value}" for name, value in machine.items())
    names = ", ".join(f"{key} {name}" for key, name in engines.KERNELS.items())
    own = [name for name in chosen if name in engines.OURS]
    suffix, clock = ("_cpu", "CPU time") if cpu else ("", "wall clock")
    second, first = _second("second" + suffix), _first("first" + suffix)
    parts = [
        f"Machine: {line}",
        f"Kernels: {names}",
        f"Second call, {clock} (× as long as ours):\n" + _table(cells, chosen, second),
        f"First call, {clock}:\n" + _table(cells, chosen, first),
        "Peak memory above the inputs and imports, MB:\n"
        + _table(cells, chosen, _memory),
    ]
    if own:
        events = _table(cells, own, _events("second" + suffix))
        parts.append("Events, and events per second:\n" + events)
    return "\n\n".join(parts)
