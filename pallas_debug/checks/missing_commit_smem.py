"""PD203 missing-commit-smem: an asynchronous access to stores that were not committed.

## What it does

Finds stores to shared memory that a TMA copy or a matrix unit touches later, in order,
but without a `commit_smem` in between, on whichever thread.

## Why is this bad?

Threads access shared memory through the generic proxy, copies and products through the
asynchronous one. Without a fence between them (PTX's `fence.proxy.async`, which is what
`commit_smem` is) the copy may read stale bytes, or the store may land after it. Barriers
alone do not help.

## Example

```python
smem[...] = smem[...] * 2.0
plgpu.copy_smem_to_gmem(smem, o_gmem)
```

## Use instead

```python
smem[...] = smem[...] * 2.0
plgpu.commit_smem()
plgpu.copy_smem_to_gmem(smem, o_gmem)
```
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug.checks import races_words
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.checks.races import Fault
from pallas_debug.trace.trace import Trace


@check("PD203", "missing-commit-smem")
def missing_commit_smem(trace: Trace) -> Iterator[Finding]:
    """One finding for each pair of lines and buffer."""
    for race in races_words.of_fault(trace, Fault.UNCOMMITTED):
        yield races_words.finding(trace, race)
