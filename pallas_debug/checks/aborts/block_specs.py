"""PD305 block-specs: blocks under GPU interpret mode.

## What it does

Finds `pallas_call`s with a `BlockSpec` that really cuts its array into blocks, and that
are asked to run in JAX's GPU interpret mode.

## Why is this bad?

JAX 0.10.2 to 0.12.0.1 stops while tracing, with an `AssertionError` that has no text and
names no line of the kernel.

## Example

```python
spec = pl.BlockSpec((4,), lambda i: (i,))
pl.pallas_call(body, grid=(2,), in_specs=[spec], out_specs=spec,
               interpret=plgpu.InterpretGPUParams(), ...)(x)
```

## Use instead

Whole arrays, from which the body takes its part:

```python
def body(x_ref, o_ref):
    at = pl.ds(lax.axis_index("i") * 4, 4)
    o_ref[at] = x_ref[at] * 2

plgpu.kernel(body, grid=(2,), grid_names=("i",), ...)(x)
```

or `interpret=True`, which takes blocks.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug.checks.aborts.foreseen import severity
from pallas_debug.checks.aborts.refusal import kernels, refusal
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.trace import Trace


@check("PD305", "block-specs")
def block_specs(trace: Trace) -> Iterator[Finding]:
    """Kernels with real blocks that JAX refuses."""
    for launch, kernel in kernels(trace, "PD305"):
        count = int(kernel.facts.get("real_blocks") or 0)
        if count:
            noun = "operand is" if count == 1 else "operands are"
            yield refusal(
                launch,
                f"{count} {noun} cut into blocks by a BlockSpec",
                "AssertionError: ",
                "let the body take its part of the whole arrays (plgpu.kernel, "
                "lax.axis_index), or use interpret=True",
                severity=severity(kernel),
            )
