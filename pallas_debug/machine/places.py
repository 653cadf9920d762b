"""From an access with its traced indices to a `Place`: boxes where possible.

A chain of indexers, transposes and most reshapes composes to one box of the buffer;
casts and gathers fall back to explicit element numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.machine.boxes import Box
from pallas_debug.machine.elements import elements, elements_of_whole
from pallas_debug.machine.memory import BOX, Place, Window
from pallas_debug.machine.quick import locator, scalar

MOST_KEPT = 64  # places that a plan keeps for another writer


class Plan:
    """A compiled access.

    Attributes:
      cache: Places by reference origin and indices, with one writer's numbers.
      kept: Some of them for the next writer, who numbers them anew.
    """

    __slots__ = ("access", "cache", "constants", "kept", "quick", "steps")

    def __init__(self, access: ir.Access) -> None:
        self.access = access
        self.steps = access.steps
        self.cache: dict[Any, Any] = {}
        self.kept: dict[Any, Place] = {}
        self.constants = dynamic_slots(access)
        self.quick = locator(access.steps)

    def keep(self, key: Any, place: Place) -> None:
        """For another writer, unless its elements have to be numbered."""
        if place.special is None and len(self.kept) < MOST_KEPT:
            self.kept[key] = place

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
        box = Box.whole(shape) if window is None else Box.window(window)
        bound = _bind(self.steps, iter(dyn))
        # Where element numbers begin if they are needed: as long as it was a plain box.
        plain, rest = box, bound
        for number, (step, indices) in enumerate(bound):
            found = _behind(box, step, indices)
            if found is None:
                break
            box = found
            if not box.folded:
                plain, rest = box, bound[number + 1 :]
        else:
            place = box.place(shape)
            if place is not None:
                return place
        if plain.is_all_of(shape):
            return elements_of_whole(shape, dtype, rest)
        return elements(shape, dtype, plain.numbers(shape), rest)


def _behind(box: Box, step: ir.ViewStep, indices: list[tuple] | None) -> Box | None:
    """The box that one more view shows; None if that is none."""
    if isinstance(step, (ir.Peer, ir.Multicast)):
        return box
    if isinstance(step, ir.Index):
        assert indices is not None
        gathers = any(kind == "gather" for kind, *_ in indices)
        return None if gathers else box.index(indices)
    if isinstance(step, ir.Transpose):
        return box.transpose(step.permutation)
    if isinstance(step, ir.Reshape):
        return box if box.shape == step.shape else box.reshape(step.shape)
    return None


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
