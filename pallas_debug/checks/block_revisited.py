"""PD104 block-revisited: a TPU grid comes back to an output block that it had left.

## What it does

Follows the windows of an output of a pipelined TPU grid. A window is kept while the
index map gives the same block; when it gives another one, the window is written back,
and a block that is come back to starts unset. Reading it, or leaving a part of it
unwritten, is an error; writing all of it again is a warning, and so are grid points that
differ along a `parallel` axis and share an output block.

## Why is this bad?

`interpret=True` reads the block back and gives the right sum. On a TPU the accumulator
starts from whatever is in the window, and the earlier result is overwritten. Along a
`parallel` axis two cores write the same block.

## Example

```python
grid = (steps, blocks)  # the summed axis is the outer one
out_specs = pl.BlockSpec((8, 128), lambda k, i: (i, 0))
```

## Use instead

```python
grid = (blocks, steps)  # the summed axis is the inner one: each block is left once
out_specs = pl.BlockSpec((8, 128), lambda i, k: (i, 0))
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pallas_debug.checks import accesses
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace import fold
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.tables import RecordedLaunch
from pallas_debug.trace.trace import Trace

WRITES = (int(Kind.WRITE), int(Kind.UPDATE))


class Visit(NamedTuple):
    """One stay at an output block: window, its first and last event, and the array."""

    window: int
    alloc: int
    write: int
    array: int
    region: int


@check("PD104", "block-revisited")
def block_revisited(trace: Trace) -> Iterator[Finding]:
    """Output blocks with more than one window, one finding for each output."""
    for launch in trace.launches:
        if launch.backend != "tpu" or not launch.grid:
            continue
        visits: dict[int, list[Visit]] = {}
        for visit in _visits(trace, launch):
            visits.setdefault(visit.array, []).append(visit)
        for of_array in visits.values():
            yield from _returns(trace, of_array)
            yield from _shared(trace, launch, of_array)


def _visits(trace: Trace, launch: RecordedLaunch) -> Iterator[Visit]:
    """Windows that were written back to an output, in order."""
    columns = trace.columns
    ops = [
        instr.op in ("window.output", "window.flush") for instr in launch.kernel.tape
    ]
    part = np.arange(launch.first_event, launch.last_event)
    instrs = np.minimum(columns.instr[part], len(ops))
    writes = part[(columns.kind[part] == Kind.WRITE) & np.array([*ops, False])[instrs]]
    writes = writes[np.isin(columns.object[writes], list(launch.outputs))]
    writes = writes[columns.kind[writes - 1] == Kind.READ]
    windows = columns.object[writes - 1]
    births = accesses.lifetimes(trace)[0][windows]
    roles = np.array([row.role == "window" for row in trace.buffer_rows], bool)
    keep = roles[windows] & (births >= 0)
    lists = (windows, births, writes, columns.object[writes], columns.region[writes])
    for row in zip(*(one[keep].tolist() for one in lists), strict=True):
        yield Visit(*row)


def _returns(trace: Trace, visits: list[Visit]) -> Iterator[Finding]:
    """Blocks with a second window that starts unset."""
    first: dict[int, Visit] = {}
    again: dict[bool, list[tuple[Visit, Visit]]] = {}
    for visit in visits:
        earlier = first.setdefault(visit.region, visit)
        if earlier is visit or _is_loaded(trace, visit):
            continue
        again.setdefault(_is_lost(trace, visit), []).append((earlier, visit))
    for lost, pairs in again.items():
        yield _finding(trace, pairs, lost=lost)


def _is_loaded(trace: Trace, visit: Visit) -> bool:
    """Whether the block was copied in again when the window was made."""
    columns = trace.columns
    after = visit.alloc + 2
    return after < visit.write and all(
        int(columns.step[seq]) == int(columns.step[visit.alloc])
        and int(columns.kind[seq]) == kind
        for seq, kind in ((visit.alloc + 1, Kind.READ), (after, Kind.WRITE))
    )


def _is_lost(trace: Trace, visit: Visit) -> bool:
    """Whether the second stay reads, or writes back, what it did not write."""
    columns = trace.columns
    span = slice(visit.alloc, visit.write)
    mine = visit.alloc + np.flatnonzero(columns.object[span] == visit.window)
    written = np.zeros(trace.buffer_rows[visit.window].shape, bool)
    for seq in mine.tolist():
        kind, region = int(columns.kind[seq]), int(columns.region[seq])
        if kind not in (*WRITES, Kind.READ) or region < 0:
            continue
        where = trace.region(region)
        if kind != Kind.WRITE:
            flat = where.flat(written.shape)
            if not written.reshape(-1)[flat].all():
                return True
        if kind in WRITES:
            fold.put(written, where, np.True_)
    return not written.all()


def _finding(
    trace: Trace,
    pairs: list[tuple[Visit, Visit]],
    *,
    lost: bool,
) -> Finding:
    earlier, visit = pairs[0]
    block = _block_of(trace, visit)
    name = trace.buffer_rows[visit.array].name
    left = trace.events[earlier.write].block
    came = trace.events[visit.alloc].block
    end = "starts from an unset window" if lost else "writes all of it again"
    events = np.array([second.alloc for _, second in pairs], np.int64)
    return accesses.finding_at(
        trace,
        events,
        f"grid point {came} comes back to block {block} of `{name}`, which was left at "
        f"{left}, and {end}{accesses.times(trace, events)}",
        hint="make the axis that is summed over the innermost axis of the grid",
        severity=Severity.ERROR if lost else Severity.WARNING,
        loc=trace.events[visit.alloc].loc,
        details={"output_block": block, "left_by": earlier.write},
    )


def _block_of(trace: Trace, visit: Visit) -> tuple[int, ...]:
    """The block's number in each dimension of the array."""
    region = trace.region(visit.region)
    return tuple(start // max(size, 1) for start, size, _ in region.spans)


def _shared(
    trace: Trace, launch: RecordedLaunch, visits: list[Visit]
) -> Iterator[Finding]:
    """Blocks that grid points share which differ along a parallel axis."""
    axes = [
        d for d, word in enumerate(launch.kernel.grid.semantics) if word == "parallel"
    ]
    if not axes:
        return
    points: dict[int, set[tuple[int, ...]]] = {}
    for visit in visits:
        mine = points.setdefault(visit.region, set())
        first = len(launch.mesh)
        points_of = _points(trace, launch, visit)
        mine |= {tuple(p[first + d] for d in axes) for p in points_of}
        if len(mine) > 1:
            block, name = _block_of(trace, visit), trace.buffer_rows[visit.array].name
            yield accesses.finding_at(
                trace,
                np.array([visit.write], np.int64),
                f"block {block} of `{name}` belongs to grid points that differ along "
                f"a parallel axis, e.g. {sorted(mine)[0]} and {sorted(mine)[1]} on "
                f"axis {', '.join(map(str, axes))}",
                hint='call the axis "arbitrary", or give each of its points a block',
                severity=Severity.WARNING,  # nobody may look at the block
                loc=trace.events[visit.alloc].loc,
                details={"output_block": block, "axes": tuple(axes)},
            )
            return


def _points(
    trace: Trace, launch: RecordedLaunch, visit: Visit
) -> Iterator[tuple[int, ...]]:
    """Grid points that had a window."""
    columns = trace.columns
    span = slice(visit.alloc, visit.write + 1)
    thread = columns.thread[visit.alloc]
    own = {int(columns.block[visit.alloc])}
    grid = (columns.kind[span] == Kind.GRID) & (columns.thread[span] == thread)
    entered = columns.block[span][grid]
    # The last point entered has another block if the window is written back there.
    if len(entered) and int(columns.instr[visit.write]) != _flush(launch):
        entered = entered[:-1]
    for number in own | set(entered.tolist()):
        point = launch.coordinates(number)
        if point is not None:
            yield point


def _flush(launch: RecordedLaunch) -> int:
    """Where the last windows are written back, after the grid's end."""
    tape = launch.kernel.tape
    return next((n for n, i in enumerate(tape) if i.op == "window.flush"), -1)
