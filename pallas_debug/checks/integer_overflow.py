"""PD405 integer-overflow: a signed sum or product does not fit its dtype and wraps.

## What it does

Names additions, subtractions and multiplications of signed integers whose exact result
lies outside the dtype, and contractions that sum products in int8 or int16 and did wrap.
Unsigned integers wrap by definition and are not looked at. Needs the function itself; a
trace file does not have what registers held.

## Why is this bad?

An offset beyond 2**31 - 1 becomes negative, a sum of int8 products nonsense, in silence.

## Example

```python
at = pl.program_id(0) * rows * columns  # int32: wraps from 2 Gi elements on
```

## Use instead

Index two dimensions instead of one flat one, or widen before the multiplication:

```python
total = x_ref[...].astype(jnp.int32) * y_ref[...].astype(jnp.int32)
```
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug.checks import births, odd
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace.arithmetic import WRAP
from pallas_debug.trace.trace import Trace


@check("PD405", "integer-overflow", severity=Severity.WARNING)
def integer_overflow(trace: Trace) -> Iterator[Finding]:
    """One finding for each line whose signed result wraps."""
    for one in odd.oddities(trace, WRAP):
        said, hint = (
            births.said(one),
            "widen the operands before, or index by dimension",
        )
        if one.op == "lax.dot_general":
            (exact,) = one.operands
            said = f"a sum of products is {exact}; `dot_general`"
            hint = (
                "sum wider, with `preferred_element_type=jnp.int32`, and scale it then"
            )
        yield odd.finding(
            trace, one, f"{said} gives {one.result} in {one.dtype},", hint
        )
