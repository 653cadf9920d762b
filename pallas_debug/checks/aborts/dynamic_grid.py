"""PD302 dynamic-grid: a traced grid bound under GPU interpret mode.

## What it does

Finds kernels whose grid has a size that is a traced value, and that are asked to run in
JAX's GPU interpret mode.

## Why is this bad?

JAX 0.10.2 to 0.12.0.1 stops while tracing, with `NotImplementedError: Dynamic grid bounds
not (yet) supported in GPU interpret mode.` Where the arrays are cut into blocks, too,
it stops at these first (PD305).

A `plgpu.kernel` cannot even be traced with such a grid, in any mode: JAX stops at an
AssertionError without a message. Nothing is recorded then; the error RefusedGrid says so.

## Example

```python
@jax.jit
def f(n, x):
    return pl.pallas_call(body, grid=(n,), interpret=plgpu.InterpretGPUParams(), ...)(x)
```

## Use instead

A grid of Python integers: make `n` static (`static_argnums`), or launch the largest grid
and leave the surplus blocks with `pl.when(pl.program_id(0) < n)`.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug.checks.aborts.refusal import kernels, refusal, stopped_before
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.trace import Trace

RAISES = (
    "NotImplementedError: "
    "Dynamic grid bounds not (yet) supported in GPU interpret mode."
)


@check("PD302", "dynamic-grid")
def dynamic_grid(trace: Trace) -> Iterator[Finding]:
    """Kernels with a traced grid bound that JAX refuses."""
    for launch, kernel in kernels(trace, "PD302"):
        if kernel.facts.get("dynamic_grid"):
            yield refusal(
                launch,
                f"the grid, {launch.grid} in this run, has a traced size",
                RAISES,
                "make the size static, or launch the largest grid and guard the body "
                "with pl.when",
                behind=stopped_before(kernel, "PD302"),
            )
