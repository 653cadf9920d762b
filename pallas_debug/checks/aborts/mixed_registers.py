"""PD308 mixed-registers: an accumulator allocated together with other memory.

## What it does

Finds `pl.run_scoped` calls that allocate a WGMMA accumulator (registers) and something
else at once, or an accumulator with `collective_axes`, in a kernel that is asked to run
in JAX's GPU interpret mode.

## Why is this bad?

JAX 0.10.2 to 0.12.0.1 stops while tracing: `ValueError: Scoped allocations in
MemorySpace.REGS cannot be mixed with scoped allocations in other memory spaces.`

## Example

```python
pl.run_scoped(inner, plgpu.ACC((64, 64)), plgpu.SMEM((64, 64), jnp.float16))
```

## Use instead

```python
pl.run_scoped(lambda s: pl.run_scoped(lambda acc: inner(acc, s), plgpu.ACC((64, 64))),
              plgpu.SMEM((64, 64), jnp.float16))
```
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug import ir
from pallas_debug.checks.aborts.foreseen import Refused, findings
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.trace import Trace

MIXED = (
    "ValueError: Scoped allocations in MemorySpace.REGS cannot be mixed with "
    "scoped allocations in other memory spaces."
)
COLLECTIVE = (
    "ValueError: Scoped allocations in MemorySpace.REGS cannot be "
    "collective allocations."
)


@check("PD308", "mixed-registers")
def mixed_registers(trace: Trace) -> Iterator[Finding]:
    """Allocations of registers that JAX refuses."""
    yield from findings(trace, "PD308", _judge)


def _judge(kernel: ir.Kernel, number: int) -> Iterator[Refused]:
    instr = kernel.tape[number]
    if instr.op != "scope.alloc" or kernel.scopes[instr.scope].name != "run_scoped":
        return
    decls = instr.params["decls"]
    registers = [decl for decl in decls if decl.space == "regs"]
    if not registers:
        return
    name = f"the accumulator `{registers[0].name}`"
    others = [f"`{decl.name}`" for decl in decls if decl.space != "regs"]
    if others:
        why = f"{name} is allocated together with {', '.join(others)}"
        yield Refused(why, MIXED, "allocate the accumulator in a run_scoped of its own")
    elif registers[0].params.get("collective"):
        why = f"{name} is allocated with collective_axes"
        yield Refused(
            why, COLLECTIVE, "leave out collective_axes: registers are not shared"
        )
