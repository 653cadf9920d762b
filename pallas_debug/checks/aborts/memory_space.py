"""PD306 memory-space: scratch in a memory that GPU interpret mode does not have.

## What it does

Looks at the memory space of what `pl.run_scoped` and `scratch_types=` allocate, and of
the operands of a `pallas_call`, in a kernel that is asked to run in JAX's GPU interpret
mode.

## Why is this bad?

JAX 0.10.2 to 0.12.0.1 knows GMEM, SMEM and registers, from 0.11.0 on TMEM, too. For any
other it stops while tracing: `NotImplementedError: Unsupported memory space: any`, or
with a bare `KeyError` for scratch and operands of a `pallas_call`.

## Example

```python
pl.run_scoped(inner, pl.ANY((8,), jnp.int32))
```

## Use instead

```python
pl.run_scoped(inner, plgpu.SMEM((8,), jnp.int32))
```

Tensor memory (`plgpu.TMEM`) needs JAX 0.11.0 or newer. A `plgpu.RefUnion` in the scratch
of a `pallas_call` is refused from 0.11.2 on: make it scratch of a `plgpu.kernel`.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug import ir
from pallas_debug.checks.aborts import versions
from pallas_debug.checks.aborts.foreseen import Refused, findings, severity
from pallas_debug.checks.aborts.refusal import kernels, refusal
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.trace import Trace

KNOWN = ("gmem", "smem", "regs", "barrier", "semaphore")
HAS_TMEM = (0, 11, 0)
REFUSES_UNIONS = (0, 11, 2)
UNION = (
    "NotImplementedError: `RefUnion` is not supported as a `pallas_call` scratch shape "
    "in interpret mode; allocate it as `plgpu.kernel` scratch instead."
)


@check("PD306", "memory-space")
def memory_space(trace: Trace) -> Iterator[Finding]:
    """Scoped allocations and operands in a space that JAX refuses."""
    yield from findings(trace, "PD306", _judge)
    for launch, kernel in kernels(trace, "PD306"):
        is_stopped_before = kernel.num_scalars or any(
            kernel.facts.get(fact) for fact in ("dynamic_grid", "real_blocks")
        )
        for number, space in kernel.facts.get("foreign_spaces") or ():
            if not is_stopped_before:
                name = kernel.buffers[kernel.num_scalars + number].name
                yield refusal(
                    launch,
                    f"the block of `{name}` is said to be in {space}",
                    f"KeyError: {space}",
                    "leave `memory_space=` out, or name one of plgpu's",
                    severity=severity(kernel),
                    buffer=name,
                )
                break


def _judge(kernel: ir.Kernel, number: int) -> Iterator[Refused]:
    instr = kernel.tape[number]
    if instr.op != "scope.alloc":
        return
    is_scoped = kernel.scopes[instr.scope].name == "run_scoped"
    if not is_scoped and kernel.facts.get("primitive") != "pallas_call":
        return
    for decl in instr.params["decls"]:
        is_union = decl.params.get("union") and not is_scoped
        if is_union and versions.within(kernel, REFUSES_UNIONS):
            hint = "make it scratch of a plgpu.kernel"
            yield Refused(f"scratch `{decl.name}` is a union", UNION, hint)
            return
        in_tmem = decl.space == "tmem" and versions.within(kernel, HAS_TMEM)
        if decl.space in KNOWN or in_tmem:
            continue
        yield Refused(
            f"scratch `{decl.name}` is in {decl.space.upper()}",
            _raises(decl.space, is_scoped),
            "use JAX 0.11.0 or newer"
            if decl.space == "tmem"
            else "allocate it in plgpu.SMEM",
        )
        return


def _raises(space: str, is_scoped: bool) -> str:
    if is_scoped or space == "tmem":
        return f"NotImplementedError: Unsupported memory space: {space}"
    shown = "<MemorySpace.ANY: 'any'>" if space == "any" else space.upper()
    return f"KeyError: {shown}"
