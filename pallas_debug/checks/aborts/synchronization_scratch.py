"""PD309 synchronization-scratch: semaphores and barriers that JAX does not simulate.

## What it does

Looks at the semaphores and cluster barriers among the scratch of a kernel that is asked
to run in JAX's GPU interpret mode.

## Why is this bad?

JAX 0.10.2 to 0.12.0.1 has no semaphores there and stops while tracing, with the odd
`NotImplementedError: nan + semaphore`. Cluster barriers are refused by 0.10.2, and those
with `leader_tracked=` also by newer versions.

## Example

```python
plgpu.kernel(body, scratch_types=[plgpu.SemaphoreType.REGULAR], ...)
```

## Use instead

Within a block, `plgpu.Barrier`; between the blocks of a cluster, `plgpu.ClusterBarrier`
with JAX 0.11.0 or newer. What needs a semaphore (other devices, other clusters) has to be
left out of what runs there.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug import ir
from pallas_debug.checks.aborts import versions
from pallas_debug.checks.aborts.foreseen import Refused, findings
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.trace import Trace

LEADER = (
    "NotImplementedError: Cluster barriers with `leader_tracked` are not yet supported "
    "in GPU kernel interpret mode."
)
TENSOR_CORE = (
    "NotImplementedError: Cluster barriers with `orders_tensor_cores` are not yet "
    "supported in GPU kernel interpret mode."
)
HAS_CLUSTER_BARRIERS = (0, 11, 0)
ORDERS_TENSOR_CORE = (0, 11, 1)


@check("PD309", "synchronization-scratch")
def synchronization_scratch(trace: Trace) -> Iterator[Finding]:
    """Semaphores and barriers that JAX refuses."""
    yield from findings(trace, "PD309", _judge)


def _judge(kernel: ir.Kernel, number: int) -> Iterator[Refused]:
    instr = kernel.tape[number]
    if instr.op != "scope.alloc":
        return
    for decl in instr.params["decls"]:
        raises = _raises(kernel, decl)
        is_scoped = kernel.scopes[instr.scope].name == "run_scoped"
        if raises and not is_scoped:  # scratch of a pallas_call
            raises = "AssertionError: "
        if raises:
            noun = decl.dtype.replace("_", " ")
            hint = "use a plgpu.Barrier within the block, or leave this part out there"
            if decl.dtype == "cluster_barrier":
                hint = "use JAX 0.11.0 or newer, and leave out leader_tracked="
            yield Refused(f"scratch `{decl.name}` is a {noun}", raises, hint)
            return


def _raises(kernel: ir.Kernel, decl: ir.Buffer) -> str:
    """What JAX raises for a declaration; empty if it takes it."""
    if decl.dtype.endswith("semaphore"):
        if decl.params.get("space"):
            return (
                f"NotImplementedError: Unsupported memory space: {decl.params['space']}"
            )
        return f"NotImplementedError: nan + {decl.dtype}"
    if decl.dtype != "cluster_barrier":
        return ""
    if not versions.within(kernel, HAS_CLUSTER_BARRIERS):
        return "NotImplementedError: nan + cluster_barrier"
    if decl.params.get("leader_tracked"):
        return LEADER
    orders = decl.params.get("orders_tensor_core")
    if orders and not versions.within(kernel, ORDERS_TENSOR_CORE):
        return TENSOR_CORE
    return ""
