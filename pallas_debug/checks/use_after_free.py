"""PD107 use-after-free: scoped memory is touched after its scope has ended.

## What it does

Reads and writes by copies and matrix operations that are still in flight when the
`run_scoped` that owns the buffer ends. It is an error if memory of the same space is
allocated again in that block and nothing orders the access before that; otherwise nobody
can have taken the bytes, and it is only worth knowing.

## Why is this bad?

The next allocation gets the same bytes: the copy then writes into somebody else's
buffer, or sends somebody else's data.

## Example

```python
def body(tmp):
    tmp[...] = x_ref[...]
    plgpu.commit_smem()
    plgpu.copy_smem_to_gmem(tmp, o_ref)  # nobody waits for it
pl.run_scoped(body, plgpu.SMEM((128,), jnp.float32))
```

## Use instead

```python
    plgpu.copy_smem_to_gmem(tmp, o_ref)
    plgpu.wait_smem_to_gmem(0)
```
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator

import numpy as np

from pallas_debug.checks import accesses
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace.schema import BufferRow, Kind
from pallas_debug.trace.tables import WORKERS
from pallas_debug.trace.trace import Trace

VERBS = {Kind.READ: "reads", Kind.WRITE: "writes", Kind.UPDATE: "updates"}


@check("PD107", "use-after-free")
def use_after_free(trace: Trace) -> Iterator[Finding]:
    """Accesses that may come after the end of their buffer, by line and buffer."""
    events, following = _suspects(trace)
    if not len(events):
        return
    taken = following >= 0
    if taken.any():
        ordered = trace.order.before(events[taken], following[taken])
        taken[taken] = ~np.asarray(ordered)
    free = accesses.lifetimes(trace)[1]
    late = ~taken & (events > free[trace.columns.object[events]])
    next_of = dict(zip(events.tolist(), following.tolist(), strict=True))
    for which, severity in ((taken, Severity.ERROR), (late, Severity.INFO)):
        for group in accesses.by_line(trace, events[which]):
            yield _finding(trace, group, severity, next_of[int(group[0])])


def _suspects(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Accesses to freed buffers by agents, each with the next allocation, or -1."""
    columns = trace.columns
    free = accesses.lifetimes(trace)[1]
    agents = np.array([r.kind not in WORKERS for r in trace.thread_rows], bool)
    events = np.flatnonzero(np.isin(columns.kind, tuple(map(int, VERBS))))
    if not len(events) or not (free >= 0).any():
        return events[:0], events[:0]
    events = events[
        (free[columns.object[events]] >= 0) & agents[columns.thread[events]]
    ]
    objects = columns.object[events]
    after = np.full(len(free), -1, np.int64)
    for number in np.unique(objects).tolist():
        after[number] = _following(trace, number)
    return events, after[objects]


Owner = tuple[int, int, str, int]


def _following(trace: Trace, number: int) -> int:
    """The first allocation that may get the bytes of a freed buffer, or -1."""
    births = trace.caches.get("births")
    if births is None:
        births = trace.caches["births"] = _births(trace)
    seqs = births.get(_owner(trace.buffer_rows[number]), [])
    at = bisect.bisect_right(seqs, int(accesses.lifetimes(trace)[1][number]))
    return seqs[at] if at < len(seqs) else -1


def _births(trace: Trace) -> dict[Owner, list[int]]:
    """Allocations of each owner in each memory space, in order."""
    found: dict[Owner, list[int]] = {}
    born = accesses.lifetimes(trace)[0].tolist()
    for row, seq in zip(trace.buffer_rows, born, strict=True):
        if seq >= 0 and row.alias < 0:
            found.setdefault(_owner(row), []).append(seq)
    return {key: sorted(seqs) for key, seqs in found.items()}


def _owner(row: BufferRow) -> Owner:
    """Who allocates from the same memory: a block, or one thread for itself."""
    alone = row.thread if row.scope == "thread" else -1
    return row.launch, row.block, row.space, alone


def _finding(
    trace: Trace, group: np.ndarray, severity: Severity, following: int
) -> Finding:
    first = trace.events[int(group[0])]
    assert first.buffer is not None, "an access has a buffer"
    region = first.region.text if first.region else ""
    free = first.buffer.free
    what = f"{first.thread.name} {VERBS[first.kind]} `{first.buffer.name}`{region} "
    if severity is Severity.ERROR:
        taker = trace.events[following]
        name = taker.buffer.name if taker.buffer else ""
        what += f"with nothing that orders it before `{name}` gets its memory"
        what += f" ({taker.place})" if taker.place else ""
    else:
        what += "after its scope has ended; no later allocation takes its memory"
    return accesses.finding_at(
        trace,
        group,
        what + accesses.times(trace, group),
        hint="wait for the operation before the scope of the buffer ends",
        severity=severity,
        details={"free": free, "taken_by": following},
    )
