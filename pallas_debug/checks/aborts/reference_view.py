"""PD314 reference-view: a view of a reference that GPU interpret mode does not take.

## What it does

Looks at the views through which a kernel reads, writes and copies, when it is asked to
run in JAX's GPU interpret mode: reshaped, bitcast, of another block or device; before JAX
0.11.2 also transposed, or a member of a `plgpu.RefUnion`.

## Why is this bad?

JAX 0.10.2 to 0.12.0.1 stops in the middle of the run: `ValueError: Unsupported transform:
ReshapeTransform(shape=(8,))`, or for a copy `AttributeError: 'ReshapeTransform' object
has no attribute 'indices'`; no line of the kernel is named.

## Example

```python
o_ref[...] = x_ref.reshape(8)[...]
```

## Use instead

```python
o_ref[...] = x_ref[...].reshape(8)
```

For a copy, give the buffer the shape that is wanted.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug import ir
from pallas_debug.checks.aborts import versions
from pallas_debug.checks.aborts.foreseen import Refused, findings, routine
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.trace import Trace

ACCESSES = ("state.get", "state.set", "state.swap")
IN, OUT = "gpu.copy_gmem_to_smem", "gpu.copy_smem_to_gmem"
READS, WRITES = ("gpu.tma_read",), ("gpu.tma_write", "gpu.tma_store")
TRANSPOSES = (0, 11, 2)  # the first that takes transposed views and unions
ASKS_INDICES = (0, 11, 0)  # copies to shared memory do so since; those out of it did
TRANSPOSED_TARGET = "NotImplementedError: Transposed TMA destination not supported."
UNSUPPORTED = "ValueError: Unsupported transform: "
NO_INDICES = "AttributeError: '{}' object has no attribute 'indices'"

# The view, its name for users, and JAX's name of it.
NAMES: dict[type, tuple[str, str]] = {
    ir.Reshape: ("a reshaped view", "ReshapeTransform"),
    ir.Bitcast: ("a bitcast view", "BitcastTransform"),
    ir.Transpose: ("a transposed view", "TransposeTransform"),
    ir.Alias: ("a member of a union", "ExtractAliasedRef"),
    ir.Peer: ("a view of another block or device", ""),
    ir.Multicast: ("a view of several blocks", "MulticastRef"),
}


@check("PD314", "reference-view")
def reference_view(trace: Trace) -> Iterator[Finding]:
    """Accesses through views that JAX refuses."""
    yield from findings(trace, "PD314", _judge, when_run=True)


def _judge(kernel: ir.Kernel, number: int) -> Iterator[Refused]:
    instr = kernel.tape[number]
    if instr.op in ACCESSES:
        steps = [_odd(kernel, access) for access in instr.accesses[:1]]
        for step in filter(None, steps):
            yield _refused(step, f"{UNSUPPORTED}{_shown(step)}")
    elif instr.op in (IN, OUT):
        yield from _copy(kernel, number)
    elif instr.op == "gpu.wgmma" and not versions.within(kernel, TRANSPOSES):
        yield from _product(kernel, number)


def _odd(kernel: ir.Kernel, access: ir.Access) -> ir.ViewStep | None:
    """The first view that JAX does not take."""
    taken: tuple[type, ...] = (ir.Index,)
    if versions.within(kernel, TRANSPOSES):
        taken = (ir.Index, ir.Transpose, ir.Alias)
    return next((s for s in access.steps if not isinstance(s, taken)), None)


def _refused(step: ir.ViewStep, raises: str) -> Refused:
    name, _ = NAMES[type(step)]
    hint = "read the plain reference and change the value"
    if isinstance(step, ir.Peer | ir.Multicast):
        hint = "leave this part out of what runs there"
    elif isinstance(step, ir.Transpose | ir.Alias):
        hint = "use JAX 0.11.2 or newer"
    return Refused(f"it goes through {name} of a reference", raises, hint)


def _shown(step: ir.ViewStep) -> str:
    """How JAX prints a view, as far as it is known."""
    _, name = NAMES[type(step)]
    if isinstance(step, ir.Reshape):
        return f"{name}(shape={step.shape})"
    if isinstance(step, ir.Transpose):
        return f"{name}(permutation={step.permutation})"
    return f"{name}(…" if name else "…"


def _copy(kernel: ir.Kernel, number: int) -> Iterator[Refused]:
    """The first odd view of a copy, its source before its target."""
    is_new = versions.within(kernel, TRANSPOSES)
    is_out = kernel.tape[number].op == OUT
    for instr in routine(kernel, number):
        if instr.op not in READS + WRITES:
            continue
        for step in instr.accesses[0].steps:
            if is_new and isinstance(step, ir.Transpose):
                if is_out and instr.op in WRITES:
                    why = "a copy writes through a transposed view of global memory"
                    hint = "transpose the value, or copy from a transposed source"
                    yield Refused(why, TRANSPOSED_TARGET, hint)
                    return
            elif isinstance(step, ir.Reshape | ir.Bitcast | ir.Transpose):
                _, name = NAMES[type(step)]
                is_shown = not is_out and not versions.within(kernel, ASKS_INDICES)
                raises = (
                    UNSUPPORTED + _shown(step) if is_shown else NO_INDICES.format(name)
                )
                hint = "give the buffer the shape that is wanted, and copy it plainly"
                yield _refused(step, raises)._replace(hint=hint)
                return


def _product(kernel: ir.Kernel, number: int) -> Iterator[Refused]:
    """A transposed operand of the matrix unit, in old versions."""
    for instr in routine(kernel, number):
        if instr.op == "gpu.wgmma_multiply":
            for access in instr.accesses[1:]:
                step = next(
                    (s for s in access.steps if isinstance(s, ir.Transpose)), None
                )
                if step is not None:
                    yield _refused(step, NO_INDICES.format("TransposeTransform"))
                    return
