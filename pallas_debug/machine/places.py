"""From an access with its traced indices to a `Place`: boxes where possible.

A chain of indexers and transposes composes to one box of the buffer; reshapes, casts
and gathers fall back to explicit element numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.machine.elements import elements
from pallas_debug.machine.memory import (
    BOX,
    Inside,
    Place,
    Window,
)
from pallas_debug.machine.quick import locator, scalar
from pallas_debug.trace.regions import clip


class Plan:
    """A compiled access: `place(...)` is cached by reference origin and indices."""

    __slots__ = ("access", "cache", "constants", "quick", "steps")

    def __init__(self, access: ir.Access) -> None:
        self.access = access
        self.steps = access.steps
        self.cache: dict[Any, Any] = {}
        self.constants = dynamic_slots(access)
        self.quick = locator(access.steps)

    def locate(
        self, shape: tuple[int, ...], dtype: np.dtype, ref: Any, dyn: Sequence[Any]
    ) -> Place:
        """Computes the place; `dyn` are the values of the traced operands in order."""
        window = ref if isinstance(ref, Window) else None
        place = None
        if window is None and self.quick is not None:
            place = self.quick(shape, *dyn)
        elif window is not None and not self.steps and not window.squeezed:
            place = _plain(window, shape)
        if place is not None:
            return place
        box = _Box.whole(shape) if window is None else _Box.window(window)
        values = iter(dyn)
        for number, step in enumerate(self.steps):
            if isinstance(step, ir.Index):
                indices = [_resolve(dim, values) for dim in step.dims]
                if any(kind == "gather" for kind, *_ in indices):
                    rest = [(step, indices), *_bind(self.steps[number + 1 :], values)]
                    return elements(shape, dtype, box.numbers(shape), rest)
                box = box.index(indices)
            elif isinstance(step, ir.Transpose):
                box = box.transpose(step.permutation)
            elif isinstance(step, (ir.Peer, ir.Multicast)) or (
                isinstance(step, ir.Reshape) and box.shape == step.shape
            ):
                continue
            else:
                rest = _bind(self.steps[number:], values)
                return elements(shape, dtype, box.numbers(shape), rest)
        return box.place(shape)


def _plain(ref: Window, shape: tuple[int, ...]) -> Place | None:
    """A window that lies inside its buffer: the common case, without detours."""
    row, index = [BOX], []
    for start, size, limit in zip(ref.origin, ref.sizes, shape, strict=True):
        if start < 0 or start + size > limit:
            return None
        row += (start, size, 1)
        index.append(slice(start, start + size))
    place = Place(tuple(row), ref.sizes)
    place.index, place.fast = tuple(index), True
    return place


def dynamic_slots(access: ir.Access) -> tuple[ir.Operand, ...]:
    """Traced index operands in the order in which `locate` consumes them."""
    found: list[ir.Operand] = []
    for step in access.steps:
        if isinstance(step, ir.Index):
            for dim in step.dims:
                found.append(dim.start if isinstance(dim, ir.Slice) else dim.index)
                if isinstance(dim, ir.Slice) and dim.size_operand is not None:
                    found.append(dim.size_operand)
    return tuple(found)


def _resolve(dim: Any, values: Any) -> tuple:
    """`("slice", start, size, stride)`, `("at", i)` or `("gather", array)`."""
    if isinstance(dim, ir.Slice):
        start = scalar(next(values))
        size = dim.size
        if dim.size_operand is not None:
            size = scalar(next(values))
        return ("slice", start, size, dim.stride)
    if isinstance(dim, ir.At):
        return ("at", scalar(next(values)))
    return ("gather", np.asarray(next(values)))


def _bind(steps: Sequence[ir.ViewStep], values: Any) -> list[tuple]:
    bound = []
    for step in steps:
        indices = None
        if isinstance(step, ir.Index):
            indices = [_resolve(dim, values) for dim in step.dims]
        bound.append((step, indices))
    return bound


# A reference with its views, ready to be read or written: a buffer number or a `Window`,
# the plan, the values of the traced indices. A bare tuple, since each access makes one.
Target = tuple[Any, Plan, tuple[Any, ...]]


class _Box:
    """A box of a buffer and how the view's dimensions map to the buffer's."""

    __slots__ = ("dims", "order")

    def __init__(self, dims: list[tuple[int, int, int]], order: list[int]) -> None:
        self.dims = dims
        self.order = order

    @classmethod
    def whole(cls, shape: tuple[int, ...]) -> _Box:
        return cls([(0, size, 1) for size in shape], list(range(len(shape))))

    @classmethod
    def window(cls, ref: Window) -> _Box:
        dims = [(start, size, 1) for start, size in zip(ref.origin, ref.sizes)]  # noqa: B905
        return cls(dims, [d for d in range(len(dims)) if d not in ref.squeezed])

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.dims[d][1] for d in self.order)

    def index(self, indices: list[tuple]) -> _Box:
        dims, order = list(self.dims), []
        for d, index in zip(self.order, indices, strict=True):
            start, _, stride = dims[d]
            if index[0] == "at":
                dims[d] = (start + index[1] * stride, 1, 1)
            else:
                _, first, size, step = index
                dims[d] = (start + first * stride, size, stride * step)
                order.append(d)
        return _Box(dims, order)

    def transpose(self, permutation: Sequence[int]) -> _Box:
        return _Box(self.dims, [self.order[p] for p in permutation])

    def place(self, shape: tuple[int, ...]) -> Place:
        row: list[int] = [BOX]
        inside = True
        for (start, size, stride), limit in zip(self.dims, shape, strict=True):
            row += (start, size, stride)
            last = start + (size - 1) * stride
            inside = inside and size > 0 and start >= 0 and last < limit
        place = Place(tuple(row), self.shape)
        kept = sorted(self.order)
        if inside:
            place.index = tuple(
                slice(start, start + (size - 1) * stride + 1, stride)
                if d in kept
                else start
                for d, (start, size, stride) in enumerate(self.dims)
            )
        else:
            place.index, place.inside = self._clipped(shape, kept)
        if kept != self.order:
            place.axes = tuple(kept.index(d) for d in self.order)
        place.fast = inside and place.axes is None
        return place

    def _clipped(self, shape: tuple[int, ...], kept: list[int]) -> tuple[Any, Inside]:
        source, target, squeeze = [], [], []
        for d, (start, size, stride) in enumerate(self.dims):
            first, begin, count = clip((start, size, stride), shape[d])
            begin = begin if count else 0
            end = begin + (count - 1) * stride + 1 if count else 0
            source.append(slice(begin, end, stride))
            target.append(slice(first, first + count))
            squeeze.append(slice(None) if d in kept else 0)
        sizes = tuple(size for _, size, _ in self.dims)
        return tuple(source), Inside(sizes, tuple(target), tuple(squeeze))

    def numbers(self, shape: tuple[int, ...]) -> np.ndarray:
        """Flat element numbers in view order; -1 outside the buffer."""
        flat = np.zeros((), np.int64)
        ok = np.ones((), bool)
        for (start, size, stride), limit in zip(self.dims, shape, strict=True):
            at = start + np.arange(size, dtype=np.int64) * stride
            flat = flat[..., None] * limit + at
            ok = ok[..., None] & (at >= 0) & (at < limit)
        flat = np.where(ok, flat, -1)
        kept = sorted(self.order)
        flat = flat[tuple(slice(None) if d in kept else 0 for d in range(len(shape)))]
        return flat.transpose([kept.index(d) for d in self.order])
