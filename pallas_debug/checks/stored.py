"""Which elements of a buffer an event touched, and the values it recorded for them."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from pallas_debug.trace import fold
from pallas_debug.trace.regions import Region, in_range
from pallas_debug.trace.schema import Kind, RegionKind
from pallas_debug.trace.trace import Trace

Bad = Callable[[np.ndarray], np.ndarray]
WRITES = (int(Kind.WRITE), int(Kind.UPDATE))
READS = (int(Kind.READ), int(Kind.UPDATE))


def is_float(dtype: str) -> bool:
    """Whether values of this dtype can be NaN or infinite, mostly."""
    return dtype.startswith(("float", "bfloat", "complex"))


def places(region: Region, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Flat elements touched inside the buffer, and where each stands in the value."""
    if region.elements is not None:
        flat = region.elements.ravel()
        inside = in_range(flat, shape)
        return flat[inside], np.flatnonzero(inside)
    target, source = region.index(shape)
    size = int(np.prod(shape, dtype=np.int64))
    numbers = np.arange(size).reshape(shape)[target]
    order = np.arange(int(np.prod(region.size, dtype=np.int64)))
    order = order.reshape(region.size)[source]
    if region.mask is not None:
        mask = region.mask.reshape(region.size)[source]
        return numbers[mask], order[mask]
    return numbers.ravel(), order.ravel()


def touched(trace: Trace, seq: int) -> tuple[np.ndarray, np.ndarray]:
    """`places` of an event's region in its buffer."""
    columns = trace.columns
    row = trace.buffer_rows[int(columns.object[seq])]
    return places(trace.region(int(columns.region[seq])), row.shape)


def bad_elements(trace: Trace, seq: int, bad: Bad) -> np.ndarray:
    """Flat elements inside the buffer for which a write recorded a bad value."""
    value = trace.values(seq)
    if value is None:
        return np.zeros(0, np.int64)
    flat, order = touched(trace, seq)
    if value.size == 1:
        return flat if bool(bad(value).any()) else flat[:0]
    return flat[bad(value.reshape(-1)[order])]


def bad_writes(trace: Trace, bad: Bad, name: str) -> np.ndarray:
    """Sorted writes and updates whose recorded value has a bad element anywhere."""
    kept = trace.caches.setdefault("bad-writes", {})
    if name not in kept:
        columns = trace.columns
        floats = [is_float(row.dtype) for row in trace.buffer_rows]
        events = np.flatnonzero(np.isin(columns.kind, WRITES) & (columns.payload >= 0))
        if len(events):
            events = events[np.array(floats, bool)[columns.object[events]]]
        numbers, which = np.unique(columns.payload[events], return_inverse=True)
        hits = [
            number not in trace.left_out and _has(trace.payload(number), bad)
            for number in numbers.tolist()
        ]
        kept[name] = events[np.array(hits, bool)[which]]
    return kept[name]


def _has(value: np.ndarray, bad: Bad) -> bool:
    return value.dtype.kind in "fcV" and bool(bad(value).any())


def ranges(flat: np.ndarray, shape: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """For each dimension the range `(first, end)` that flat elements span."""
    if not shape or not len(flat):
        return ()
    found = np.unravel_index(flat, shape)
    return tuple((int(i.min()), int(i.max()) + 1) for i in found)


def box_text(flat: np.ndarray, shape: tuple[int, ...]) -> str:
    """The span of flat elements like a subscript: `[0:8, 3]`."""
    spans = ranges(flat, shape)
    inner = ", ".join(str(a) if b == a + 1 else f"{a}:{b}" for a, b in spans)
    return f"[{inner}]" if spans else ""


def union(trace: Trace, shape: tuple[int, ...], regions: np.ndarray) -> np.ndarray:
    """Which elements of a buffer of this shape lie in any of the regions."""
    kinds = trace.regions.kind[regions]
    boxes = regions[kinds == RegionKind.BOX] if shape else regions[:0]
    spans = trace.regions.spans(boxes, len(shape))
    plain = ((spans[:, :, 2] == 1) | (spans[:, :, 1] <= 1)).all(axis=1)
    mask = _union_of_boxes(shape, spans[plain])
    for region in np.setdiff1d(regions, boxes[plain]).tolist():
        fold.put(mask, trace.region(region), np.True_)
    return mask


def _union_of_boxes(shape: tuple[int, ...], spans: np.ndarray) -> np.ndarray:
    """The same for boxes without strides: their corners, added up along each axis."""
    counts = np.zeros(tuple(dim + 1 for dim in shape), np.int32)
    if not len(spans) or not shape:
        return np.zeros(shape, bool)
    low = np.clip(spans[:, :, 0], 0, shape)
    high = np.clip(spans[:, :, 0] + spans[:, :, 1], low, shape)
    for corner in itertools.product((False, True), repeat=len(shape)):
        at = np.where(np.array(corner), high, low)
        np.add.at(counts, tuple(at.T), -1 if sum(corner) % 2 else 1)
    for axis in range(len(shape)):
        np.cumsum(counts, axis=axis, out=counts)
    return counts[tuple(slice(dim) for dim in shape)] > 0


Runs = tuple[tuple[tuple[int, int], ...], ...]


def runs(flat: np.ndarray, shape: tuple[int, ...]) -> Runs:
    """For each dimension the ranges `(first, end)` of indices that are concerned."""
    if not shape or not len(flat):
        return ()
    return tuple(_ranges(np.unique(i)) for i in np.unravel_index(flat, shape))


def _ranges(numbers: np.ndarray) -> tuple[tuple[int, int], ...]:
    parts = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    return tuple((int(part[0]), int(part[-1]) + 1) for part in parts)


def runs_text(found: Runs, most: int = 3) -> str:
    """Ranges like a subscript: `[0:4 and 12:16, 0:8]`."""
    dims = []
    for spans in found:
        words = [str(a) if b == a + 1 else f"{a}:{b}" for a, b in spans[:most]]
        more = " and more" if len(spans) > most else ""
        dims.append(" and ".join(words) + more)
    return f"[{', '.join(dims)}]" if dims else ""
