"""Regions: which elements of a buffer an event touches, as asked for and as possible.

A row of the regions table is a few integers; `Region` is the same for people and for
checks, `Regions` is the whole table with columns for vectorized questions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import numpy as np

from pallas_debug.trace.columns import frozen
from pallas_debug.trace.schema import RegionKind

Span = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Region:
    """A box or a set of elements inside a buffer.

    Attributes:
      kind: How the rest is to be read.
      start, size, stride: The box as requested, one integer for each dimension of the
        buffer; empty for a set of elements.
      mask: Bool array of the box's shape; only its true elements are touched.
      elements: Flat element numbers, in the order of the value.
      payload: Row of the payloads table that holds `mask` or `elements`, or -1.
    """

    kind: RegionKind
    start: tuple[int, ...] = ()
    size: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    mask: np.ndarray | None = None
    elements: np.ndarray | None = None
    payload: int = -1

    @property
    def spans(self) -> tuple[Span, ...]:
        """`(start, size, stride)` of each dimension."""
        return tuple(zip(self.start, self.size, self.stride, strict=True))

    def effective(self, shape: tuple[int, ...]) -> Region:
        """The part that lies inside a buffer of this shape."""
        if self.elements is not None:
            inside = self.elements[in_range(self.elements, shape)]
            return replace(self, elements=inside)
        clips = [clip(span, dim) for span, dim in zip(self.spans, shape, strict=True)]
        mask = self.mask
        if mask is not None:
            crops = tuple(slice(first, first + size) for first, _, size in clips)
            mask = mask.reshape(self.size)[crops]
        return replace(
            self,
            start=tuple(start for _, start, _ in clips),
            size=tuple(size for _, _, size in clips),
            mask=mask,
        )

    def is_inside(self, shape: tuple[int, ...]) -> bool:
        """Whether nothing of it lies outside a buffer of this shape."""
        if self.elements is not None:
            return bool(in_range(self.elements, shape).all())
        if 0 in self.size:
            return True
        inside = self.effective(shape)
        if inside.size == self.size:
            return True
        if self.mask is None or inside.mask is None:
            return False
        return np.count_nonzero(inside.mask) == np.count_nonzero(self.mask)

    def covers(self, shape: tuple[int, ...]) -> bool:
        """Whether it touches every element of a buffer of this shape."""
        if self.kind is not RegionKind.BOX:
            return False
        inside = self.effective(shape)
        return inside.size == shape and all(
            stride == 1 or size <= 1
            for size, stride in zip(self.size, self.stride, strict=True)
        )

    def index(self, shape: tuple[int, ...]) -> tuple[tuple[slice, ...], ...]:
        """Slices of the buffer and of the box-shaped value: the effective part."""
        target, source = [], []
        for span, dim in zip(self.spans, shape, strict=True):
            first, start, size = clip(span, dim)
            stop = start + (size - 1) * span[2] + 1 if size else start
            target.append(slice(start, stop, span[2]))
            source.append(slice(first, first + size))
        return tuple(target), tuple(source)

    def flat(self, shape: tuple[int, ...]) -> np.ndarray:
        """Flat numbers of the elements touched inside a buffer of this shape."""
        if self.elements is not None:
            return self.effective(shape).elements.ravel()  # type: ignore[union-attr]
        numbers = np.arange(int(np.prod(shape, dtype=np.int64))).reshape(shape)
        target, source = self.index(shape)
        inside = numbers[target]
        if self.mask is not None:
            return inside[self.mask.reshape(self.size)[source]]
        return inside.ravel()

    @property
    def text(self) -> str:
        """Like a subscript: `[0:64, 3]`; element sets name the first few."""
        if self.elements is not None:
            return f"[{_few(self.elements)}]"
        if not self.start:
            return ""
        inner = ", ".join(_dimension(*span) for span in self.spans)
        if self.mask is None:
            return f"[{inner}]"
        return f"[{inner}, {np.count_nonzero(self.mask)} of {self.mask.size} by mask]"

    def __repr__(self) -> str:
        return f"<Region {self.text or '()'}>"


def element_of(shape: Sequence[int], number: int) -> str:
    """A barrier or semaphore of an array, by its number, as users index it."""
    inside = shape and 0 <= number < math.prod(shape)
    at = np.unravel_index(number, tuple(shape)) if inside else ()
    return f"[{', '.join(map(str, at))}]" if at else ""


def clip(span: Span, dim: int) -> Span:
    """The part of a dimension's span inside `0 … dim-1`: steps skipped, start, size."""
    start, size, stride = span
    stride = stride or 1
    first = -(start // stride) if start < 0 else 0
    stop = -((start - dim) // stride)
    first = min(first, size)
    stop = max(min(size, stop), first)
    return first, start + first * stride, stop - first


def in_range(elements: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Which flat element numbers exist in a buffer of this shape."""
    return (elements >= 0) & (elements < int(np.prod(shape, dtype=np.int64)))


def _dimension(start: int, size: int, stride: int) -> str:
    if size == 1:
        return str(start)
    if stride == 1:
        return f"{start}:{start + size}"
    return f"{start}:{start + (size - 1) * stride + 1}:{stride}"


def _few(elements: np.ndarray, most: int = 4) -> str:
    flat = elements.ravel()
    shown = ", ".join(str(int(number)) for number in flat[:most])
    return shown if flat.size <= most else f"{shown}, … {flat.size} elements"


class Regions(Sequence[tuple[int, ...]]):
    """The regions table: rows of integers, and the same as flat arrays.

    `data[offsets[i]:offsets[i + 1]]` is row `i`.
    """

    def __init__(self, rows: Sequence[tuple[int, ...]]) -> None:
        self._rows = tuple(rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, number):  # type: ignore[no-untyped-def]
        return self._rows[number]

    def __repr__(self) -> str:
        return f"<Regions: {len(self)}>"

    @cached_property
    def offsets(self) -> np.ndarray:
        """Where each row begins in `data`, and where the last one ends."""
        lengths = np.fromiter(map(len, self._rows), np.int64, len(self._rows))
        offsets = np.zeros(len(self._rows) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return frozen(offsets)

    @cached_property
    def data(self) -> np.ndarray:
        """The integers of all rows, one after another."""
        values = chain.from_iterable(self._rows)
        return frozen(np.fromiter(values, np.int64, int(self.offsets[-1])))

    @cached_property
    def kind(self) -> np.ndarray:
        """The `RegionKind` of each row."""
        return frozen(self.data[self.offsets[:-1]].astype(np.uint8))

    def spans(self, rows: np.ndarray, ndim: int) -> np.ndarray:
        """Array `(row, dimension, start/size/stride)` of boxes with `ndim` dims."""
        index = self.offsets[rows][:, None] + 1 + np.arange(3 * ndim)
        return self.data[index].reshape(len(rows), ndim, 3)
