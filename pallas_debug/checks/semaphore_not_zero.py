"""PD220 semaphore-not-zero: a semaphore still has units when the kernel ends.

## What it does

Counts, for launches that finished, the units signalled and taken of each semaphore that
the kernel allocates. Units of copies that nobody waited for are PD221.

## Why is this bad?

Semaphores are shared hardware: the next kernel that uses this one starts with units that
nobody gave it and runs ahead. JAX's interpreter reports a non-zero count at exit, and
the device may stop. On a GPU they are memory that JAX zeroes before each launch, at the
moment: there it is a warning.

## Example

```python
pl.semaphore_signal(sem, 2)
pl.semaphore_wait(sem, 1)
```

## Use instead

```python
pl.semaphore_signal(sem, 2)
pl.semaphore_wait(sem, 2)
```
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pallas_debug.checks import accesses, semaphores
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace.trace import Trace


@check("PD220", "semaphore-not-zero")
def semaphore_not_zero(trace: Trace) -> Iterator[Finding]:
    """The last signals of semaphores with units left, by line."""
    left = {one.last_signal: one for one in semaphores.left(trace) if not one.by_copies}
    for group in accesses.by_line(trace, np.array(sorted(left), np.int64)):
        one = left[int(group[0])]
        unit = "unit" if one.units == 1 else "units"
        yield accesses.finding_at(
            trace,
            group,
            f"semaphore {one.name} ends with {one.units} {unit} left: {one.given} "
            f"signalled, {one.taken} waited for{semaphores.times(trace, group)}",
            hint="wait for as many units as are signalled",
            severity=_severity(trace, int(group[0])),
            details={"left": one.units, "given": one.given, "taken": one.taken},
        )


def _severity(trace: Trace, event: int) -> Severity | None:
    """A GPU kernel's semaphores are zeroed before each launch (JAX 0.10.2 to 0.12)."""
    launch = trace.launches[int(trace.columns.launch[event])]
    return Severity.WARNING if launch.backend == "mosaic_gpu" else None
