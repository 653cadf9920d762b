"""PD212 barrier-arrivals-pending: a barrier ends with some but not all arrivals.

## What it does

For launches that finished, looks at the last phase of each barrier: arrivals that came
while others, of the `num_arrivals` that the phase needs, did not.

## Why is this bad?

Either `num_arrivals` is not the number of threads and copies that arrive, or some of them
do not get there. Nobody waited for this phase, or the kernel would hang; with one more
turn of a loop it will.

## Example

```python
done = plgpu.Barrier(num_arrivals=2)  # but only one warpgroup arrives
```

## Use instead

```python
done = plgpu.Barrier(num_arrivals=1)
```
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pallas_debug.checks import accesses, outside_barriers, semaphores
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace import dtypes
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.trace import Trace

# A block has them without declaring them; its end takes back what is pending there.
NAMED = "named_barrier"


@check("PD212", "barrier-arrivals-pending", severity=Severity.WARNING)
def barrier_arrivals_pending(trace: Trace) -> Iterator[Finding]:
    """The last arrivals of barriers in the middle of a phase, by line."""
    columns, rows = trace.columns, trace.buffer_rows
    judged = np.array(
        [launch.outcome.kind == "finished" for launch in trace.launches], bool
    )
    is_barrier = np.array(
        [dtypes.is_barrier(row.dtype) and row.name != NAMED for row in rows], bool
    )
    needed = np.array([row.arrivals for row in rows], np.int64)
    events = np.flatnonzero(columns.kind == Kind.ARRIVE)
    objects = columns.object[events]
    events = events[is_barrier[objects] & judged[columns.launch[events]]]
    events = events[~np.isin(events, outside_barriers.nowhere(trace))]
    key = columns.object[events].astype(np.int64) * max(len(trace.regions), 1)
    key += columns.region[events]
    _, of, counts = np.unique(key, return_inverse=True, return_counts=True)
    last = np.zeros(len(counts), np.int64)
    last[of] = events
    came = counts % np.maximum(needed[columns.object[last]], 1)
    pending = dict(zip(last.tolist(), came.tolist(), strict=True))
    for group in accesses.by_line(trace, np.sort(last[came > 0])):
        yield _finding(trace, group, pending[int(group[0])])


def _finding(trace: Trace, arrivals: np.ndarray, came: int) -> Finding:
    first = trace.events[int(arrivals[0])]
    needed = first.buffer.row.arrivals if first.buffer else 0
    name = first.buffer.name if first.buffer else "?"
    return accesses.finding_at(
        trace,
        arrivals,
        f"barrier {semaphores.name_at(first)} ends with {came} of the {needed} arrivals that "
        f"phase {first.aux + 1} needs{accesses.times(trace, arrivals)}",
        hint=f"make num_arrivals of `{name}` ({needed}) the number of arrivals in each "
        "phase, or let the missing threads arrive",
        details={"arrivals": {"seen": came, "needed": needed}},
    )
