"""PD204 unfenced-reuse: shared memory is read, then overwritten through the other proxy.

## What it does

Finds reads of shared memory by a thread that a TMA copy overwrites later, in order (a
barrier says that the read is over), but without a `commit_smem` in between.

## Why is this bad?

By the letter of PTX it is a race: accesses through different proxies are in order only
past a proxy fence, and `commit_smem` is documented to commit reads, too; JAX's own race
detector raises here from 0.12 on. In practice the read has its value before the barrier
hears of it, and widely used libraries leave the fence out for that reason. So this is for
your information; stores without the fence are PD203, and an error.

The slots of `emit_pipeline_warp_specialized` are released by JAX, without the fence, and
refilled by JAX. Nothing in the user's body is wrong then, and nothing is reported.

## Example

```python
total += slots[slot]
plgpu.barrier_arrive(empty.at[slot])  # lets the producer's next copy into the slot
```

## Use instead

```python
total += slots[slot]
plgpu.commit_smem()
plgpu.barrier_arrive(empty.at[slot])
```
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug.checks import races_words
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.checks.races import Fault
from pallas_debug.trace.events import Event
from pallas_debug.trace.trace import Trace


@check("PD204", "unfenced-reuse", severity=Severity.INFO)
def unfenced_reuse(trace: Trace) -> Iterator[Finding]:
    """One finding for each pair of lines and buffer."""
    for race in races_words.of_fault(trace, Fault.UNFENCED):
        if not _is_of_one_call(trace.events[race.first], trace.events[race.second]):
            yield races_words.finding(trace, race)


def _is_of_one_call(read: Event, copy: Event) -> bool:
    """Whether what calls the user's body, and not the user, makes the copy.

    Then the copy's line is that of the call in which the reading function runs.
    """
    return copy.loc is not None and copy.loc in read.callers
