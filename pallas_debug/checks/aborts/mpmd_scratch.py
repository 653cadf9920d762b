"""PD304 mpmd-scratch: scratch operands in the Mosaic GPU lowering of `pl.kernel`.

## What it does

Finds kernels over a GPU mesh whose scratch comes as operands (`pl.kernel` with
`scratch_types=`), and that are not asked to run in an interpreter.

## Why is this bad?

JAX 0.11.1 to 0.12.0.1 stops while lowering for the device, with `NotImplementedError:
Scratch operands are not supported by the Mosaic GPU mpmd_map lowering`. Up to 0.11.0, and
in GPU interpret mode, the same kernel runs.

## Example

```python
mesh = plgpu.Mesh(grid=(1,), grid_names=("g",))
pl.kernel(body, mesh=mesh, scratch_types=[plgpu.SMEM((128,), jnp.float32)], ...)
```

## Use instead

```python
plgpu.kernel(body, grid=(1,), grid_names=("g",),
             scratch_types=[plgpu.SMEM((128,), jnp.float32)], ...)
```

or `pl.run_scoped` inside the body.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug.checks.aborts.refusal import kernels, lowered_for_gpu, refusal
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.trace import Trace

RAISES = (
    "NotImplementedError: "
    "Scratch operands are not supported by the Mosaic GPU mpmd_map lowering"
)


@check("PD304", "mpmd-scratch")
def mpmd_scratch(trace: Trace) -> Iterator[Finding]:
    """Kernels whose scratch operands JAX cannot lower."""
    for launch, kernel in kernels(trace, "PD304", lowered_for_gpu):
        count = int(kernel.facts.get("mpmd_scratch") or 0)
        if count:
            noun = "scratch operand" if count == 1 else "scratch operands"
            yield refusal(
                launch,
                f"{count} {noun} of a kernel over a GPU mesh",
                RAISES,
                "launch with plgpu.kernel(scratch_types=…), or allocate in the body "
                "with pl.run_scoped",
                where="lowering for CUDA",
            )
