"""PD404 low-precision-sum: a running sum in float16 or bfloat16 swallows its terms.

## What it does

Watches additions whose result comes back as a term (through a loop's carry or through
the reference that is read and written), in float16 or bfloat16, and counts terms that
are not zero and yet leave the sum as it was. Needs the function itself; a trace file
does not have what registers held.

## Why is this bad?

bfloat16 keeps 8 bits, float16 11: once the sum is 256 (2048) times as large as a term,
adding the term does nothing. A sum of 1000 ones in bfloat16 is 256.

## Example

```python
acc_ref[...] += x_ref[...]  # acc_ref is bfloat16
```

## Use instead

```python
acc_ref[...] += x_ref[...].astype(jnp.float32)  # acc_ref is float32
```

Accumulate in float32 and cast once, at the end.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug.checks import births, odd
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace.arithmetic import ABSORBED, Oddity
from pallas_debug.trace.trace import Trace

SHARE = 0.05  # of the elements added since the first one was swallowed
TURNS = 2


@check("PD404", "low-precision-sum", severity=Severity.WARNING)
def low_precision_sum(trace: Trace) -> Iterator[Finding]:
    """One finding for each accumulation that loses terms again and again."""
    for one in odd.oddities(trace, ABSORBED):
        share = one.elements / max(one.executed, 1)
        if one.count < TURNS or share < SHARE:
            continue
        yield odd.finding(
            trace,
            one,
            f"the sum in {one.dtype} swallows its terms: {_said(one)}, "
            f"{share:.0%} of the additions since then changed nothing,",
            "accumulate in float32, and cast at the end",
        )


def _said(one: Oddity) -> str:
    known = [value for value in one.operands if value is not None]
    if len(known) != 2:
        return births.said(one)
    return f"{known[0]:g} + {known[1]:g} is {one.result:g}"
