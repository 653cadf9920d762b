"""PD211 barrier-phase-missed: a barrier can go on before a waiting thread saw its phase.

## What it does

For each wait on a barrier, looks whether some arrival of the next phase comes after it.
If none does, the barrier may complete that phase, too, before the wait is over: it did in
the recording, or it would under another schedule.

## Why is this bad?

A barrier has one bit for its phase. A thread that is late by a whole phase finds the bit
as it was and sleeps until the phase after, or for ever. JAX's interpreter calls this
"waiting for the first time, but barrier is already at phase 2".

## Example

```python
plgpu.copy_gmem_to_smem(x.at[0], smem.at[0], barrier)
plgpu.copy_gmem_to_smem(x.at[1], smem.at[1], barrier)  # may complete phase 2 at once
plgpu.barrier_wait(barrier)
plgpu.barrier_wait(barrier)
```

## Use instead

One barrier for each copy in flight (`num_barriers=2`), or `num_arrivals=2` and one wait,
or wait for the first copy before the second one starts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pallas_debug.checks import accesses, places, semaphores
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace import dtypes
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.trace import Trace


@check("PD211", "barrier-phase-missed")
def barrier_phase_missed(trace: Trace) -> Iterator[Finding]:
    """Waits that no arrival of the next phase waits for, by line."""
    waits, arrivals = unseen(trace)
    last = dict(zip(waits.tolist(), arrivals.tolist(), strict=True))
    for group in accesses.by_line(trace, np.unique(waits)):
        yield _finding(trace, group, last[int(group[0])])


def unseen(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Waits that no arrival of the next phase waits for, each with all of these."""
    is_barrier = np.array([dtypes.is_barrier(r.dtype) for r in trace.buffer_rows], bool)
    waits = _of_barriers(trace, Kind.WAIT, is_barrier)
    arrivals = _of_barriers(trace, Kind.ARRIVE, is_barrier)
    phases = _of_barriers(trace, Kind.PHASE, is_barrier)
    # A wait for phase n and what takes part in phase n + 1 have the same key.
    wait_key, arrival_key = _keys(trace, waits), _keys(trace, arrivals)
    waits = waits[np.isin(wait_key, _keys(trace, phases, less=1))]
    wait_key = _keys(trace, waits)
    by_key = np.argsort(arrival_key, kind="stable")
    arrivals, arrival_key = arrivals[by_key], arrival_key[by_key]
    first = np.searchsorted(arrival_key, wait_key)
    counts = np.searchsorted(arrival_key, wait_key, side="right") - first
    of = np.repeat(np.arange(len(waits)), counts)
    place = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
    after = arrivals[np.repeat(first, counts) + place]
    is_safe = np.zeros(len(waits), bool)
    if len(of):
        np.logical_or.at(is_safe, of, trace.order.before(waits[of], after))
    return waits[of][~is_safe[of]], after[~is_safe[of]]


def _of_barriers(trace: Trace, kind: Kind, is_barrier: np.ndarray) -> np.ndarray:
    """Events of a kind on barriers."""
    events = np.flatnonzero(trace.columns.kind == kind)
    return events[is_barrier[trace.columns.object[events]]]


def _keys(trace: Trace, events: np.ndarray, less: int = 0) -> np.ndarray:
    """Barrier, element and phase as one number."""
    columns = trace.columns
    key = columns.object[events].astype(np.int64) * max(len(trace.regions), 1)
    key += columns.region[events]
    return (key << 24) + columns.aux[events] - less


def _finding(trace: Trace, waits: np.ndarray, arrival: int) -> Finding:
    wait, other = trace.events[int(waits[0])], trace.events[arrival]
    phase = wait.aux
    line = places.line(other.loc, wait.loc) if other.loc else f"event {arrival}"
    what = (
        f"was complete before {wait.thread.name} waited"
        if arrival < wait.seq
        else f"may complete before {wait.thread.name} has waited"
    )
    return accesses.finding_at(
        trace,
        waits,
        f"phase {phase + 1} of barrier {semaphores.name_at(wait)} {what} for phase {phase}: nothing makes "
        f"the arrival at {line} come after this wait{accesses.times(trace, waits)}",
        hint="let the arrival wait until this thread has seen the phase, or give each "
        "phase in flight a barrier of its own (`num_barriers=`)",
        other=other.loc,
        details={"phase": phase, "arrival": arrival, "line": line},
    )
