"""PD403 out-of-range-cast: a cast to an integer dtype changes the number.

## What it does

Names casts of a float that is NaN, infinite or beyond the integer dtype, and of a signed
integer that a narrower dtype does not hold. Needs the function itself; a trace file does
not have what registers held.

## Why is this bad?

XLA on a CPU saturates floats and turns NaN into 0; NumPy, PTX and a TPU each do
something else. Integers wrap silently: an index of 70000 becomes 4464 in int16.

## Example

```python
i = x_ref[...].astype(jnp.int8)  # 300.0 becomes 127 here, something else there
```

## Use instead

```python
i = jnp.clip(x_ref[...], -128, 127).astype(jnp.int8)
```
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug.checks import odd
from pallas_debug.checks.births import said
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace.arithmetic import CAST
from pallas_debug.trace.trace import Trace


@check("PD403", "out-of-range-cast", severity=Severity.WARNING)
def out_of_range_cast(trace: Trace) -> Iterator[Finding]:
    """One finding for each line that casts a number which does not fit."""
    for one in odd.oddities(trace, CAST):
        yield odd.finding(
            trace,
            one,
            f"{said(one)} to {one.dtype} gives {one.result},",
            "clip before the cast, or cast to a wider dtype",
        )
