"""PD322 jitted-helper: a `jax.jit` inside the kernel that touches the kernel's own.

## What it does

Finds functions under `jax.jit` that are called in a kernel and read or write one of its
references, or ask for an axis index, in a kernel that is asked to run in JAX's GPU
interpret mode. One that computes with values alone is fine.

## Why is this bad?

JAX 0.10.2 to 0.12.0.1 stops while tracing, with a text about its own inside:
``ValueError: `JaxprInputEffect` Read<…> does not have a corresponding jaxpr input``, or
`NameError: unbound axis name: g`.

## Example

```python
@jax.jit
def head(ref):
    return ref[0]

def body(x_ref, o_ref):
    o_ref[0] = head(x_ref)
```

## Use instead

The plain function, without `jax.jit`: the kernel is compiled as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug import ir
from pallas_debug.checks.aborts.foreseen import Refused, findings, scopes_of
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.trace import Trace

ACCESSES = ("state.get", "state.set", "state.swap")
LOST_EFFECT = "ValueError: `JaxprInputEffect` …"
OTHER_CALLS = ("remat2", "checkpoint")
HINT = "call the function without jax.jit"


@check("PD322", "jitted-helper")
def jitted_helper(trace: Trace) -> Iterator[Finding]:
    """Uses of references and axes in jitted functions that JAX refuses."""
    yield from findings(trace, "PD322", _judge)


def _judge(kernel: ir.Kernel, number: int) -> Iterator[Refused]:
    scopes = kernel.scopes
    calls = [s for s in scopes_of(kernel, number) if scopes[s].kind == "call"]
    if not calls or scopes[calls[-1]].name in OTHER_CALLS:
        return
    instr, name = kernel.tape[number], scopes[calls[-1]].name
    if instr.op in ACCESSES and not _is_own(kernel, instr, calls[-1]):
        yield Refused(f"`{name}` is jitted and accesses a reference", LOST_EFFECT, HINT)
    axis = _axis(kernel, instr)
    if axis:
        raises = f"NameError: unbound axis name: {axis}"
        yield Refused(
            f"`{name}` is jitted and asks for the index of an axis", raises, HINT
        )


def _is_own(kernel: ir.Kernel, instr: ir.Instr, call: int) -> bool:
    """Whether the reference was allocated within the call."""
    ref = instr.accesses[0].ref
    return any(
        isinstance(ref, ir.Reg) and ref.number in other.outs
        for number, other in enumerate(kernel.tape)
        if other.op == "scope.alloc" and call in scopes_of(kernel, number)
    )


def _axis(kernel: ir.Kernel, instr: ir.Instr) -> str:
    """The axis by name whose index an instruction asks for; empty if none."""
    if instr.op == "grid.thread":
        return kernel.grid.thread_name
    axis = str(instr.params.get("axis", "")) if instr.op == "grid.id" else ""
    return "" if axis.startswith("#") else axis
