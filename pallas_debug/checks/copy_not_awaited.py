"""PD221 copy-not-awaited: an asynchronous operation that nobody waits for.

## What it does

For launches that finished: copies (TMA and DMA) and products of the matrix units that
touch on-chip memory while no thread of the program ever learns that they are over. A copy
from shared to global memory only has to be done reading (`wait_read_only=True`). DMAs are
counted by the units of their semaphores.

## Why is this bad?

When the block ends, its memory goes to the next one while the operation still
reads or writes there. JAX's interpreter raises: "Not all copy_smem_to_gmem read-side
operations completed before"; on a TPU the semaphore is not zero at the end.

## Example

```python
plgpu.copy_smem_to_gmem(smem, o_gmem)  # the last line of the kernel
```

## Use instead

```python
plgpu.copy_smem_to_gmem(smem, o_gmem)
plgpu.wait_smem_to_gmem(0)
```
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pallas_debug.checks import accesses, semaphores
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.trace import Trace

HINTS = {
    "gpu.copy_smem_to_gmem": "call `plgpu.wait_smem_to_gmem(0)` before the end",
    "gpu.wgmma": "call `plgpu.wgmma_wait(0)` before the end",
}
WHAT = {"tma": "copy", "wgmma": "product", "tcgen05": "operation of the matrix unit"}


@check("PD221", "copy-not-awaited")
def copy_not_awaited(trace: Trace) -> Iterator[Finding]:
    """Operations on on-chip memory that nobody waited for, by line."""
    for group in accesses.by_line(trace, semaphores.unawaited(trace)):
        first = trace.events[int(group[0])]
        name = first.buffer.name if first.buffer else "?"
        verb = "reads" if first.kind.name == "READ" else "writes"
        tape, number = first.launch.kernel.tape, first.thread.row.instr
        op = tape[number].op if 0 <= number < len(tape) else ""
        what = WHAT.get(first.thread.kind, "operation")
        yield accesses.finding_at(
            trace,
            group,
            f"nobody waits for this {what}, which {verb} `{name}`"
            f"{accesses.times(trace, group)}",
            hint=HINTS.get(op, "wait for its barrier before the end"),
        )
    yield from _dmas(trace)


def _dmas(trace: Trace) -> Iterator[Finding]:
    """DMA semaphores with bytes left."""
    left = {one.last_signal: one for one in semaphores.left(trace) if one.by_copies}
    for group in accesses.by_line(trace, np.array(sorted(left), np.int64)):
        one = left[int(group[0])]
        yield accesses.finding_at(
            trace,
            group,
            f"copies signal {one.given} bytes to semaphore {one.name}, but only "
            f"{one.taken} are waited for{semaphores.times(trace, group)}",
            hint="call `.wait()` on every copy that is started",
            details={"left": one.units, "given": one.given, "taken": one.taken},
        )
