"""PD313 copy-options: copies with an option that GPU interpret mode does not take.

## What it does

Looks at the options of the asynchronous copies of a kernel that is asked to run in JAX's
GPU interpret mode: `predicate=`, `reduction_op=`, no barrier, a source under
`plgpu.im2col_ref`.

## Why is this bad?

JAX 0.10.2 to 0.12.0.1 stops in the middle of the run, with `NotImplementedError:
predicate not supported` and no line of the kernel; `plgpu.emit_pipeline` gives a
predicate to the copy of every output. The other options stop it in a similar way.

## Example

```python
plgpu.copy_smem_to_gmem(smem, o_ref, predicate=i == 0)
```

## Use instead

```python
@pl.when(i == 0)
def _():
    plgpu.copy_smem_to_gmem(smem, o_ref)
```

A barrier for each copy into shared memory; a sum in place of a reducing copy.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug import ir
from pallas_debug.checks.aborts.foreseen import Refused, findings, routine, scopes_of
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.trace import Trace

IN, OUT = "gpu.copy_gmem_to_smem", "gpu.copy_smem_to_gmem"
PREDICATE = "NotImplementedError: predicate not supported"
PREDICATE_IN = "ValueError: Too many leaves for PyTreeDef; expected 0."
REDUCTION = "NotImplementedError: reduction_op not supported"
NO_BARRIER = (
    "NotImplementedError: "
    "Interpret mode does not support copy_gmem_to_smem without a barrier."
)
IM2COL = "NotImplementedError: Interpret mode does not support im2col copies."
WHEN = "copy under pl.when in place of predicate="
PIPELINE = "a loop of your own, without emit_pipeline, can copy under pl.when"


@check("PD313", "copy-options")
def copy_options(trace: Trace) -> Iterator[Finding]:
    """Copies with options that JAX refuses."""
    yield from findings(trace, "PD313", _judge_in)
    yield from findings(trace, "PD313", _judge_out, when_run=True)


def _judge_in(kernel: ir.Kernel, number: int) -> Iterator[Refused]:
    """Copies into shared memory are refused while tracing."""
    instr = kernel.tape[number]
    if instr.op != IN:
        return
    if instr.params.get("grouped"):
        hint = "give the copy a barrier, and wait for it with barrier_wait"
        yield Refused("a copy into shared memory has no barrier", NO_BARRIER, hint)
    elif instr.params.get("predicate") is not None:
        why = "a copy into shared memory has a predicate"
        yield Refused(why, PREDICATE_IN, WHEN)
    elif _is_image(kernel, number):
        hint = "copy the windows one by one"
        yield Refused("a copy reads through im2col_ref", IM2COL, hint)


def _is_image(kernel: ir.Kernel, number: int) -> bool:
    """Whether a copy reads rows by several coordinates each."""
    for instr in routine(kernel, number):
        if instr.op == "gpu.tma_read":
            steps = instr.accesses[0].steps
            dims = [d for s in steps if isinstance(s, ir.Index) for d in s.dims]
            return sum(isinstance(dim, ir.Gather) for dim in dims) > 1
    return False


def _is_of_pipeline(kernel: ir.Kernel, number: int) -> bool:
    """Whether a copy stands at the line of its loop and of that one's allocations."""
    home, names = kernel.loc_of(number), set[str]()
    for scope in (kernel.scopes[one] for one in scopes_of(kernel, number)):
        loc = kernel.locs[scope.loc] if scope.loc >= 0 else None
        if home and loc and (loc.file, loc.line) == (home.file, home.line):
            names.add(scope.name)
    return names >= {"scan", "run_scoped"}


def _judge_out(kernel: ir.Kernel, number: int) -> Iterator[Refused]:
    """Copies out of shared memory are refused when they are run."""
    instr = kernel.tape[number]
    if instr.op != OUT:
        return
    if instr.params.get("predicate") is not None:
        why, hint = "a copy to global memory has a predicate", WHEN
        if _is_of_pipeline(kernel, number):
            why, hint = "emit_pipeline gives this copy a predicate", PIPELINE
        yield Refused(why, PREDICATE, hint)
    elif any(one.params.get("reduction") for one in routine(kernel, number)):
        why = "a copy to global memory adds to what is there"
        hint = "read, add and write, or let another kernel sum up"
        yield Refused(why, REDUCTION, hint)
