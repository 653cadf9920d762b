"""PD222 unmet-device: memory of a device that may not have entered the kernel yet.

## What it does

For kernels of a TPU that reach between devices: accesses to another device's memory
before anything that this device has heard of that one, by a signal or through others,
since the launch began.

## Why is this bad?

Devices enter a kernel when they come to it. Until then the other device's memory may hold
what its last kernel still uses: a copy that comes too early overwrites that, and is
itself lost. No interpreter shows it, where all devices start together.

## Example

```python
copy = pltpu.make_async_remote_copy(x_ref, o_ref, sent, received, device_id=right)
copy.start()  # the first line of the kernel
```

## Use instead

```python
ready = pltpu.get_barrier_semaphore()
for neighbor in (left, right):
    pl.semaphore_signal(ready, device_id=neighbor)
pl.semaphore_wait(ready, 2)
copy = pltpu.make_async_remote_copy(x_ref, o_ref, sent, received, device_id=right)
copy.start()
```

`collective_id` in the compiler's parameters gives the kernel its barrier semaphore.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pallas_debug.checks import accesses
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.tables import RecordedLaunch
from pallas_debug.trace.trace import Trace


@check("PD222", "unmet-device", severity=Severity.WARNING)
def unmet_device(trace: Trace) -> Iterator[Finding]:
    """The first accesses to devices that nothing was heard of, by line."""
    for launch in trace.launches:
        if not launch.mesh or launch.backend != "tpu":
            continue
        events, devices = _remote(trace, launch)
        events = events[~_met(trace, launch, events, devices)]
        for group in accesses.by_line(trace, events):
            first = trace.events[int(group[0])]
            verb = "reads" if first.kind is Kind.READ else "writes"
            name = first.buffer.name if first.buffer else "?"
            yield accesses.finding_at(
                trace,
                group,
                f"{first.thread.name} {verb} `{name}`{first.owner}, which may not have "
                f"entered the kernel yet{accesses.times(trace, group)}",
                hint="let neighbors signal each other's `pltpu.get_barrier_semaphore()` "
                "first, and wait for it",
            )


def _remote(trace: Trace, launch: RecordedLaunch) -> tuple[np.ndarray, np.ndarray]:
    """Accesses to memory of another device, and which device that is."""
    columns = trace.columns
    part = np.arange(launch.first_event, launch.last_event)
    kinds = (Kind.READ, Kind.WRITE, Kind.UPDATE)
    part = part[np.isin(columns.kind[part], kinds)]
    own = np.array([row.device for row in trace.thread_rows], np.int64)
    of_buffer = np.array([row.device for row in trace.buffer_rows], np.int64)
    here, there = own[columns.thread[part]], of_buffer[columns.object[part]]
    remote = here != there
    return part[remote], there[remote]


def _met(
    trace: Trace, launch: RecordedLaunch, events: np.ndarray, devices: np.ndarray
) -> np.ndarray:
    """Whether anything of the other device's program comes before each access."""
    met = np.zeros(len(events), bool)
    for thread in trace.threads:
        if thread.launch is not launch or thread.kind != "core":
            continue
        mine = np.flatnonzero(~met & (devices == thread.row.device))
        known = np.full(len(mine), thread.number, np.int64)
        met[mine] = trace.order.known(events[mine], known) >= 0
    return met
