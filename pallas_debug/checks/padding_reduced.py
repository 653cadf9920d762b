"""PD106 padding-reduced: padding of a block that overhangs its array reaches an output.

## What it does

Follows NaN in an output back to a block whose edge lies past the end of its array, or
before its start if the block asks for that: what is there was never set, and a dot
product, a sum or a maximum took it in, or it was stored as it is.

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
from pallas_debug.checks.tapeflow import tapeflow
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.trace import Trace

# Parts of the names of operations that make one element of many.
REDUCES = ("dot", "reduce", "cum", "argm", "sort", "conv_general", "mma", "top_k")


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


def _sides(trace: Trace, one: Unset) -> list[str]:
    """Where the padding lies, seen from the array."""
    columns, found = trace.columns, dict[str, None]()
    number = int(columns.object[one.read])
    shape = trace.buffer_rows[number].shape
    pads = (columns.kind == Kind.PAD) & (columns.object == number)
    for region in np.unique(columns.region[np.flatnonzero(pads)]).tolist():
        part = trace.region(region)
        if np.isin(part.flat(shape), one.elements).any():
            first = any(
                start == 0 and size < limit
                for start, size, limit in zip(part.start, part.size, shape, strict=True)
            )
            found["before the start" if first else "past the end"] = None
    return sorted(found)


def _is_taken_in(trace: Trace, origin: Origin) -> bool:
    """Whether a sum, a product or a comparison of many elements is on the way."""
    columns = trace.columns
    for seq in origin.path:
        kernel = trace.launches[int(columns.launch[seq])].kernel
        number = int(columns.instr[seq])
        behind = tapeflow(trace.caches, kernel).arithmetic(number)
        ops = [kernel.tape[one].op for one in (number, *behind)]
        if any(word in op for op in ops for word in REDUCES):
            return True
    return False


def _finding(trace: Trace, origin: Origin, one: Unset) -> Finding:
    buffer = trace.events[one.read].buffer
    output = trace.events[origin.output].buffer
    assert buffer is not None, "a read has a buffer"
    assert output is not None, "a write has a buffer"
    box = stored.runs_text(stored.runs(one.elements, buffer.shape))
    sides = " and ".join(_sides(trace, one))
    return accesses.finding_at(
        trace,
        np.array([one.read], np.int64),
        f"`{buffer.name}`{box} is padding {sides} of the array, and reaches "
        f"`{output.name}`"
        + stored.runs_text(stored.runs(origin.elements, output.shape))
        + accesses.times(trace, np.array([one.read], np.int64)),
        hint="mask the padding of every operand before it is summed or compared"
        if _is_taken_in(trace, origin)
        else "store only what the array has, or put numbers there with jnp.where",
        details={
            "elements": stored.ranges(one.elements, buffer.shape),
            "output": output.name,
            "output_elements": stored.ranges(origin.elements, output.shape),
            "path": path_of(trace, origin.path),
        },
    )
