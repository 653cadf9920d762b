"""PD332 negative-index: a negative index under GPU interpret mode.

## What it does

Finds reads at an integer index that came out negative, in a kernel that is asked to run
in JAX's GPU interpret mode.

## Why is this bad?

JAX 0.10.2 to 0.12.0.1 counts from the end there, as NumPy does, and goes on with other
data without a word; hardware reads foreign memory.

## Example

```python
o_ref[i] = x_ref[i - 1]  # at i == 0 the last element
```

## Use instead

```python
o_ref[i] = jnp.where(i > 0, x_ref[jnp.maximum(i - 1, 0)], 0)
```
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug.checks.aborts.access_outside import outside
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.trace import Trace


@check("PD332", "negative-index")
def negative_index(trace: Trace) -> Iterator[Finding]:
    """Reads that JAX takes from the end of the buffer."""
    for one in outside(trace, "PD332"):
        if one.instr.op == "state.get" and one.is_counted_from_the_end:
            d = one.negative[0]
            row = trace.buffer_rows[int(trace.columns.object[one.seq])]
            yield Finding(
                message=f"`{row.name}` is read at {one.spans[d][0]} in dimension {d}; "
                "JAX's GPU interpret mode counts from the end",
                hint="keep the index at 0 or more, and choose the value with jnp.where",
                loc=one.kernel.loc_of(one.position),
                launch=one.launch.number,
                events=(one.seq,),
                buffer=row.name,
            )
