"""What is the same at every grid point for an operand with a window: where blocks lie."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from pallas_debug import ir
from pallas_debug.machine.memory import Place
from pallas_debug.machine.quick import locator
from pallas_debug.machine.step import Step

Box = tuple[tuple[int, ...], tuple[int, ...]]


class Slot:
    """What is the same at every grid point for one operand of a launch.

    Attributes:
      key: Where its window is kept among a thread's notes.
      box: From the block's indices to its box in the array.
      places: Boxes that can be copied as they are, by box; the same for all arrays
        of one shape.
      whole: The place of the whole window.
    """

    __slots__ = ("_inside", "box", "key", "places", "whole")

    def __init__(
        self, key: Any, dims: tuple, whole: Place, places: dict[Box, Place]
    ) -> None:
        self.key = key
        self.box = box_function(dims)
        self.places = places
        self.whole = whole
        self._inside = _locator(dims)

    def place(self, box: Box, shape: tuple[int, ...]) -> Place | None:
        """Where a block of one size lies in an array, None if not all of it does.

        Its region gets a number when it is used.
        """
        place = self.places.get(box)
        if place is None:
            place = self._inside(shape, *box[0])
            if place is not None:
                self.places[box] = place
        return place


@cache
def _locator(dims: tuple) -> Any:
    """From the shape of an array and a block's origin to its place."""
    sizes = [1 if dim[0] == "squeezed" else dim[1] for dim in dims]
    slices = tuple(ir.Slice(start=ir.Reg(0), size=size) for size in sizes)
    return locator((ir.Index(dims=slices),)) or (lambda *_: None)


def slot_of(m: Step, array: int, slot: int, decl: ir.Buffer, dims: tuple) -> Slot:
    places = m.slots.setdefault(("places", m.data(array).shape), {})
    made = Slot(("window", slot), dims, m.all_of(decl.shape), places)
    m.slots[slot] = made
    return made


@cache
def box_function(dims: tuple) -> Any:
    """A function of the indices to first element and size in each dimension.

    A dim is `("blocked", size)`, `("squeezed",)`, `("element", size, low padding)` or
    `("bounded", most)`, whose index is a start and a size.
    """
    names = [
        name
        for d, dim in enumerate(dims)
        for name in (f"i{d}", *[f"n{d}"] * (dim[0] == "bounded"))
    ]
    return eval(f"lambda {', '.join(names)}: {box_text(dims, names)}")


def box_text(dims: tuple, indices: Iterable[str]) -> str:
    """The box of a block as a Python expression."""
    given, origin, sizes = iter(indices), [], []
    for dim in dims:
        origin.append(f"{first_text(dim, next(given))}, ")
        size = f"int({next(given)})" if dim[0] == "bounded" else 1
        sizes.append(f"{size if dim[0] in ('bounded', 'squeezed') else dim[1]}, ")
    return f"(({''.join(origin)}), ({''.join(sizes)}))"


def first_text(dim: tuple, index: str) -> str:
    """A block's first element in a dimension as a Python expression."""
    scale = f" * {dim[1]}" if dim[0] == "blocked" else ""
    shift = f" - {dim[2]}" if dim[0] == "element" else ""
    return f"int({index}){scale}{shift}"
