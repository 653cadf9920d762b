"""PD307 collective-axes: scratch that is shared along the wrong axes.

## What it does

Compares the `collective_axes` of each `pl.run_scoped` with the axes of the kernel, in a
kernel that is asked to run in JAX's GPU interpret mode.

## Why is this bad?

JAX 0.10.2 to 0.12.0.1 stops while tracing, with a `ValueError`: in a kernel with
`num_threads` every allocation has to be collective along the thread axis; in one without,
along none; along a cluster axis, a grid axis or an unknown one never.

## Example

```python
def body(x_ref, o_ref):  # num_threads=2, thread_name="wg"
    pl.run_scoped(inner, plgpu.SMEM((8,), jnp.int32))
```

## Use instead

```python
    pl.run_scoped(inner, plgpu.SMEM((8,), jnp.int32), collective_axes="wg")
```

or `scratch_types=`, which is shared by the threads of a block in any case.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug import ir
from pallas_debug.checks.aborts.foreseen import Refused, findings
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.trace import Trace

NO_THREADS = (
    "ValueError: Requesting collective allocations, but no explicit thread axis "
    "specified."
)
CLUSTER = "ValueError: Collective allocations along cluster axes are not supported."
MISSING = (
    "ValueError: Scoped allocation must have the thread axis in its collective axes."
)


@check("PD307", "collective-axes")
def collective_axes(trace: Trace) -> Iterator[Finding]:
    """Scoped allocations along axes that JAX refuses."""
    yield from findings(trace, "PD307", _judge)


def _judge(kernel: ir.Kernel, number: int) -> Iterator[Refused]:
    instr = kernel.tape[number]
    if instr.op != "scope.alloc" or kernel.scopes[instr.scope].name != "run_scoped":
        return
    decls = instr.params["decls"]
    if any(decl.space == "regs" for decl in decls):
        return
    axes = tuple(decls[0].params.get("collective", ()))
    names = ", ".join(f"`{decl.name}`" for decl in decls)
    given = f"collective_axes={axes!r}" if axes else "no collective_axes"
    raises = _raises(kernel.grid, axes)
    if raises:
        thread = kernel.grid.thread_name
        wanted = f"collective_axes={thread!r}" if thread else "no collective_axes"
        hint = f"allocate with {wanted}, or as scratch_types= of the kernel"
        yield Refused(f"{names} is allocated with {given}", raises, hint)


def _raises(grid: ir.Grid, axes: tuple[str, ...]) -> str:
    """What JAX raises for collective axes; empty if it takes them."""
    known = [*grid.cluster_names, *([grid.thread_name] if grid.thread_name else [])]
    for axis in axes:
        if axis not in known:
            shown = f"{known}`" if grid.thread_name else "[…"
            return f"ValueError: Collective axis `{axis}` not found among axes `{shown}"
    if not grid.thread_name:
        return NO_THREADS if axes else ""
    if any(axis in grid.cluster_names for axis in axes):
        return CLUSTER
    return "" if grid.thread_name in axes else MISSING
