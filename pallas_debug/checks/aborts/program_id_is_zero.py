"""PD331 program-id-is-zero: `pl.program_id` under GPU interpret mode.

## What it does

Finds `pl.program_id` along a grid axis of more than one point, in a kernel that is asked
to run in JAX's GPU interpret mode.

## Why is this bad?

JAX 0.10.2 to 0.12.0.1 answers 0 at every grid point, without a word: every point does the
work of the first, and the rest of the result is never written.

## Example

```python
def body(x_ref, o_ref):
    o_ref[pl.program_id(0)] = x_ref[pl.program_id(0)]
```

## Use instead

```python
def body(x_ref, o_ref):
    i = lax.axis_index("i")
    o_ref[i] = x_ref[i]

plgpu.kernel(body, grid=(8,), grid_names=("i",), ...)
```
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug import ir
from pallas_debug.checks.aborts.foreseen import severity
from pallas_debug.checks.aborts.refusal import kernels
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.trace import Trace


@check("PD331", "program-id-is-zero")
def program_id_is_zero(trace: Trace) -> Iterator[Finding]:
    """Uses of a grid coordinate that JAX takes for 0."""
    for launch, kernel in kernels(trace, "PD331"):
        if kernel.facts.get("real_blocks") or kernel.facts.get("dynamic_grid"):
            continue  # refused as a whole
        for number, axis in _uses(kernel):
            size = launch.grid[axis] if axis < len(launch.grid) else 1
            if size > 1:
                yield Finding(
                    message=f"program_id({axis}) counts to {size} here; JAX's GPU "
                    "interpret mode answers 0 at every grid point",
                    hint="name the axis (plgpu.kernel, grid_names=) and ask for "
                    "lax.axis_index",
                    loc=kernel.loc_of(number),
                    launch=launch.number,
                    severity=severity(kernel),
                )


def _uses(kernel: ir.Kernel) -> Iterator[tuple[int, int]]:
    """Where a coordinate by number is asked for, or first used, and of which axis."""
    coordinates: dict[int, int] = {}
    for number, instr in enumerate(kernel.tape):
        axis = str(instr.params.get("axis", "")) if instr.op == "grid.id" else ""
        if axis.startswith("#"):
            yield number, int(axis[1:])
        if instr.op == "grid.next":
            coordinates = {out: axis for axis, out in enumerate(instr.outs)}
        elif not instr.op.startswith("window."):
            found = {coordinates[reg] for reg in instr.reads() if reg in coordinates}
            yield from ((number, axis) for axis in sorted(found))
