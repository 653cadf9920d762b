"""PD312 barrier-index: which of several barriers is meant.

## What it does

Looks at the index with which a kernel picks one of an array of barriers, when it is asked
to run in JAX's GPU interpret mode: none at all, a slice, a slice with a stride.

## Why is this bad?

JAX 0.10.2 to 0.12.0.1 stops while tracing: `ValueError: Attempting to operate on barrier
without indexing, but num_barriers = 2`. A slice stops JAX before 0.11.2 in the middle of
the run (`ValueError: Expected shape (5,) but got (1, 5)`), a stride also newer ones.

## Example

```python
# scratch_types=[plgpu.Barrier(num_barriers=2)]
plgpu.barrier_arrive(barrier)
```

## Use instead

```python
plgpu.barrier_arrive(barrier.at[0])
```
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from pallas_debug import ir
from pallas_debug.checks.aborts import versions
from pallas_debug.checks.aborts.foreseen import Refused, allocation, findings, routine
from pallas_debug.checks.aborts.unimplemented_primitive import KEY_LENGTH
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.trace import Trace

PLAIN = ("gpu.barrier_arrive", "gpu.barrier_wait")
ARRIVALS = ("gpu.tma_arrive", "gpu.tma_land", "gpu.tcgen05_arrive")
TAKES_SLICES = (0, 11, 2)
STRIDE = "NotImplementedError: Barrier does not support slice with `stride != 1`"
HINT = "pick one barrier with an integer: barrier.at[i]"


@check("PD312", "barrier-index")
def barrier_index(trace: Trace) -> Iterator[Finding]:
    """Barriers that are picked in a way that JAX refuses."""
    yield from findings(trace, "PD312", _while_tracing)
    yield from findings(trace, "PD312", _while_running, when_run=True)


def _uses(kernel: ir.Kernel, number: int) -> Iterator[tuple[ir.Buffer, ir.Access]]:
    """The barriers that an instruction, or what it starts, arrives at or waits for."""
    instr = kernel.tape[number]
    if instr.op in PLAIN:
        decl = allocation(kernel, instr.accesses[0].ref)
        if decl is not None:
            yield decl, instr.accesses[0]
    for one in routine(kernel, number):
        if one.op in ARRIVALS and one.accesses:
            ref = one.accesses[0].ref
            # The routine's first registers are what it was given.
            if isinstance(ref, ir.Reg) and ref.number < len(instr.ins):
                decl = allocation(kernel, instr.ins[ref.number])
                if decl is not None:
                    yield decl, one.accesses[0]


def _while_tracing(kernel: ir.Kernel, number: int) -> Iterator[Refused]:
    for decl, access in _uses(kernel, number):
        count = math.prod(decl.shape)
        if not access.steps and count != 1:
            raises = (
                "ValueError: Attempting to operate on barrier without indexing, but "
                f"`num_barriers = {count}`"
            )
            why = f"`{decl.name}` is {count} barriers, and none of them is picked"
            yield Refused(why, raises, HINT)
        elif versions.within(kernel, TAKES_SLICES) and _stride(access) != 1:
            why = f"a slice of the barriers `{decl.name}` has a stride"
            yield Refused(why, STRIDE, HINT)


def _while_running(kernel: ir.Kernel, number: int) -> Iterator[Refused]:
    if versions.within(kernel, TAKES_SLICES):
        return
    since, before, after = KEY_LENGTH
    length = after if versions.within(kernel, since) else before
    for decl, access in _uses(kernel, number):
        for step in access.steps:
            dims = step.dims if isinstance(step, ir.Index) else ()
            if len(dims) == 1 and isinstance(dims[0], ir.Slice):
                got = f"({dims[0].size}, {length})"
                raises = f"ValueError: Expected shape ({length},) but got {got}"
                yield Refused(f"`{decl.name}` is picked by a slice", raises, HINT)


def _stride(access: ir.Access) -> int:
    """The first stride of a slice that is not 1."""
    for step in access.steps:
        for dim in step.dims if isinstance(step, ir.Index) else ():
            if isinstance(dim, ir.Slice) and dim.stride != 1:
                return dim.stride
    return 1
