"""PD311 unimplemented-primitive: an operation that GPU interpret mode does not know.

## What it does

Finds operations without a case in JAX's GPU interpret mode, in a kernel that is asked to
run there: `plgpu.print_layout`, `pl.delay`, `plgpu.griddepcontrol_*`,
`plgpu.inline_mgpu`, atomic updates, `plgpu.barrier_test`, loads from tensor memory with
`reduce=`; before JAX 0.11.2 also `plgpu.layout_cast` and `plgpu.async_prefetch`, before
0.11.1 `plgpu.warp_map`, later one inside another.

## Why is this bad?

JAX 0.10.2 to 0.12.0.1 stops while tracing, mostly with a text about its own inside:
`NotImplementedError: MLIR translation rule for primitive 'delay' not found for platform
cpu`, `TypeError: barrier must be a reference, got int32[6]`.

## Example

```python
v = x_ref[...]
plgpu.print_layout("{}", v)
o_ref[...] = v
```

## Use instead

Leave the operation out of what runs there (a Python `if` around it), and for code of your
own from JAX 0.11.2 on `plgpu.InterpretGPUParams(inline_mgpu="ignore")`. Here the kernel
runs with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pallas_debug import ir
from pallas_debug.checks.aborts import versions
from pallas_debug.checks.aborts.foreseen import (
    Refused,
    allocation,
    findings,
    routine,
    severity,
)
from pallas_debug.checks.aborts.refusal import kernels, refusal
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.trace import Trace

LEAVE_OUT = "leave it out of what runs there, with a Python `if`"
NO_RULE = (
    "NotImplementedError: "
    "MLIR translation rule for primitive '{}' not found for platform cpu"
)
# Before 0.11.0 a reference is five numbers there, later six.
KEY_LENGTH = ((0, 11, 0), 5, 6)
INLINE = (
    "ValueError: GPU interpret mode does not support `inline_mgpu`. "
    "Pass `inline_mgpu='ignore'` to skip MGPU calls."
)
INLINE_VALUE = (
    "ValueError: GPU interpret mode does not support `inline_mgpu` with a return "
    "value even in `ignore` mode."
)
LOST_EFFECT = "ValueError: `JaxprInputEffect` …"
NESTED = "ValueError: Cannot mpmd_map over WarpMesh while already mpmd_mapped."
MAPS_WARPS = (0, 11, 1)
ATOMICS = ("gpu.atomic_store", "triton.atomic_rmw", "triton.atomic_cas")


class Case(NamedTuple):
    """An op that is refused: its name for users, what is raised, from when to when."""

    name: str
    raises: str
    first: versions.Version = (0, 10, 2)
    end: versions.Version | None = None


CASES: dict[str, tuple[Case, ...]] = {
    "gpu.print_layout": (Case("print_layout", NO_RULE.format("print_layout")),),
    "pallas.delay": (Case("delay", NO_RULE.format("delay")),),
    "gpu.griddepcontrol_wait": (
        Case("griddepcontrol_wait", NO_RULE.format("griddepcontrol_wait")),
    ),
    "gpu.griddepcontrol_launch_dependents": (
        Case(
            "griddepcontrol_launch_dependents",
            NO_RULE.format("griddepcontrol_launch_dependents"),
        ),
    ),
    "gpu.layout_cast": (
        Case("layout_cast", NO_RULE.format("layout_cast"), end=(0, 11, 2)),
    ),
    "gpu.async_prefetch": (
        Case(
            "async_prefetch",
            "TypeError: ref must be a reference, got int32[…",
            end=(0, 11, 2),
        ),
    ),
    "gpu.barrier_test": (
        Case("barrier_test", "TypeError: barrier must be a reference, got int32[…"),
    ),
    "gpu.warp_map": (
        Case(
            "warp_map",
            "NotImplementedError: Higher-order primitive core_map",
            end=(0, 11, 0),
        ),
        Case("warp_map", LOST_EFFECT, first=(0, 11, 0), end=(0, 11, 1)),
    ),
    "gpu.load_reduce": (
        Case(
            "async_load_tmem with reduce=",
            "NotImplementedError: Interpret mode does not support load reduce",
            first=(0, 11, 1),
        ),
    ),
}


@check("PD311", "unimplemented-primitive")
def unimplemented(trace: Trace) -> Iterator[Finding]:
    """Operations without a case in JAX's GPU interpret mode."""
    yield from findings(trace, "PD311", _judge)
    yield from _not_on_the_tape(trace)


