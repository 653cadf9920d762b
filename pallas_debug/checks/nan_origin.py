"""PD401 nan-origin: NaN or infinity in an output, and where it was born.

## What it does

Takes the first NaN (or infinity made of finite numbers) that each line brings to an
output and goes back: over the memory it came through and the instructions that carried
it, to the one that made it, to memory that nobody had set, or to an input. The finding
stands at the line where it was born. `details["path"]` lists every step.

## Why is this bad?

NaN shows far from its cause: born in a subtraction in the first turn of a loop, it is
seen when the last row is normalized.

## Example

```python
m = jnp.full((rows,), -jnp.inf)
m_new = jnp.maximum(m, s.max(axis=1))  # -inf for a row that is masked entirely
p = jnp.exp(s - m_new[:, None])        # -inf - -inf
```

## Use instead

```python
m = jnp.full((rows,), -0.7 * float(jnp.finfo(jnp.float32).max))
```

A large finite number masks as well and can be subtracted from itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.checks import accesses, births, places, stored
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.checks.origins import Origin, feeding, origins
from pallas_debug.checks.paths import path_of
from pallas_debug.checks.tapeflow import tapeflow
from pallas_debug.checks.uninitialized_read import advice, is_only_selected
from pallas_debug.trace.arithmetic import INFINITY, NAN, OVERFLOW, Oddity, arithmetic
from pallas_debug.trace.trace import Trace

SAID_ELSEWHERE = ("outside", "skipped")  # by PD101, by PD901
MAKERS = 8  # instructions named for one output


@check("PD401", "nan-origin", severity=Severity.WARNING)
def nan_origin(trace: Trace) -> Iterator[Finding]:
    """One finding for each birth place of a NaN, then of an infinity, in an output."""
    for origin in origins(trace, "NaN"):
        if origin.kind == "unset":
            yield from _unset(trace, origin)
        elif origin.kind == "input":
            yield _input(trace, origin)
        elif origin.kind not in SAID_ELSEWHERE:
            yield from _arithmetic(trace, origin)
    for origin in origins(trace, "infinity"):
        yield from _infinity(trace, origin)


def _target(trace: Trace, origin: Origin) -> str:
    buffer = trace.events[origin.output].buffer
    assert buffer is not None, "an output is a buffer"
    return f"`{buffer.name}`{stored.box_text(origin.elements, buffer.shape)}"


def _details(trace: Trace, origin: Origin, chain: tuple[int, ...] = ()) -> Any:
    buffer = trace.events[origin.output].buffer
    assert buffer is not None, "an output is a buffer"
    launch = int(trace.columns.launch[origin.output])
    return {
        "output": buffer.name,
        "output_elements": stored.ranges(origin.elements, buffer.shape),
        "path": (
            *births.steps(trace, launch, chain),
            *path_of(trace, origin.path),
        ),
    }


def _arithmetic(trace: Trace, origin: Origin) -> Iterator[Finding]:
    """NaN that instructions made: those in question, or the write if none is known."""
    launch = int(trace.columns.launch[origin.write])
    found = False
    for chain in births.nan_chains(trace, origin.write)[:MAKERS]:
        born = births.oddity_at(trace, launch, chain[0], NAN, OVERFLOW)
        if born is not None:
            found = True
            yield _born(trace, origin, born, chain)
    if not found:
        yield _written(trace, origin)


def _born(
    trace: Trace, origin: Origin, born: Oddity, chain: tuple[int, ...]
) -> Finding:
    """NaN that one instruction made."""
    launch = born.launch
    kernel = trace.launches[launch].kernel
    seen = kernel.loc_of(int(trace.columns.instr[origin.output]))
    here = births.loc_of(trace, born)
    far = seen is not None and here is not None and seen.line != here.line
    where = f" (written at {places.place(seen)})" if far else ""
    times = f", {born.count} times" if born.count > 1 else ""
    return Finding(
        message=f"{births.said(born)} is NaN{births.place(born)}{times}, and reaches "
        f"{_target(trace, origin)}{where}",
        hint="keep the operands finite: mask with a large finite number, not with "
        "infinity, and guard divisors",
        loc=here,
        launch=launch,
        block=births.block_of(trace, born),
        threads=(born.thread,),
        events=origin.path,
        count=born.count,
        details={
            **_details(trace, origin, chain),
            **births.details(born),
        },
    )


def _written(trace: Trace, origin: Origin) -> Finding:
    """NaN whose maker is not known: the first write of it, and what that had read."""
    events = np.array([origin.write], np.int64)
    reads = [read for read, _ in feeding(trace, origin.write, origin.elements)]
    names = dict.fromkeys(f"`{b.name}`" for r in reads if (b := trace.events[r].buffer))
    clean = f"; what it read had none: {', '.join(names)}" if names else ""
    hint = "look at the arithmetic between these reads and this write"
    launch = int(trace.columns.launch[origin.write])
    if launch not in arithmetic(trace).launches:
        hint += "; check the function itself, not a file, to have the instruction named"
    loads = [read for read in reads if _may_leave_lanes_unset(trace, read)]
    if loads:
        load = f"the masked load at {places.place(trace.events[loads[0]].loc)}"
        clean += f"; {load} has no `other=`: lanes outside its mask are NaN here"
        hint = f"give {load} an `other=` that does not change the result; else {hint}"
    return accesses.finding_at(
        trace,
        events,
        f"writes the first NaN that reaches {_target(trace, origin)}{clean}",
        hint=hint,
        details={**_details(trace, origin), "reads": path_of(trace, reads)},
    )


def _may_leave_lanes_unset(trace: Trace, read: int) -> bool:
    """Whether an event is a load with a mask, and with nothing for what that hides."""
    instr = accesses.instr_of(trace, read)
    if instr is None or instr.op != "pallas.masked_load":
        return False
    mask, other = (isinstance(o, ir.Const) and o.value is None for o in instr.ins)
    return other and not mask


def _unset(trace: Trace, origin: Origin) -> Iterator[Finding]:
    """NaN that stands for memory which nobody had set: how far it spread."""
    for one in origin.unset:
        buffer = trace.events[one.read].buffer
        assert buffer is not None, "a read has a buffer"
        if one.padding:  # PD106 says so
            continue
        box = stored.box_text(one.elements, buffer.shape)
        yield accesses.finding_at(
            trace,
            np.array([one.read], np.int64),
            f"`{buffer.name}`{box} was never written, and reaches "
            f"{_target(trace, origin)}",
            hint=advice(trace, one.read, one.elements),
            severity=None if is_only_selected(trace, one.read) else Severity.INFO,
            details={**_details(trace, origin), "unset": True},
        )


def _input(trace: Trace, origin: Origin) -> Finding:
    """NaN that the caller passed."""
    events = np.array([origin.path[0]], np.int64)
    buffer = trace.events[origin.path[0]].buffer
    assert buffer is not None, "a read has a buffer"
    return accesses.finding_at(
        trace,
        events,
        f"NaN was in `{buffer.name}` from the start, and reaches "
        f"{_target(trace, origin)}",
        hint="look at what computes this argument",
        severity=Severity.INFO,
        details=_details(trace, origin),
    )


def _infinity(trace: Trace, origin: Origin) -> Iterator[Finding]:
    """An infinity that finite numbers gave, on the way to the write of one."""
    if origin.kind != "arithmetic":
        return
    columns = trace.columns
    launch = int(columns.launch[origin.write])
    flow = tapeflow(trace.caches, trace.launches[launch].kernel)
    behind = flow.arithmetic(int(columns.instr[origin.write]))
    for one in arithmetic(trace).oddities:
        if one.kind == INFINITY and one.launch == launch and one.instr in behind:
            yield _infinite(trace, origin, one)


def _infinite(trace: Trace, origin: Origin, one: Oddity) -> Finding:
    return Finding(
        message=f"{births.said(one)} is infinite{births.place(one)}, and infinity "
        f"reaches {_target(trace, origin)}",
        hint="guard the divisor, or bound the argument of the exponential",
        loc=births.loc_of(trace, one),
        launch=one.launch,
        block=births.block_of(trace, one),
        threads=(one.thread,),
        events=origin.path,
        count=one.count,
        details={
            **_details(trace, origin, (one.instr,)),
            **births.details(one),
        },
    )
