"""Views of a buffer that are still one box of it, also through reshapes.

A dimension of a view is a mixed-radix number whose digits count elements along the
buffer's dimensions. A reshape regroups digits, perhaps after cutting one in two; an
index fixes or narrows them.

  buffer (64, 128) reshaped to (8, 8, 128):  dims  [8 rows apart], [1 row apart], [columns]
  indexed with [i, :, :]:                    rows 8·i to 8·i + 7, all columns
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pallas_debug.machine.memory import BOX, Fold, Inside, Place, Window
from pallas_debug.trace.regions import clip


class Digit(NamedTuple):
    """`size` steps of `stride` elements along dimension `dim` of the buffer."""

    dim: int
    stride: int
    size: int


View = list[tuple[Digit, ...]]


class Box:
    """A box of a buffer, and how the dimensions of a view map to the buffer's.

    Attributes:
      first: The box's first element, in the buffer's dimensions.
      view: The digits of each dimension of the view.
      folded: Whether it was reshaped: then an index may not leave the view.
    """

    __slots__ = ("first", "folded", "view")

    def __init__(self, first: list[int], view: View, folded: bool = False) -> None:
        self.first = first
        self.view = view
        self.folded = folded

    @classmethod
    def whole(cls, shape: tuple[int, ...]) -> Box:
        view = [(Digit(dim, 1, size),) for dim, size in enumerate(shape)]
        return cls([0] * len(shape), view)

    @classmethod
    def window(cls, ref: Window) -> Box:
        view = [
            (Digit(dim, 1, size),)
            for dim, size in enumerate(ref.sizes)
            if dim not in ref.squeezed
        ]
        return cls(list(ref.origin), view)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(_size(digits) for digits in self.view)

    def is_all_of(self, shape: tuple[int, ...]) -> bool:
        """Whether it is a buffer of this shape as it is."""
        plain = not self.folded and not any(self.first)
        return plain and self.view == Box.whole(shape).view

    def transpose(self, permutation: Sequence[int]) -> Box:
        return Box(self.first, [self.view[p] for p in permutation], self.folded)

    def index(self, indices: Sequence[tuple]) -> Box | None:
        """The view behind slices and integers; None if that is no box."""
        first, view = list(self.first), View()
        for digits, index in zip(self.view, indices, strict=True):
            start, size, step = index[1:] if index[0] == "slice" else (index[1], 1, 1)
            last = start + (size - 1) * step
            if self.folded and not (size and start >= 0 and last < _size(digits)):
                return None
            kept = _narrowed(first, digits, start, size, step)
            if kept is None:
                return None
            if index[0] == "slice":
                view.append(kept)
        return Box(first, view, self.folded)

    def reshape(self, shape: Sequence[int]) -> Box | None:
        """The view in another shape, row-major; None if that is no box."""
        if 0 in self.shape:
            return None
        rest = [d for digits in self.view for d in digits if d.size > 1][::-1]
        view = View()
        for size in shape:
            digits: list[Digit] = []
            while size > 1:
                dim, stride, count = rest.pop()
                taken = min(size, count)
                if size % taken or count % taken:
                    return None
                low = count // taken
                digits.append(Digit(dim, stride * low, taken))
                if low > 1:
                    rest.append(Digit(dim, stride, low))
                size //= taken
            view.append(tuple(digits))
        return Box(self.first, view, folded=True)

    def place(self, shape: tuple[int, ...]) -> Place | None:
        """Where it lies in a buffer of this shape; None if it is no box of it."""
        if self.folded:
            return self._folded(shape)
        dims = self._dims(len(shape))
        row: list[int] = [BOX]
        inside = True
        for (start, size, stride), limit in zip(dims, shape, strict=True):
            row += (start, size, stride)
            last = start + (size - 1) * stride
            inside = inside and size > 0 and start >= 0 and last < limit
        place = Place(tuple(row), self.shape)
        order = [digits[0].dim for digits in self.view]
        kept = sorted(order)
        if inside:
            place.index = tuple(
                slice(start, start + (size - 1) * stride + 1, stride)
                if dim in kept
                else start
                for dim, (start, size, stride) in enumerate(dims)
            )
        else:
            place.index, place.inside = _clipped(dims, shape, kept)
        if kept != order:
            place.axes = tuple(kept.index(dim) for dim in order)
        place.fast = inside and place.axes is None
        return place

    def _dims(self, rank: int) -> list[tuple[int, int, int]]:
        """Start, size and stride in the buffer's dimensions; one digit in each."""
        of = {digits[0].dim: digits[0] for digits in self.view}
        dims = list[tuple[int, int, int]]()
        for dim in range(rank):
            _, stride, size = of.get(dim, Digit(dim, 1, 1))
            dims.append((self.first[dim], size, stride))
        return dims

    def _folded(self, shape: tuple[int, ...]) -> Place | None:
        """A reshaped view, if it lies inside of the buffer."""
        digits = [d for one in self.view for d in one if d.size > 1]
        order = sorted(range(len(digits)), key=lambda n: _weight(digits[n]))
        row: list[int] = [BOX]
        index: list[slice] = []
        for dim, (first, limit) in enumerate(zip(self.first, shape, strict=True)):
            stride, size = 1, 1
            for digit in (digits[n] for n in reversed(order) if digits[n].dim == dim):
                if size > 1 and digit.stride != stride * size:
                    return None
                stride = stride if size > 1 else digit.stride
                size *= digit.size
            end = first + (size - 1) * stride + 1
            if first < 0 or end > limit:
                return None
            row += (first, size, stride)
            index.append(slice(first, end, stride))
        place = Place(tuple(row), self.shape)
        place.index = tuple(index)
        place.fold = Fold(
            tuple(row[2::3]),
            tuple(digits[n].size for n in order),
            tuple(map(int, np.argsort(order))),
            self.shape,
        )
        return place

    def numbers(self, shape: tuple[int, ...]) -> np.ndarray:
        """Flat element numbers in view order; -1 outside the buffer."""
        dims = self._dims(len(shape))
        flat, ok = np.zeros((), np.int64), np.ones((), bool)
        for (start, size, stride), limit in zip(dims, shape, strict=True):
            at = start + np.arange(size, dtype=np.int64) * stride
            flat = flat[..., None] * limit + at
            ok = ok[..., None] & (at >= 0) & (at < limit)
        flat = np.where(ok, flat, -1)
        order = [digits[0].dim for digits in self.view]
        kept = sorted(order)
        flat = flat[tuple(slice(None) if d in kept else 0 for d in range(len(shape)))]
        return flat.transpose([kept.index(dim) for dim in order])


