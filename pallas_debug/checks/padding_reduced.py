"""PD106 padding-reduced: padding of a block that overhangs its array reaches an output.

## What it does

Follows NaN in an output back to a block whose edge lies past the end of its array: what
is there was never set, and a dot product, a sum or a maximum took it in.

## Why is this bad?

The padding holds whatever the memory held before. `interpret=True` may put zeros or NaN
there, a device anything, so that the result is right on one machine and wrong on the
next.

## Example

```python
# K = 40, blocks of 16: the last block has 8 columns of padding
o_ref[...] += jnp.dot(x_ref[...], w_ref[...])
```

## Use instead

```python
left = K - pl.program_id(0) * 16
x = jnp.where(jax.lax.broadcasted_iota(jnp.int32, x_ref.shape, 1) < left, x_ref[...], 0)
w = jnp.where(jax.lax.broadcasted_iota(jnp.int32, w_ref.shape, 0) < left, w_ref[...], 0)
o_ref[...] += jnp.dot(x, w)
```

Both operands are masked: zero times NaN is NaN.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pallas_debug.checks import accesses, stored
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.checks.origins import Origin, Unset, origins
from pallas_debug.checks.paths import path_of
from pallas_debug.trace.trace import Trace


@check("PD106", "padding-reduced")
def padding_reduced(trace: Trace) -> Iterator[Finding]:
    """Reads of padding whose value came to an output."""
    for origin in origins(trace, "NaN"):
        for one in origin.unset:
            if one.padding and not _is_all(trace, one):
                yield _finding(trace, origin, one)


def _is_all(trace: Trace, one: Unset) -> bool:
    """Whether the whole block lies outside: then its index map is wrong (PD101)."""
    number = int(trace.columns.object[one.read])
    size = int(np.prod(trace.buffer_rows[number].shape, dtype=np.int64))
    return len(one.elements) == size


def _finding(trace: Trace, origin: Origin, one: Unset) -> Finding:
    buffer = trace.events[one.read].buffer
    output = trace.events[origin.output].buffer
    assert buffer is not None, "a read has a buffer"
    assert output is not None, "a write has a buffer"
    box = stored.box_text(one.elements, buffer.shape)
    return accesses.finding_at(
        trace,
        np.array([one.read], np.int64),
        f"`{buffer.name}`{box} is padding past the end of the array, and reaches "
        f"`{output.name}`{stored.box_text(origin.elements, output.shape)}"
        + accesses.times(trace, np.array([one.read], np.int64)),
        hint="mask the padding of every operand before it is summed or compared",
        details={
            "elements": stored.ranges(one.elements, buffer.shape),
            "output": output.name,
            "output_elements": stored.ranges(origin.elements, output.shape),
            "path": path_of(trace, origin.path),
        },
    )
