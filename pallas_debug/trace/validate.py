"""What must hold in a trace that comes from a file, before anything follows a number.

The machine keeps these rules by construction; a damaged or foreign file may not.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pallas_debug.trace import dtypes
from pallas_debug.trace.schema import Kind, RegionKind

if TYPE_CHECKING:
    from pallas_debug.trace.trace import Trace

MEMORY_KINDS = (Kind.READ, Kind.WRITE, Kind.UPDATE, Kind.PAD)
BUFFER_KINDS = (Kind.ALLOC, Kind.FREE, *MEMORY_KINDS)
SYNC_KINDS = (Kind.ARRIVE, Kind.PHASE, Kind.WAIT, Kind.SIGNAL)
THREAD_KINDS = (Kind.SPAWN, Kind.JOIN)


def validate(trace: Trace) -> None:
    """Raises `ValueError` for a number that points nowhere."""
    _launches(trace)
    _tables(trace)
    _events(trace)
    _regions(trace)


def _require(held: object, what: str) -> None:
    if not held:
        raise ValueError(what)


def _launches(trace: Trace) -> None:
    at = 0
    for launch in trace.launches:
        _require(at == launch.first_event <= launch.last_event, "launches overlap")
        at = launch.last_event
        _require(all(size >= 0 for size in launch.block_shape), "a grid is negative")
        buffers = (*launch.arguments, *launch.outputs)
        _require(
            all(0 <= number < len(trace.buffer_rows) for number in buffers),
            "a launch names an unknown buffer",
        )
    _require(at == len(trace), "events lie outside the launches")


def _tables(trace: Trace) -> None:
    launches, threads = len(trace.launches), len(trace.thread_rows)
    for row in trace.thread_rows:
        _require(0 <= row.launch < launches, "a thread ran in no launch")
        _require(-1 <= row.parent < threads, "a thread has an unknown parent")
    for number, row in enumerate(trace.buffer_rows):
        _require(0 <= row.launch < launches, "a buffer lived in no launch")
        _require(-1 <= row.alias < number, "a buffer shares unknown memory")
        _require(-1 <= row.thread < threads, "a buffer has an unknown owner")
        locs = trace.launches[row.launch].kernel.locs
        _require(-1 <= row.loc < len(locs), "a buffer has an unknown source line")
        _require(-1 <= row.initial < len(trace.payloads), "contents are missing")
        if not dtypes.is_sync(row.dtype):
            dtypes.numpy_dtype(row.dtype)
        if row.initial >= 0:
            shape = trace.payloads[row.initial].shape
            _require(shape == row.shape, "contents have another shape")


def _events(trace: Trace) -> None:
    columns = trace.columns
    limits = {
        "thread": (0, len(trace.thread_rows)),
        "region": (-1, len(trace.regions)),
        "payload": (-1, len(trace.payloads)),
        "object": (-1, max(len(trace.thread_rows), len(trace.buffer_rows))),
        "kind": (1, max(Kind) + 1),
        "block": (-1, 1 << 31),
    }
    for name, (low, high) in limits.items():
        column = getattr(columns, name)
        if len(column):
            _require(low <= column.min() <= column.max() < high, f"{name} out of range")
    kinds, objects = columns.kind, columns.object
    about_threads = objects[np.isin(kinds, THREAD_KINDS)]
    buffers = objects[np.isin(kinds, (*BUFFER_KINDS, *SYNC_KINDS))]
    waits = objects[kinds == Kind.BLOCK]
    for part, low, table in (
        (about_threads, 0, trace.thread_rows),
        (buffers, 0, trace.buffer_rows),
        (waits, -1, trace.buffer_rows),
    ):
        if len(part):
            _require(
                low <= part.min() <= part.max() < len(table), "object out of range"
            )
    regions = columns.region[np.isin(kinds, MEMORY_KINDS)]
    _require(not len(regions) or regions.min() >= 0, "an access has no region")
    sync = np.array([dtypes.is_sync(row.dtype) for row in trace.buffer_rows], bool)
    is_sync = objects[np.isin(kinds, SYNC_KINDS)]
    _require(sync[is_sync].all(), "a wait or a signal on a plain buffer")


def _regions(trace: Trace) -> None:
    """Shapes of rows, and that each row fits the buffers that it is used with."""
    offsets, kinds = trace.regions.offsets, trace.regions.kind
    lengths = np.diff(offsets)
    box, masked = kinds == RegionKind.BOX, kinds == RegionKind.MASKED
    elements = kinds == RegionKind.ELEMENTS
    known = (box & (lengths % 3 == 1)) | (masked & (lengths % 3 == 2))
    _require((known | (elements & (lengths == 2))).all(), "a region of unknown shape")
    numbers = trace.regions.data[offsets[1:][masked | elements] - 1]
    _require(
        not len(numbers) or 0 <= numbers.min() <= numbers.max() < len(trace.payloads),
        "a region names a missing value",
    )
    for row in np.flatnonzero(masked | elements):
        region = trace.region(int(row))
        if region.mask is not None:
            size = math.prod(region.size)
            _require(
                region.mask.dtype == bool and region.mask.size == size, "a wrong mask"
            )
        elif region.elements is not None:
            _require(region.elements.dtype == np.int64, "wrong element numbers")
    _fits(trace, np.where(elements, -1, (lengths - 1) // 3))


def _fits(trace: Trace, ndims: np.ndarray) -> None:
    columns = trace.columns
    used = np.isin(columns.kind, MEMORY_KINDS)
    ranks = np.array([len(row.shape) for row in trace.buffer_rows], np.int64)
    if used.any():
        wanted, found = ranks[columns.object[used]], ndims[columns.region[used]]
        _require(((found < 0) | (found == wanted)).all(), "a region of another rank")
