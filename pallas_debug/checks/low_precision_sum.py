"""PD404 low-precision-sum: a running sum in a short dtype loses what it adds.

## What it does

Watches additions whose result comes back as a term (through a loop's carry or through
the reference that is read and written), in float16, bfloat16 or float8, or in float32 with
a cast to one of these on the way back. It reports terms that are not zero and yet leave
the sum as it was, and sums that differ from the same terms added in float64 by more than
1/32 of their magnitudes (bfloat16 rounds by up to 1/512, float16 by 1/4096). A sum that
is scaled in between begins anew. Needs the function itself; a trace file does not have
what registers held.

## Why is this bad?

bfloat16 keeps 8 bits, float16 11: once the sum is 256 (2048) times as large as a term,
adding the term does nothing, and long before that each addition rounds a part of it
away. A sum of 1000 ones in bfloat16 is 256.

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
from pallas_debug.trace.arithmetic import ABSORBED, DRIFT, Oddity
from pallas_debug.trace.trace import Trace

SHARE = 0.05  # of the elements added since the first one was swallowed
TURNS = 2
LOSS = 1 / 32  # of the terms' magnitudes
LEAST = 8  # additions, for a loss that is no accident of a few
HINT = "accumulate in float32, and cast at the end"


@check("PD404", "low-precision-sum", severity=Severity.WARNING)
def low_precision_sum(trace: Trace) -> Iterator[Finding]:
    """One finding for each accumulation that loses terms again and again."""
    seen: set[tuple[int, int]] = set()
    for one in odd.oddities(trace, ABSORBED):
        share = one.elements / max(one.executed, 1)
        if one.count < TURNS or share < SHARE:
            continue
        seen.add((one.launch, one.instr))
        yield odd.finding(
            trace,
            one,
            f"the sum in {one.dtype} swallows its terms: {_said(one)}, "
            f"{share:.0%} of the additions since then changed nothing,",
            HINT,
        )
    for one in odd.oddities(trace, DRIFT):
        is_large = one.loss > LOSS and one.count >= LEAST
        if is_large and (one.launch, one.instr) not in seen:
            yield _drifted(trace, one)


def _said(one: Oddity) -> str:
    known = [value for value in one.operands if value is not None]
    if len(known) != 2:
        return births.said(one)
    return f"{known[0]:g} + {known[1]:g} is {one.result:g}"


def _drifted(trace: Trace, one: Oddity) -> Finding:
    exact, _ = one.operands
    return odd.finding(
        trace,
        one,
        f"the sum in {one.dtype} loses {one.loss:.0%} of its terms to rounding: after "
        f"{one.count} additions it is {one.result:g}, in float64 {exact:g},",
        HINT,
    )
