"""PD109 union-misread: a member of a `RefUnion` is read where another one was written.

## What it does

Follows the bytes of each `plgpu.RefUnion`: which member they were written through last.
Reports reads of them through a member of another argument of the union, also one that
looks the same.

## Why is this bad?

The members share memory, so their lifetimes must not overlap: by its documentation a
union is only safe where nobody reads through another member than was written. What is
read are parts of another tile, in another layout. JAX's race detector stops there from
0.12 on.

## Example

```python
scores, (keys, values) = union
keys[...] = x_ref[...]
scores[...] = jnp.zeros(scores.shape)  # over the keys
total = keys[...].sum()
```

## Use instead

```python
total = keys[...].sum()
scores[...] = jnp.zeros(scores.shape)
```

Read a member for the last time before another one is written, or give it memory of its
own.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pallas_debug import ir
from pallas_debug.checks import accesses
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.tables import RecordedLaunch
from pallas_debug.trace.trace import Trace

READS, WRITES = (Kind.READ, Kind.UPDATE), (Kind.WRITE, Kind.UPDATE)
NONE, SEVERAL = 0, -1  # members that an instruction names, beside a number from 1


@check("PD109", "union-misread", severity=Severity.WARNING)
def union_misread(trace: Trace) -> Iterator[Finding]:
    """Reads through another member than the last write, one finding for each line."""
    for launch in trace.launches:
        members, of = _members(launch.kernel)
        if len(members) < 2:
            continue
        wrong: dict[int, int] = {}
        for events in _unions(trace, launch, of):
            wrong.update(_misread(trace, events, of))
        for events in accesses.by_line(trace, np.array(sorted(wrong), np.int64)):
            read = trace.events[int(events[0])]
            write = trace.events[wrong[read.seq]]
            mine, its = (members[of[e.column("instr")] - 1] for e in (read, write))
            name = read.buffer.name if read.buffer else "?"
            yield accesses.finding_at(
                trace,
                events,
                f"reads `{name}` as {_words(mine, name)}, but the bytes were written as "
                f"{_words(its, name)}{accesses.times(trace, events)}",
                hint="read a member before another one of the union is written over it",
                other=write.loc,
                details={"read": _words(mine, name), "written": _words(its, name)},
            )


def _members(kernel: ir.Kernel) -> tuple[list[ir.Alias], np.ndarray]:
    """The members of unions, and which one each instruction names."""
    members: list[ir.Alias] = []
    of = np.full(len(kernel.tape) + 1, NONE, np.int64)  # the last: not on the tape
    for number, instr in enumerate(kernel.tape):
        steps = [step for access in instr.accesses for step in access.steps]
        named = list({step: None for step in steps if isinstance(step, ir.Alias)})
        if not named:
            continue
        if named[0] not in members:
            members.append(named[0])
        of[number] = SEVERAL if len(named) > 1 else members.index(named[0]) + 1
    return members, of


def _unions(
    trace: Trace, launch: RecordedLaunch, of: np.ndarray
) -> Iterator[np.ndarray]:
    """The accesses to each buffer that is only ever touched as a member."""
    columns, part = trace.columns, slice(launch.first_event, launch.last_event)
    touches = np.isin(columns.kind[part], (*READS, *WRITES))
    events = np.flatnonzero(touches) + launch.first_event
    named = of[np.minimum(columns.instr[events], len(of) - 1)] != NONE
    objects = columns.object[events]
    for number in np.unique(objects[named]).tolist():
        mine = objects == number
        if named[mine].all() and trace.buffer_rows[number].space != "gmem":
            yield events[mine]


def _misread(trace: Trace, events: np.ndarray, of: np.ndarray) -> dict[int, int]:
    """Reads of one union through another member than the last write, and that write."""
    columns = trace.columns
    row = trace.buffer_rows[int(columns.object[events[0]])]
    written = np.full(int(np.prod(row.shape, dtype=np.int64)), -1, np.int64)
    flat: dict[int, np.ndarray] = {}
    wrong: dict[int, int] = {}
    instrs = columns.instr[events]
    member = of[np.minimum(instrs, len(of) - 1)].tolist()
    kinds, regions = columns.kind[events].tolist(), columns.region[events].tolist()
    for seq, own, kind, region in zip(
        events.tolist(), member, kinds, regions, strict=True
    ):
        if region not in flat:
            flat[region] = trace.region(region).flat(row.shape)
        place = flat[region]
        if kind in READS and own != SEVERAL:
            last = np.unique(written[place])
            last = last[last >= 0]
            others = of[columns.instr[last]]
            strange = last[(others != own) & (others != SEVERAL)]
            if len(strange):
                wrong[seq] = int(strange[-1])
        if kind in WRITES:
            written[place] = seq
    return wrong


def _words(member: ir.Alias, union: str) -> str:
    """`float32[64, 128]`, from which byte on, and what unpacks it: `union[1]`."""
    place = f" from byte {member.offset} on" if member.offset else ""
    part = f" (`{union}[{member.group}]`)" if member.group >= 0 else ""
    return f"{member.dtype}{list(member.shape)}{place}{part}"
