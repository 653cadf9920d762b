"""PD324 copy-left-running: a copy that JAX's race detector misses a wait for.

## What it does

Finds copies out of shared memory that nobody waits for (PD221) in a kernel that is asked
to run with `detect_races=True` in JAX's GPU interpret mode.

## Why is this bad?

JAX 0.11.0 to 0.12.0.1 stops when the thread that started the copy comes to its end:
`ValueError: Not all copy_smem_to_gmem read-side operations completed before kernel
finished on thread …`. The line of the copy is not in it.

## Example

```python
plgpu.copy_smem_to_gmem(smem, o_ref)  # InterpretGPUParams(detect_races=True)
```

## Use instead

```python
plgpu.copy_smem_to_gmem(smem, o_ref)
plgpu.wait_smem_to_gmem(0)
```
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug import ir
from pallas_debug.checks import semaphores
from pallas_debug.checks.aborts.refusal import asked_of_gpu, kernels, refusal
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.trace import Trace

COPY = "gpu.copy_smem_to_gmem"
RAISES = (
    "ValueError: Not all copy_smem_to_gmem read-side operations completed before kernel "
    "finished on thread…"
)
HINT = "end the kernel with plgpu.wait_smem_to_gmem(0)"


@check("PD324", "copy-left-running")
def copy_left_running(trace: Trace) -> Iterator[Finding]:
    """The first copy of each kernel that is still reading at the end."""
    columns = trace.columns
    for launch, kernel in kernels(trace, "PD324", _is_detecting):
        for seq in semaphores.unawaited(trace).tolist():
            thread = trace.threads[int(columns.thread[seq])]
            position = thread.row.instr
            is_mine = thread.launch.kernel is kernel and position >= 0
            if is_mine and kernel.tape[position].op == COPY:
                row = trace.buffer_rows[int(columns.object[seq])]
                yield refusal(
                    launch,
                    f"nobody waits for a copy that reads `{row.name}`",
                    RAISES,
                    HINT,
                    loc=kernel.loc_of(position),
                    events=(seq,),
                    buffer=row.name,
                )
                break


def _is_detecting(kernel: ir.Kernel) -> bool:
    return asked_of_gpu(kernel) and bool(kernel.facts.get("detect_races"))
