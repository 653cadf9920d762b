"""PD402 float-overflow: a number is too large for a short float dtype.

## What it does

Names operations that give infinity (or NaN, in dtypes without infinity) from finite
operands because the result does not fit float16, bfloat16 or a float8: sums, products
and casts. Needs the function itself; a trace file does not have what registers held.

## Why is this bad?

float16 ends at 65504, float8_e4m3fn at 448. What is computed from the infinity is
infinite, or NaN as soon as two of them meet.

## Example

```python
o_ref[...] = (x_ref[...].astype(jnp.float32) * 1000.0).astype(jnp.float16)
```

## Use instead

```python
scale = 65504.0 / jnp.max(jnp.abs(x))
o_ref[...] = (x_ref[...].astype(jnp.float32) * scale).astype(jnp.float16)
```

Scale before the cast, clip, or keep float32 or bfloat16 for intermediate results.
"""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes

from pallas_debug.checks import births, odd
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace import dtypes
from pallas_debug.trace.arithmetic import OVERFLOW
from pallas_debug.trace.trace import Trace


@check("PD402", "float-overflow", severity=Severity.WARNING)
def float_overflow(trace: Trace) -> Iterator[Finding]:
    """One finding for each line that overflows a short dtype."""
    for one in odd.oddities(trace, OVERFLOW):
        most = float(ml_dtypes.finfo(dtypes.numpy_dtype(one.dtype)).max)
        what = f"{births.said(one)} gives {one.result} in {one.dtype}, whose largest number is "
        yield odd.finding(
            trace,
            one,
            f"{what}{most:g},",
            "scale or clip before, or compute in a wider dtype",
        )
