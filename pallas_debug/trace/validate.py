"""What must hold in a trace that comes from a file, before anything follows a number.

The machine keeps these rules by construction; a damaged or foreign file may not.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pallas_debug.trace import dtypes
from pallas_debug.trace.container import count_of
from pallas_debug.trace.schema import Kind, RegionKind, text_of

if TYPE_CHECKING:
    from pallas_debug.trace.trace import Trace

MEMORY_KINDS = (Kind.READ, Kind.WRITE, Kind.UPDATE, Kind.PAD)
BUFFER_KINDS = (Kind.ALLOC, Kind.FREE, *MEMORY_KINDS)
SYNC_KINDS = (Kind.ARRIVE, Kind.LAND, Kind.PHASE, Kind.WAIT, Kind.SIGNAL)
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
        count_of(launch.block_shape)
        buffers = (*launch.arguments, *launch.outputs)
        _require(
            all(0 <= number < len(trace.buffer_rows) for number in buffers),
            "a launch names an unknown buffer",
        )
        for row in launch.outcome.waiting:
            thread, _, number, element, _ = row
            _require(0 <= thread < len(trace.thread_rows), "an unknown thread waits")
            table = trace.buffer_rows if number >= 0 else trace.thread_rows
            found = number if number >= 0 else element
            _require(0 <= found < len(table), "a thread waits for something unknown")
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
    said = text_of(kinds, columns.aux)
    known = (said >= -1) & (said < len(trace.texts))
    _require(known.all(), "a text is missing")
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
    special = masked | elements
    numbers = trace.regions.data[offsets[1:][special] - 1]
    _require(
        not len(numbers) or 0 <= numbers.min() <= numbers.max() < len(trace.payloads),
        "a region names a missing value",
    )
    _require(
        trace.left_out.isdisjoint(numbers.tolist()), "a region's elements were left out"
    )
    for row in np.flatnonzero(special):
        region = trace.region(int(row))
        if region.mask is not None:
            size = math.prod(region.size)
            _require(
                region.mask.dtype == bool and region.mask.size == size, "a wrong mask"
            )
        elif region.elements is not None:
            _require(region.elements.dtype == np.int64, "wrong element numbers")
    ranks = np.where(elements, -1, (lengths - 1) // 3)
    sizes = _sizes(trace, ranks)
    sizes[elements] = [
        trace.payloads[number].size for number in numbers[elements[special]]
    ]
    _fits(trace, ranks, sizes)


def _sizes(trace: Trace, ranks: np.ndarray) -> np.ndarray:
    """How many values each box has, as requested."""
    sizes = np.ones(len(ranks), np.int64)
    for rank in np.unique(ranks[ranks > 0]):
        rows = np.flatnonzero(ranks == rank)
        _, size, stride = np.moveaxis(trace.regions.spans(rows, int(rank)), 2, 0)
        _require(((size >= 0) & (size < 1 << 31) & (stride >= 1)).all(), "a wrong box")
        _require((size.astype(float).prod(axis=1) < 1 << 48).all(), "a giant box")
        sizes[rows] = size.prod(axis=1)
    return sizes


def _fits(trace: Trace, ranks: np.ndarray, sizes: np.ndarray) -> None:
    """Each access against the rank of its buffer and the size of its value."""
    columns = trace.columns
    used = np.isin(columns.kind, MEMORY_KINDS)
    if not used.any():
        return
    wanted = np.array([len(row.shape) for row in trace.buffer_rows], np.int64)
    region, payload = columns.region[used], columns.payload[used]
    found = ranks[region]
    fits = (found < 0) | (found == wanted[columns.object[used]])
    _require(fits.all(), "a region of another rank")
    has = payload >= 0
    lengths = np.array([value.size for value in trace.payloads], np.int64)
    ranked = np.array([value.ndim > 0 for value in trace.payloads], bool)
    has[has] = ranked[payload[has]]  # a scalar value fills its region
    _require(
        (lengths[payload[has]] == sizes[region[has]]).all(), "a value does not fit"
    )
