"""PD603 tma-limits: a copy that the tensor memory accelerator cannot make.

## What it does

Looks at the window of each asynchronous copy between global and shared memory: at most
five dimensions; 16-byte strides in global memory, except along the last dimension;
multiples of 16 bytes along the last dimension copied, or in all where the window is one
piece; at most 256 elements a dimension where the window is neither tiled nor one piece;
and a chip that has the unit (compute capability 9.0 or later).

## Why is this bad?

JAX's interpreter copies anything. The lowering for a device, or the driver that encodes
the tensor map, refuses it.

## Example

```python
x = jnp.zeros((64, 30), jnp.float16)  # rows of 60 bytes
plgpu.copy_gmem_to_smem(x_gmem.at[pl.ds(0, 8), pl.ds(0, 16)], x_smem, barrier)
```

## Use instead

```python
x = jnp.zeros((64, 32), jnp.float16)  # rows of 64 bytes
```

Source: CUDA Driver API, `cuTensorMapEncodeTiled`, requirements on `globalStrides`,
`boxDim` and `tensorRank`; JAX's `launch_context.async_copy` checks the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pallas_debug.checks import accesses, target
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace import dtypes
from pallas_debug.trace.schema import Kind, RegionKind
from pallas_debug.trace.trace import Trace

BITS = 128  # 16 bytes
MOST_DIMS = 5
MOST_ELEMENTS = 256
COPIES = ("gpu.tma_read", "gpu.tma_write", "gpu.tma_store", "gpu.tma_multicast")


class Fault(NamedTuple):
    """What a copy breaks, and how sure that is."""

    words: str
    severity: Severity


@check("PD603", "tma-limits")
def tma_limits(trace: Trace) -> Iterator[Finding]:
    """Copies with an impossible window, one finding for each line and array."""
    events = _copies(trace)
    verdicts: dict[tuple[int, int], Fault | None] = {}
    keys = list(
        zip(
            trace.columns.object[events].tolist(),
            trace.columns.region[events].tolist(),
            strict=True,
        )
    )
    for key in dict.fromkeys(keys):
        verdicts[key] = _fault(trace, *key)
    for severity in (Severity.ERROR, Severity.WARNING):
        wrong = [
            (v := verdicts[key]) is not None and v.severity is severity for key in keys
        ]
        for group in accesses.by_line(trace, events[np.array(wrong, bool)]):
            number, region = (
                int(trace.columns.object[group[0]]),
                int(trace.columns.region[group[0]]),
            )
            fault = verdicts[number, region]
            assert fault is not None, "only faulty copies are grouped"
            row = trace.buffer_rows[number]
            yield accesses.finding_at(
                trace,
                group,
                f"the copy of `{row.name}`{trace.region(region).text} ({row.dtype}) "
                f"{fault.words}{accesses.times(trace, group)}",
                hint="pad the array or choose another window; or load and store it "
                "without the accelerator",
                severity=severity,
                details={"shape": row.shape, "window": trace.region(region).spans},
            )
    yield from _without(trace, events)


def _copies(trace: Trace) -> np.ndarray:
    """Accesses to global memory by copies of the accelerator."""
    columns = trace.columns
    kinds = np.isin(columns.kind, (Kind.READ, Kind.WRITE, Kind.UPDATE))
    events = np.flatnonzero(kinds & (columns.region >= 0))
    if not len(events):
        return events
    tma = np.array([row.kind == "tma" for row in trace.thread_rows], bool)
    gmem = np.array([row.space == "gmem" for row in trace.buffer_rows], bool)
    events = events[tma[columns.thread[events]] & gmem[columns.object[events]]]
    return events[trace.regions.kind[columns.region[events]] == RegionKind.BOX]


def _fault(trace: Trace, number: int, region: int) -> Fault | None:
    row = trace.buffer_rows[number]
    box = trace.region(region)
    bits = dtypes.size_bytes(row.dtype, (64,)) * 8 // 64
    if not row.shape or 0 in box.size:
        return None
    piece = _piece(box.size, row.shape)
    dims = [size for size in box.size if size > 1]
    if len(dims) > MOST_DIMS:
        words = f"has {len(dims)} dimensions; the accelerator takes {MOST_DIMS}"
        return Fault(words, Severity.ERROR)
    total = int(np.prod(box.size, dtype=np.int64))
    if piece == total:
        if total * bits % BITS:
            words = f"moves {total * bits / 8:g} bytes, no multiple of 16"
            return Fault(words, Severity.ERROR)
        return None
    stride = row.shape[-1] * bits
    if len(row.shape) > 1 and stride % BITS:
        words = f"strides over rows of {stride / 8:g} bytes, no multiple of 16"
        return Fault(words, Severity.ERROR)
    if box.size[-1] * bits % BITS:
        words = f"has rows of {box.size[-1] * bits / 8:g} bytes, no multiple of 16"
        return Fault(words, Severity.ERROR)
    if box.size[-1] > MOST_ELEMENTS and not _is_tiled(trace, number):
        words = f"has {box.size[-1]} elements along the last dimension; more than "
        words += f"{MOST_ELEMENTS} need a tiled buffer in shared memory"
        return Fault(words, Severity.WARNING)
    return None


def _piece(sizes: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """Elements of the window that lie side by side in the array."""
    count = 1
    for size, dim in zip(reversed(sizes), reversed(shape), strict=True):
        count *= size
        if size != dim:
            break
    return count


def _is_tiled(trace: Trace, number: int) -> bool:
    """Whether any shared memory of the launch is tiled: then windows are cut up."""
    launch = trace.launches[trace.buffer_rows[number].launch]
    for instr in launch.kernel.tape:
        for decl in instr.params.get("decls", ()):
            if "tiling" in " ".join(decl.params.get("transforms", ())).lower():
                return True
    return False


def _without(trace: Trace, events: np.ndarray) -> Iterator[Finding]:
    """Copies for a chip that has no such unit."""
    if not len(events) or not target.is_chosen(trace):
        return
    for launch in trace.launches:
        chips = target.chips_of(trace, launch)
        mine = events[trace.columns.launch[events] == launch.number]
        if len(mine) and chips and float(chips[0].compute_capability or 9) < 9:
            yield accesses.finding_at(
                trace,
                mine[:1],
                f"{chips[0].name} (compute capability {chips[0].compute_capability}) "
                "has no tensor memory accelerator: asynchronous copies need 9.0",
                hint='choose chip="h100" or later, or load with plain indexing',
            )
