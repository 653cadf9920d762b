"""PD205 unfenced-global-read: a copy of what a thread has just stored to global memory.

## What it does

Finds plain stores to global memory that a TMA copy of the same launch touches later, in
order. Kernels with `inline_mgpu` are passed over: it may hold a fence.

## Why is this bad?

Threads access memory through the generic proxy, copies through the asynchronous one.
Without a proxy fence in between (PTX's `fence.proxy.async`) the copy may read what was
there before the store. Pallas exposes none for global memory: `commit_smem` is for shared
memory, and barriers are no proxy fences. JAX's own race detector does not look at it.
Between two launches nothing is needed.

## Example

```python
o_gmem[...] = x
plgpu.copy_gmem_to_smem(o_gmem, smem, barrier)
```

## Use instead

```python
smem[...] = x
plgpu.commit_smem()
plgpu.copy_smem_to_gmem(smem, o_gmem)
plgpu.wait_smem_to_gmem(0)
plgpu.copy_gmem_to_smem(o_gmem, other_smem, barrier)
```

Plain loads (`o_gmem[...]`) or a second launch do, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug.checks import races_words
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.checks.races import Fault
from pallas_debug.trace.trace import Trace


@check("PD205", "unfenced-global-read")
def unfenced_global_read(trace: Trace) -> Iterator[Finding]:
    """One finding for each pair of lines and buffer."""
    for race in races_words.of_fault(trace, Fault.UNSEEN):
        yield races_words.finding(trace, race)
