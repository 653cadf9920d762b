"""PD607 scattered-access: a load or store of global memory wastes most of what it moves.

## What it does

For loads and stores that a GPU program makes itself (not by asynchronous copies): which
share of the 32-byte sectors that are touched is asked for. Columns of a row-major array,
strided slices and scattered indices have small shares.

## Why is this bad?

Global memory moves in sectors of 32 bytes. A column of float32 moves eight times what it
needs. The values are right.

## Example

```python
column = x_ref[:, 0]  # x_ref is float32[1024, 1024]
```

## Use instead

```python
row = x_ref[0, :]  # of the transposed array
```

Or bring a tile to shared memory first and read the column there.

Source: CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory": sectors of 32
bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pallas_debug.checks import accesses
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace import dtypes
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.tables import WORKERS
from pallas_debug.trace.trace import Trace

SECTOR = 32  # bytes
LANES = 32  # elements that a warp asks for at once; fewer are not worth a notice
LARGEST_SHARE = 0.5
KINDS = (Kind.READ, Kind.WRITE, Kind.UPDATE)


@check("PD607", "scattered-access", severity=Severity.INFO)
def scattered_access(trace: Trace) -> Iterator[Finding]:
    """Accesses with a small share of useful bytes, by line and array."""
    columns = trace.columns
    events = np.flatnonzero(np.isin(columns.kind, KINDS) & (columns.region >= 0))
    if not len(events):
        return
    agents = np.array([r.kind not in WORKERS for r in trace.thread_rows], bool)
    direct = np.array(
        [_is_direct(trace, n) for n in range(len(trace.buffer_rows))], bool
    )
    events = events[direct[columns.object[events]] & ~agents[columns.thread[events]]]
    shares: dict[tuple[int, int], float] = {}
    keys = list(
        zip(
            columns.object[events].tolist(),
            columns.region[events].tolist(),
            strict=True,
        )
    )
    for number, region in keys:
        key = (_layout(trace, number), region)
        if key not in shares:
            shares[key] = _share(trace, number, region)
    found = [shares[_layout(trace, number), region] for number, region in keys]
    wasteful = np.array(found, float) < LARGEST_SHARE
    for group in accesses.by_line(trace, events[wasteful]):
        first = trace.events[int(group[0])]
        assert first.buffer is not None, "an access has a buffer"
        region = int(columns.region[group[0]])
        share = shares[_layout(trace, first.buffer.number), region]
        yield accesses.finding_at(
            trace,
            group,
            f"`{first.buffer.name}`{trace.region(region).text}: {share:.0%} of the bytes "
            f"that are moved are asked for{accesses.times(trace, group)}",
            hint="let neighboring lanes touch neighboring elements: transpose the "
            "array, or go through shared memory",
            details={"share": share},
        )


def _is_direct(trace: Trace, number: int) -> bool:
    """Whether it is global memory that a GPU program can address itself."""
    row = trace.buffer_rows[number]
    backend = trace.launches[row.launch].backend
    in_gmem = row.space == "gmem" if backend == "mosaic_gpu" else row.role != "scratch"
    return backend in ("mosaic_gpu", "triton") and in_gmem and bool(row.shape)


def _layout(trace: Trace, number: int) -> int:
    """A number that equal shapes and dtypes share, so that each is judged once."""
    kept = trace.caches.setdefault("layouts", {})
    row = trace.buffer_rows[number]
    return kept.setdefault((row.shape, row.dtype), len(kept))


def _share(trace: Trace, number: int, region: int) -> float:
    """Bytes asked for over bytes of the sectors touched; 1 for small accesses."""
    row = trace.buffer_rows[number]
    flat = trace.region(region).flat(row.shape)
    if len(flat) < LANES:
        return 1.0
    size = max(dtypes.size_bytes(row.dtype, (8,)) // 8, 1)
    distinct = np.unique(flat)
    sectors = len(np.unique(distinct * size // SECTOR))
    return float(len(distinct) * size / (sectors * SECTOR))
