"""PD315 index-array: an array of indices under GPU interpret mode.

## What it does

Finds reads, writes and copies that pick rows by an integer array, in a kernel that is
asked to run in JAX's GPU interpret mode.

## Why is this bad?

JAX 0.10.2 to 0.12.0.1 stops in the middle of the run: `TypeError: Only scalar arrays can
be converted to Python scalars; got arr.ndim=1`, and names no line of the kernel.

## Example

```python
o_ref[...] = x_ref[i_ref[...]]
```

## Use instead

```python
o_ref[...] = x_ref[...][i_ref[...]]
```

or a loop over the rows with one integer each; or `interpret=True`.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug import ir
from pallas_debug.checks.aborts.foreseen import Refused, findings, routine
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.trace import Trace

RAISES = (
    "TypeError: Only scalar arrays can be converted to Python scalars; got arr.ndim=…"
)
ACCESSES = ("state.get", "state.set", "state.swap")
COPIES = ("gpu.copy_gmem_to_smem", "gpu.copy_smem_to_gmem")
HINT = "index the value in place of the reference, or loop over the rows"


@check("PD315", "index-array")
def index_array(trace: Trace) -> Iterator[Finding]:
    """Accesses by an array of indices that JAX refuses."""
    yield from findings(trace, "PD315", _judge, when_run=True)


def _judge(kernel: ir.Kernel, number: int) -> Iterator[Refused]:
    instr = kernel.tape[number]
    if instr.op in ACCESSES and _gathers(instr):
        yield Refused("a reference is indexed by an array", RAISES, HINT)
    elif instr.op in COPIES and any(
        _gathers(one) == 1 for one in routine(kernel, number)
    ):  # several arrays at once are an image's windows: PD313
        yield Refused("a copy picks rows by an array", RAISES, HINT)


def _gathers(instr: ir.Instr) -> int:
    steps = [
        step
        for access in instr.accesses[:1]
        for step in access.steps
        if isinstance(step, ir.Index)
    ]
    return sum(isinstance(dim, ir.Gather) for step in steps for dim in step.dims)
