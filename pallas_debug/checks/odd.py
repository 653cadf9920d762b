"""Findings about single instructions whose results are out of the ordinary."""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug.checks import births
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.arithmetic import DRIFT, Oddity, arithmetic
from pallas_debug.trace.trace import Trace


def oddities(trace: Trace, kind: str) -> Iterator[Oddity]:
    """Everything of one kind that was noted, in order."""
    for one in arithmetic(trace).oddities:
        if one.kind == kind:
            yield one


def finding(trace: Trace, one: Oddity, what: str, hint: str) -> Finding:
    """A finding at the instruction: `what` it did, where first and how often."""
    block = births.block_of(trace, one)
    place = births.place(one)
    what = what if place else what.removesuffix(",")
    where = f"; first in block {block}" if block else ""
    return Finding(
        message=f"{what}{place}{where}{_often(one)}",
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


def _often(one: Oddity) -> str:
    """`, 1,024 elements, 32 times`, each as far as it says something."""
    turns = 1 if one.kind == DRIFT else one.count  # a drift is noted where it is worst
    each, more = divmod(one.elements, turns)
    mean = " on average" if more else ""
    size = f", {each:,} elements{mean}" if each > 1 else ""
    return f"{size}, {turns:,} times" if turns > 1 else size
