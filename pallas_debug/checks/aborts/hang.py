"""PD320 hang: a deadlock that GPU interpret mode does not tell.

## What it does

Finds launches that came to a deadlock here, of a kernel that is asked to run in JAX's GPU
interpret mode. For JAX before 0.11.2 also those where one warpgroup does what JAX
refuses, while another one waits for what it would have done next.

## Why is this bad?

JAX 0.10.2 to 0.12.0.1 raises nothing there: the process sleeps for ever, in a callback
that a keyboard interrupt does not end. Before 0.11.2 an exception in one warpgroup does
not wake the others either, so it is never seen.

## Example

```python
plgpu.barrier_wait(barrier)  # nobody arrives
```

## Use instead

See the deadlock's own finding (PD210) for who waits for whom, or the refusal's; run a
kernel in that mode only when it comes to its end here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pallas_debug import ir
from pallas_debug.checks import accesses
from pallas_debug.checks.aborts import versions
from pallas_debug.checks.aborts.refusal import GPU_MODE, asked_of_gpu
from pallas_debug.checks.check import CHECKS, check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.tables import RecordedLaunch
from pallas_debug.trace.trace import Trace

WAKES = (0, 11, 2)
# Refusals at run time: of every thread that comes there, or of one access or arrival.
BY_ALL = ("PD303", "PD312", "PD313", "PD314", "PD315", "PD316", "PD319")
BY_ONE = ("PD317", "PD318")
HINT = "do not run it there before the {} is gone"


class Stop(NamedTuple):
    """Where a thread is stopped by an error, and what says so."""

    seq: int
    finding: Finding


@check("PD320", "hang")
def hang(trace: Trace) -> Iterator[Finding]:
    """Launches that would never come back from JAX."""
    for launch in trace.launches:
        if not asked_of_gpu(launch.kernel):
            continue
        if launch.outcome.kind == "deadlock":
            why = "the launch comes to a deadlock"
            yield _hang(launch, why, HINT.format("deadlock"), launch.loc)
        elif outlives_an_error(launch):
            yield from _left_waiting(trace, launch)


def _hang(launch: RecordedLaunch, why: str, hint: str, loc: ir.Loc | None) -> Finding:
    return Finding(
        message=f"{why}; JAX's {GPU_MODE}, if it gets so far, hangs without a word",
        hint=hint,
        loc=loc,
        launch=launch.number,
        details={"exception": "", "wording": "", "where": GPU_MODE},
    )


def outlives_an_error(launch: RecordedLaunch) -> bool:
    """Whether a thread that waits there goes on waiting when another one fails."""
    return launch.threads > 1 and not versions.within(launch.kernel, WAKES)


# --- waiting for a thread that was stopped ------------------------------------------


def _left_waiting(trace: Trace, launch: RecordedLaunch) -> Iterator[Finding]:
    """The first wait for what a thread would do after it was stopped."""
    stopped = _stopped(trace, launch)
    columns = trace.columns
    events = np.arange(launch.first_event, launch.last_event)
    for seq in events[columns.kind[events] == Kind.WAIT].tolist():
        thread = int(columns.thread[seq])
        if thread in stopped and stopped[thread].seq <= seq:
            continue
        for other, stop in stopped.items():
            if other != thread and trace.order.before(stop.seq, seq):
                yield _waiting(trace, launch, seq, stop)
                return


def _waiting(trace: Trace, launch: RecordedLaunch, seq: int, stop: Stop) -> Finding:
    who = [
        trace.threads[int(trace.columns.thread[event])].name
        for event in (seq, stop.seq)
    ]
    refusal = f"{stop.finding.named} ({stop.finding.details['exception']})"
    found = _hang(
        launch,
        f"{refusal} stops {who[1]} before it does what {who[0]} waits for, and nobody "
        "wakes that one",
        HINT.format("refusal") + ", or use JAX 0.11.2 or newer",
        launch.kernel.loc_of(int(trace.columns.instr[seq])),
    )
    details = {**found.details, "left_waiting": True}
    return replace(
        found, other=stop.finding.loc, events=(seq, stop.seq), details=details
    )


def _stopped(trace: Trace, launch: RecordedLaunch) -> dict[int, Stop]:
    """The first stop of each thread, in the first cluster or block that has one."""
    stops: dict[int, Stop] = {}
    for one in _at_run_time(trace, launch):
        for seq in _occurrences(trace, launch, one):
            thread, _, at = accesses.starter(trace, seq)
            if thread not in stops or at < stops[thread].seq:
                stops[thread] = Stop(at, one)
    rows = trace.thread_rows
    places = {
        thread: rows[thread].block if rows[thread].cluster < 0 else rows[thread].cluster
        for thread in stops
    }
    first = min(places.values(), default=-1)
    return {thread: stop for thread, stop in stops.items() if places[thread] == first}


def _at_run_time(trace: Trace, launch: RecordedLaunch) -> Iterator[Finding]:
    for code in (*BY_ALL, *BY_ONE):
        for one in CHECKS.get(code).function(trace):
            if one.events and trace.launches[one.launch].kernel is launch.kernel:
                yield replace(one, code=code)


def _occurrences(trace: Trace, launch: RecordedLaunch, one: Finding) -> list[int]:
    """Events of a launch at which a refusal is raised."""
    if one.code in BY_ONE:
        return [seq for seq in one.events if seq in launch.events]
    mine = trace.columns.instr[launch.first_event : launch.last_event]
    same = mine == trace.columns.instr[one.events[0]]
    return (launch.first_event + np.flatnonzero(same)).tolist()
