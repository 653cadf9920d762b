"""PD303 dynamic-slice: a slice start that GPU interpret mode does not take.

## What it does

Looks at the traced start of each slice in the reads, writes and copies of a kernel that
is asked to run in JAX's GPU interpret mode. An integer scalar is fine: an axis index, a
loop counter, a value loaded from a reference. A bool, a float or a vector of one element
is refused in a read or write; a vector also in a copy.

## Why is this bad?

JAX 0.10.2 to 0.12.0.1 stops in the middle of the run: `ValueError: Dynamic indexing not
supported in GPU interpret mode` (copies: `TypeError: Only scalar arrays can be converted
to Python scalars; got arr.ndim=1`), wrapped in a callback error that names no line.

## Example

```python
k = idx_ref[pl.ds(i, 1)]  # one element, but a vector
o_ref[...] = x_ref[pl.ds(k, 4)]
```

## Use instead

```python
k = idx_ref[i]  # a scalar
o_ref[...] = x_ref[pl.ds(k, 4)]
```

For a bool or a float: `.astype(jnp.int32)`.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug import ir
from pallas_debug.checks.aborts.foreseen import Refused, findings, routine
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.trace import Trace

INDEXING = "ValueError: Dynamic indexing not supported in GPU interpret mode"
VECTOR = (
    "TypeError: Only scalar arrays can be converted to Python scalars; got arr.ndim="
)
ACCESSES = ("state.", "gpu.load", "gpu.store")
COPIES = ("gpu.copy_gmem_to_smem", "gpu.copy_smem_to_gmem")


@check("PD303", "dynamic-slice")
def dynamic_slice(trace: Trace) -> Iterator[Finding]:
    """Slices with a start that JAX refuses, one finding for each line."""
    yield from findings(trace, "PD303", _judge, when_run=True)


def _judge(kernel: ir.Kernel, number: int) -> Iterator[Refused]:
    op = kernel.tape[number].op
    parts = routine(kernel, number) if op in COPIES else (kernel.tape[number],)
    for step in (step for instr in parts for step in _slices(instr)):
        raises = _refused(op, step)
        if raises:
            hint = "make the start an integer scalar: index it, or .astype(jnp.int32)"
            yield Refused(f"a slice begins at {_words(step)}", raises, hint)


def _slices(instr: ir.Instr) -> Iterator[ir.Slice]:
    for access in instr.accesses:
        for step in access.steps:
            if isinstance(step, ir.Index):
                yield from (dim for dim in step.dims if isinstance(dim, ir.Slice))


def _refused(op: str, step: ir.Slice) -> str:
    """What JAX raises for a slice of an op; empty if it takes it."""
    if not step.start_dtype:
        return ""
    is_integer = step.start_dtype.startswith(("int", "uint"))
    if op.startswith(ACCESSES):
        return "" if is_integer and step.start_ndim == 0 else INDEXING
    if op in COPIES and step.start_ndim > 0:
        return f"{VECTOR}{step.start_ndim}"
    return ""


def _words(step: ir.Slice) -> str:
    if step.start_ndim == 0:
        return f"a {step.start_dtype}"
    return f"a {step.start_dtype} array of {step.start_ndim} dimension"
