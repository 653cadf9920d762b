"""PD606 bank-conflict: threads of a warp touch the same bank of shared memory.

## What it does

Looks at loads and stores of shared memory by warpgroups whose elements lie a multiple of
the row length apart: a column of a buffer without swizzle, or a strided slice. Says how
many elements of 32 fall on one of the 32 banks of 4 bytes. An estimate: which lane takes
which element is the compiler's choice.

## Why is this bad?

Accesses to one bank are served one after the other: a conflict of 32 takes 32 times as
long. The values are right.

## Example

```python
column = tile_smem[:, 0]  # tile_smem is float32[128, 32]: every row begins in bank 0
```

## Use instead

```python
plgpu.SMEM((128, 32), jnp.float32, transforms=(
    plgpu.TilingTransform((8, 32)), plgpu.SwizzleTransform(128)))
```

Source: CUDA C++ Programming Guide, "Shared Memory": 32 banks, successive 32-bit words in
successive banks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pallas_debug.checks import accesses
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace import dtypes
from pallas_debug.trace.regions import Region
from pallas_debug.trace.schema import Kind, RegionKind
from pallas_debug.trace.tables import WORKERS
from pallas_debug.trace.trace import Trace

BANKS, WORD = 32, 4
FEWEST = 4  # ways of a conflict worth a notice
KINDS = (Kind.READ, Kind.WRITE, Kind.UPDATE)


@check("PD606", "bank-conflict", severity=Severity.INFO)
def bank_conflict(trace: Trace) -> Iterator[Finding]:
    """Columns and strides in shared memory, one finding for each line and buffer."""
    events = _stores_and_loads(trace)
    if not len(events):
        return
    pairs = accesses.pairs(trace, events)
    rows = trace.buffer_rows
    ways = np.array(
        [
            _ways(rows[b].shape, rows[b].dtype, trace.region(r))
            for b, r in zip(pairs.buffer.tolist(), pairs.region.tolist(), strict=True)
        ],
        np.int64,
    )
    for group in accesses.by_line(trace, events[ways[pairs.of] >= FEWEST]):
        first = trace.events[int(group[0])]
        assert first.buffer is not None, "an access has a buffer"
        assert first.region is not None, "an access has a region"
        most = _ways(first.buffer.shape, first.buffer.dtype, first.region)
        yield accesses.finding_at(
            trace,
            group,
            f"`{first.buffer.name}`{first.region.text}: up to {most} of {BANKS} elements "
            f"lie in one bank of shared memory{accesses.times(trace, group)}",
            hint="swizzle the buffer, pad its rows, or walk along the rows",
            details={"ways": most},
        )


def _stores_and_loads(trace: Trace) -> np.ndarray:
    """Accesses of boxes of plain shared memory by the program itself."""
    columns = trace.columns
    events = np.flatnonzero(np.isin(columns.kind, KINDS) & (columns.region >= 0))
    if not len(events):
        return events
    agents = np.array([r.kind not in WORKERS for r in trace.thread_rows], bool)
    swizzled = _swizzled(trace)
    plain = np.array(
        [
            row.space == "smem"
            and trace.launches[row.launch].backend == "mosaic_gpu"
            and (row.launch, row.name) not in swizzled
            for row in trace.buffer_rows
        ],
        bool,
    )
    events = events[plain[columns.object[events]] & ~agents[columns.thread[events]]]
    return events[trace.regions.kind[columns.region[events]] == RegionKind.BOX]


def _swizzled(trace: Trace) -> set[tuple[int, str]]:
    """Launch and name of the buffers whose layout spreads columns over the banks."""
    return {
        (launch.number, decl.name)
        for launch in trace.launches
        for instr in launch.kernel.tape
        for decl in instr.params.get("decls", ())
        if "swizzle" in " ".join(map(str, decl.params.get("transforms", ()))).lower()
    }


def _ways(shape: tuple[int, ...], dtype: str, region: Region) -> int:
    """How many of 32 successive elements of a box fall on one bank."""
    step = dtypes.size_bytes(dtype, (8,)) // 8 or 1
    stride = step
    for (_, size, by), dim in zip(reversed(region.spans), reversed(shape), strict=True):
        if size > 1:
            words, rest = divmod(stride * by, WORD)
            if rest or not words:
                return 1
            return min(math.gcd(words, BANKS), size)
        stride *= dim
    return 1
