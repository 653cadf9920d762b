"""PD321 run-state: `pl.run_state` inside a kernel.

## What it does

Finds `pl.run_state` in a kernel that is asked to run in JAX's GPU interpret mode, and
what in its body JAX stops at. `plgpu.wgmma` on an accumulator that is given as a value,
`plgpu.emit_pipeline` with a carry and the shipped attention kernels are written so.

## Why is this bad?

JAX 0.10.2 stops while tracing at any: `NotImplementedError: Higher-order primitive
run_state`. Newer versions hand the body to the CPU as it is: copies, barriers and matrix
products in it cannot be lowered (`NotImplementedError: No state discharge rule
implemented for primitive: barrier_wait`, `MLIR translation rule for primitive 'wgmma' not
found for platform cpu`; with several threads `ValueError: Cannot lower jaxpr with
effects`).

## Example

```python
def product(acc):
    plgpu.wgmma(acc, a_smem, b_smem)

o_ref[...] = pl.run_state(product)(plgpu.ACC.init(zeros))
```

## Use instead

```python
def product(acc):
    plgpu.wgmma(acc, a_smem, b_smem)
    return acc[...]

o_ref[...] = pl.run_scoped(product, plgpu.ACC((64, 64)))
```
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug import ir
from pallas_debug.checks.aborts import versions
from pallas_debug.checks.aborts.foreseen import Refused, findings, scopes_of
from pallas_debug.checks.aborts.unimplemented_primitive import NO_RULE
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.trace import Trace

HIGHER_ORDER = "NotImplementedError: Higher-order primitive run_state"
NO_DISCHARGE = (
    "NotImplementedError: No state discharge rule implemented for primitive: {}"
)
EFFECTS = "ValueError: Cannot lower jaxpr with effects: …"
HINT = "allocate with pl.run_scoped, and pass what the body computes out of it"

# Their references have become numbers, and JAX does not know how to do without.
ON_REFERENCES = {
    f"gpu.{name}": name
    for name in (
        "barrier_arrive",
        "barrier_wait",
        "copy_gmem_to_smem",
        "copy_smem_to_gmem",
        "async_load_tmem",
        "async_store_tmem",
        "tcgen05_mma",
        "tcgen05_commit_arrive",
    )
}
NOT_FOR_CPU = {
    f"gpu.{name}": name
    for name in (
        "wgmma",
        "wgmma_wait",
        "commit_smem",
        "commit_group",
        "wait_smem_to_gmem",
        "set_max_registers",
        "print_layout",
    )
}


@check("PD321", "run-state")
def run_state(trace: Trace) -> Iterator[Finding]:
    """Stateful parts of a kernel that JAX refuses."""
    yield from findings(trace, "PD321", _judge)


def _judge(kernel: ir.Kernel, number: int) -> Iterator[Refused]:
    """One refusal for each `run_state`, at the instruction that opens it."""
    instr = kernel.tape[number]
    if instr.op != "scope.alloc" or kernel.scopes[instr.scope].name != "run_state":
        return
    if not versions.within(kernel, (0, 11, 0)):
        yield Refused("it calls pl.run_state", HIGHER_ORDER, HINT)
        return
    body = _body(kernel, instr.scope)
    grid = kernel.grid
    is_alone = grid.threads == 1 and all(size == 1 for size in grid.cluster)
    stuck = [op for op in body if op in ON_REFERENCES]
    foreign = [op for op in body if op in NOT_FOR_CPU]
    if not stuck and not foreign:
        return
    name = ON_REFERENCES[stuck[0]] if stuck else NOT_FOR_CPU[foreign[0]]
    raises = NO_DISCHARGE.format(name) if stuck else NO_RULE.format(name)
    why = f"{name} is called inside pl.run_state"
    yield Refused(why, raises if is_alone else EFFECTS, HINT)


def _body(kernel: ir.Kernel, scope: int) -> list[str]:
    """The ops in a scope, without the wait that ends every `run_state` here."""
    inside = [
        number
        for number in range(len(kernel.tape))
        if scope in scopes_of(kernel, number)
    ]
    own = [n for n in inside if kernel.tape[n].scope == scope]
    waits = [n for n in own if kernel.tape[n].op == "gpu.wgmma_wait"]
    return [kernel.tape[n].op for n in inside if n not in waits[-1:]]
