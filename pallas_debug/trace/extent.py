"""How much memory each access touches, for all events at once.

Counts and sums over the columns; whether an access is allowed is a check's business.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pallas_debug.trace import dtypes
from pallas_debug.trace.schema import Kind, RegionKind

if TYPE_CHECKING:
    from pallas_debug.trace.trace import Trace

ACCESSES = (Kind.READ, Kind.WRITE, Kind.UPDATE)


def touched(trace: Trace, events: np.ndarray) -> np.ndarray:
    """How many elements inside its buffer each of some memory events touches."""
    columns = trace.columns
    regions = max(len(trace.regions), 1)
    key = columns.object[events].astype(np.int64) * regions + columns.region[events]
    distinct, of = np.unique(key, return_inverse=True)
    buffer, region = np.divmod(distinct, regions)
    return _sizes(trace, buffer, region)[of]


def bytes_touched(trace: Trace, events: np.ndarray) -> np.ndarray:
    """The same in bytes on the device, where small types are packed."""
    bits = np.array([_bits(row.dtype) for row in trace.buffer_rows], np.int64)
    if not len(events):
        return np.zeros(0, np.int64)
    return (touched(trace, events) * bits[trace.columns.object[events]] + 7) // 8


def _bits(dtype: str) -> int:
    return dtypes.size_bytes(dtype, (8,))  # eight elements have as many bytes as bits


def _sizes(trace: Trace, buffer: np.ndarray, region: np.ndarray) -> np.ndarray:
    """The elements of each pair of a buffer and a region."""
    rows = trace.buffer_rows
    sizes = np.zeros(len(buffer), np.int64)
    kinds = trace.regions.kind[region]
    ranks = np.array([len(row.shape) for row in rows], np.int64)[buffer]
    inside = np.zeros(len(buffer), bool)
    for rank in np.unique(ranks):
        mine = np.flatnonzero((ranks == rank) & (kinds != RegionKind.ELEMENTS))
        numbers, which = np.unique(buffer[mine], return_inverse=True)
        shapes = [rows[number].shape for number in numbers]
        dims = np.array(shapes, np.int64).reshape(len(numbers), rank)[which]
        counts, whole = _clipped(trace.regions.spans(region[mine], int(rank)), dims)
        sizes[mine], inside[mine] = counts.prod(axis=1), whole.all(axis=1)
    masks: dict[int, int] = {}
    for pair in np.flatnonzero(kinds != RegionKind.BOX).tolist():
        number = int(region[pair])
        if inside[pair]:
            if number not in masks:
                mask = trace.region(number).mask
                masks[number] = int(mask.sum()) if mask is not None else 0
            sizes[pair] = masks[number]
        else:
            sizes[pair] = _count(trace, number, rows[buffer[pair]].shape)
    return sizes


def _clipped(spans: np.ndarray, dims: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many of each span's positions exist, and whether that is all of them."""
    start, size, stride = np.moveaxis(spans, 2, 0)
    stride = np.maximum(stride, 1)
    first = np.minimum(np.where(start < 0, -(start // stride), 0), size)
    stop = np.maximum(np.minimum(size, -((start - dims) // stride)), first)
    return stop - first, stop - first == size


def _count(trace: Trace, number: int, shape: tuple[int, ...]) -> int:
    part = trace.region(number).effective(shape)
    if part.elements is not None:
        return part.elements.size
    if part.mask is not None:
        return int(np.count_nonzero(part.mask))
    return math.prod(part.size)