def _judge(kernel: ir.Kernel, number: int) -> Iterator[Refused]:
    instr = kernel.tape[number]
    yield from _cases(kernel, instr.op)
    if instr.op in ("gpu.inline_mgpu", "gpu.fence"):
        yield from _inline(kernel, instr)
    if instr.op == "gpu.warp_map" and _is_nested(kernel, number):
        yield Refused("it calls warp_map inside warp_map", NESTED, "call it once")
    if instr.op in ATOMICS:
        yield Refused("it calls an atomic update", _atomic(kernel, instr), LEAVE_OUT)


def _is_nested(kernel: ir.Kernel, number: int) -> bool:
    """Whether warps are to be mapped over warps, where the outer map is known."""
    inner = any(one.op == "gpu.warp_map" for one in routine(kernel, number))
    return inner and versions.within(kernel, MAPS_WARPS)


def _cases(kernel: ir.Kernel, op: str) -> Iterator[Refused]:
    for case in CASES.get(op, ()):
        if versions.within(kernel, case.first, case.end):
            hint = LEAVE_OUT
            if case.end is not None:
                hint = f"use JAX {'.'.join(map(str, case.end))} or newer"
            yield Refused(f"it calls {case.name}", case.raises, hint)


def _not_on_the_tape(trace: Trace) -> Iterator[Finding]:
    """Operations that do nothing here, and so left no instruction."""
    for launch, kernel in kernels(trace, "PD311"):
        for op, loc in kernel.facts.get("unseen") or ():
            for one in _cases(kernel, op):
                place = kernel.locs[loc] if loc >= 0 else None
                level = severity(kernel)
                yield refusal(launch, *one, loc=place, severity=level)


def _inline(kernel: ir.Kernel, instr: ir.Instr) -> Iterator[Refused]:
    """The user's own code for the chip; there is an option to pass over it."""
    why = "it calls inline_mgpu"
    if not versions.within(kernel, (0, 11, 2)):
        yield Refused(why, NO_RULE.format("inline_mgpu_p"), LEAVE_OUT)
    elif kernel.facts.get("inline_mgpu", "error") == "error":
        hint = 'pass InterpretGPUParams(inline_mgpu="ignore"), or leave it out'
        yield Refused(why, INLINE, LEAVE_OUT if instr.outs else hint)
    elif kernel.facts["inline_mgpu"] == "ignore" and instr.outs:
        yield Refused(f"{why} for a value", INLINE_VALUE, LEAVE_OUT)


def _atomic(kernel: ir.Kernel, instr: ir.Instr) -> str:
    """The update takes the numbers of the reference for what it is to change."""
    if instr.op == "triton.atomic_cas":
        return "ValueError: ref must be scalar."
    access = instr.accesses[0]
    decl = allocation(kernel, access.ref)
    if decl is None:
        return "ValueError: …"
    since, before, after = KEY_LENGTH
    length = after if versions.within(kernel, since) else before
    if not access.steps and decl.shape != (length,):
        return f"ValueError: Invalid shape for `swap`. Ref shape: ({length},)…"
    if decl.dtype != "int32":
        said = f"Ref dtype: int32. Value dtype: {decl.dtype}."
        return f"ValueError: Invalid dtype for `swap`. {said}"
    return LOST_EFFECT
