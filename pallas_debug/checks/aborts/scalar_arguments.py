"""PD301 scalar-arguments: scalar-prefetch operands under GPU interpret mode.

## What it does

Finds kernels with scalar-prefetch (index) operands that are asked to run in JAX's GPU
interpret mode.

## Why is this bad?

JAX 0.10.2 to 0.12.0.1 stops while tracing, with `NotImplementedError: Scalar arguments
not (yet) supported on GPU`, and names no line of the kernel. Where the arrays are cut into blocks
(PD305) or the grid has a traced size (PD302), it stops at these first.

## Example

```python
spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(4,), ...)
pl.pallas_call(body, grid_spec=spec, interpret=plgpu.InterpretGPUParams(), ...)
```

## Use instead

Pass the scalars as an ordinary input and read them from its reference, or run the kernel
with `interpret=True` or `pltpu.InterpretParams()`.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug.checks.aborts.refusal import kernels, refusal, stopped_before
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.trace import Trace

RAISES = "NotImplementedError: Scalar arguments not (yet) supported on GPU"


@check("PD301", "scalar-arguments")
def scalar_arguments(trace: Trace) -> Iterator[Finding]:
    """Kernels with scalar-prefetch operands that JAX refuses."""
    for launch, kernel in kernels(trace, "PD301"):
        count = int(kernel.facts.get("scalar_prefetch") or 0)
        if count:
            names = ", ".join(f"`{b.name}`" for b in kernel.buffers[:count])
            noun = "operand" if count == 1 else "operands"
            yield refusal(
                launch,
                f"{count} scalar-prefetch {noun} ({names or 'unnamed'})",
                RAISES,
                "pass them as ordinary inputs, or use interpret=True",
                behind=stopped_before(kernel, "PD301"),
            )
