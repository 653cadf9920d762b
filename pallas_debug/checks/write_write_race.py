"""PD202 write-write-race: two writes to the same memory in no order.

## What it does

Finds writes that touch the same elements while nothing in the kernel orders them; see
PD201 for what counts as order. An atomic update and a plain write race, two atomic
updates do not. Two writes of the same value are reported, too: the trace cannot say
that they always will be the same. A warning where grid points of a parallel dimension
write the same block of an output without reading each other's: some kernels use such an
output as scratch and drop it.

## Why is this bad?

Which value stays depends on the schedule, or parts of both do.

## Example

```python
@functools.partial(plgpu.kernel, grid=(2,), grid_names=("i",), ...)
def kernel(x_ref, o_ref):
    o_ref[0] = x_ref[lax.axis_index("i")]  # both blocks write the same element
```

## Use instead

```python
o_ref[lax.axis_index("i")] = x_ref[lax.axis_index("i")]
```
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug.checks import races_words
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.checks.races import Fault
from pallas_debug.trace.trace import Trace


@check("PD202", "write-write-race")
def write_write_race(trace: Trace) -> Iterator[Finding]:
    """One finding for each pair of lines and buffer."""
    for race in races_words.of_fault(trace, Fault.WRITE_WRITE):
        severity = Severity.WARNING if race.is_parallel else None
        yield races_words.finding(trace, race, severity)