def _size(digits: tuple[Digit, ...]) -> int:
    return math.prod(digit.size for digit in digits)


def _weight(digit: Digit) -> tuple[int, int]:
    """What comes first in the buffer."""
    return digit.dim, -digit.stride


def _narrowed(
    first: list[int], digits: tuple[Digit, ...], start: int, size: int, step: int
) -> tuple[Digit, ...] | None:
    """The digits that count `size` steps from `start` on; moves `first` there."""
    kept: list[Digit] = []
    rest = list(digits)
    while rest:
        dim, stride, count = rest.pop()
        if not rest:  # the most significant one, which may go past its end
            first[dim] += start * stride
            kept.append(Digit(dim, stride * step, size))
        elif size % count == 0 and start % count == 0 and step == 1:
            kept.append(Digit(dim, stride, count))
            start, size = start // count, size // count
        elif start // count == (start + (size - 1) * step) // count:
            first[dim] += start % count * stride
            kept.append(Digit(dim, stride * step, size))
            start, size, step = start // count, 1, 1
        else:
            return None
    return tuple(reversed(kept))


def _clipped(
    dims: list[tuple[int, int, int]], shape: tuple[int, ...], kept: list[int]
) -> tuple[Any, Inside]:
    """The part of a box inside the buffer."""
    source, target, squeeze = [], [], []
    for dim, (start, size, stride) in enumerate(dims):
        first, begin, count = clip((start, size, stride), shape[dim])
        begin = begin if count else 0
        end = begin + (count - 1) * stride + 1 if count else 0
        source.append(slice(begin, end, stride))
        target.append(slice(first, first + count))
        squeeze.append(slice(None) if dim in kept else 0)
    sizes = tuple(size for _, size, _ in dims)
    return tuple(source), Inside(sizes, tuple(target), tuple(squeeze))
