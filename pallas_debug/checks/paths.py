"""A path of a value through events and instructions, as plain data for details."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pallas_debug import ir
from pallas_debug.trace.trace import Trace


def path_of(trace: Trace, events: Iterable[int]) -> tuple[dict[str, Any], ...]:
    """Events as the steps of a path, in the order given."""
    return tuple(
        step(
            event=seq,
            instr=int(trace.columns.instr[seq]),
            text=trace.events[seq].what,
            loc=trace.events[seq].loc,
        )
        for seq in events
    )


def step(*, event: int, instr: int, text: str, loc: ir.Loc | None) -> dict[str, Any]:
    """One step: an event, or an instruction between two (event -1)."""
    return {
        "event": event,
        "instr": instr,
        "text": text,
        "file": loc.file if loc else "",
        "line": loc.line if loc else 0,
        "source": loc.text.strip().partition("\n")[0] if loc else "",
    }
