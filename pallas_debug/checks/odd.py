"""Findings about single instructions whose results are out of the ordinary."""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug.checks import births
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.arithmetic import Oddity, arithmetic
from pallas_debug.trace.trace import Trace


def oddities(trace: Trace, kind: str) -> Iterator[Oddity]:
    """Everything of one kind that was noted, in order."""
    for one in arithmetic(trace).oddities:
        if one.kind == kind:
            yield one


def finding(trace: Trace, one: Oddity, what: str, hint: str) -> Finding:
    """A finding at the instruction: `what` it did, where first and how often."""
    block = births.block_of(trace, one)
    where = f"; first in block {block}" if block else ""
    often = f", {one.elements:,} elements" if one.elements > 1 else ""
    return Finding(
        message=f"{what}{births.place(one)}{where}{often}",
        hint=hint,
        loc=births.loc_of(trace, one),
        launch=one.launch,
        block=block,
        threads=(one.thread,),
        events=(one.event,) if one.event < len(trace) else (),
        count=one.count,
        details={
            **births.details(one),
            "result": one.result,
            "dtype": one.dtype,
        },
    )
