"""PD213 barrier-never-observed: a barrier completes phase after phase, nobody waits.

## What it does

Names barriers of finished launches that completed two phases or more while no thread
ever waited for one.

## Why is this bad?

Arrivals order nothing by themselves. A barrier without a wait is dead code at best; more
often the wait was forgotten, or is on another barrier. JAX's interpreter refuses such
kernels: "Barrier completed phase 1, but no threads observed phase 0". A last phase that
nobody looks at (a slot given back at the end of a ring) is fine.

## Example

```python
plgpu.barrier_arrive(done)
plgpu.barrier_arrive(done)
```

## Use instead

```python
plgpu.barrier_arrive(done)
plgpu.barrier_wait(done)
plgpu.barrier_arrive(done)
```
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pallas_debug.checks import accesses
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace import dtypes
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.trace import Trace


@check("PD213", "barrier-never-observed", severity=Severity.WARNING)
def barrier_never_observed(trace: Trace) -> Iterator[Finding]:
    """The second phases of barriers that nobody waits for, by line."""
    columns = trace.columns
    judged = np.array(
        [launch.outcome.kind == "finished" for launch in trace.launches], bool
    )
    barrier = np.array(
        [dtypes.is_barrier(row.dtype) for row in trace.buffer_rows], bool
    )
    seen = np.unique(columns.object[columns.kind == Kind.WAIT])
    events = np.flatnonzero((columns.kind == Kind.PHASE) & (columns.aux == 2))
    events = events[judged[columns.launch[events]] & barrier[columns.object[events]]]
    events = events[~np.isin(columns.object[events], seen)]
    for group in accesses.by_line(trace, events):
        first = trace.events[int(group[0])]
        name = first.buffer.name if first.buffer else "?"
        yield accesses.finding_at(
            trace,
            group,
            f"barrier `{name}` completes phase 2 here, and nobody ever waits for it"
            f"{accesses.times(trace, group)}",
            hint=f"wait for `{name}` on the thread that builds on what comes before this "
            "arrival; without one, remove the barrier",
        )
