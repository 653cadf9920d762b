"""A part of a buffer as a person writes it, `[0:4, 2]`, and which regions touch it.

Exact for strided boxes, masks and sets of elements; nothing outside the buffer counts.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np

from pallas_debug import errors
from pallas_debug.accepted import is_whole
from pallas_debug.trace.schema import RegionKind

if TYPE_CHECKING:
    from pallas_debug.trace.trace import Trace

Side = int | slice | EllipsisType
Box = tuple[Side, ...]
Extents = tuple[tuple[int, int], ...]  # first and one past the last, by dimension

ACCEPTED = 'a subscript such as "[0:4, 2]": numbers, `a:b`, `:` and `...`'
_DIMENSION = re.compile(r"(-?\d+)|(-?\d+)?\s*:\s*(-?\d+)?")


def box_of(value: Any) -> Box:
    """A box from its text, or from what NumPy takes: a number, a slice, or several."""
    if isinstance(value, str):
        return _parsed(value)
    try:
        sides = [value] if _is_side(value) else [*value]
    except TypeError:  # nothing to go through
        raise _refused(value) from None
    if not all(map(_is_side, sides)) or sum(side is ... for side in sides) > 1:
        raise _refused(value)
    return tuple(map(_plain, sides))


def _is_side(value: Any) -> bool:
    if isinstance(value, slice):
        numbers = [n for n in (value.start, value.stop, value.step) if n is not None]
        return all(map(is_whole, numbers)) and value.step in (None, 1)
    return value is ... or is_whole(value)


def _plain(side: Any) -> Side:
    """NumPy's numbers as Python's."""
    if isinstance(side, slice):
        ends = (side.start, side.stop)
        return slice(*(None if end is None else operator.index(end) for end in ends))
    return side if side is ... else operator.index(side)


def _parsed(text: str) -> Box:
    inner = text.strip()
    if inner[:1] == "[" and inner[-1:] == "]":
        inner = inner[1:-1]
    sides: list[Side] = []
    for part in inner.split(",") if inner.strip() else ():
        if part.strip() == "..." and ... not in sides:
            sides.append(...)
            continue
        found = _DIMENSION.fullmatch(part.strip())
        if found is None:
            raise _refused(text)
        number, start, stop = found.groups()
        if number is not None:
            sides.append(int(number))
        else:
            ends = (None if n is None else int(n) for n in (start, stop))
            sides.append(slice(*ends))
    return tuple(sides)


def _refused(value: Any) -> errors.BadOption:
    return errors.BadOption(option="region", value=value, accepted=ACCEPTED)


def text_of(box: Box) -> str:
    """The box as it is written: `[0:4, 2]`."""
    return f"[{', '.join(map(_written, box))}]"


def _written(side: Side) -> str:
    if isinstance(side, slice):
        return ":".join("" if n is None else str(n) for n in (side.start, side.stop))
    return "..." if side is ... else str(side)


def extents(box: Box, shape: Sequence[int]) -> Extents | None:
    """The box inside a buffer of this shape; None if it has more dimensions.

    Dimensions that are not named are whole; negative numbers count from the end.
    """
    written = box if ... in box else (*box, ...)
    unnamed = len(shape) - len(written) + 1
    if unnamed < 0:
        return None
    sides: list[int | slice] = []
    for side in written:
        sides += [slice(None)] * unnamed if side is ... else [side]
    found: list[tuple[int, int]] = []
    for side, size in zip(sides, shape, strict=True):
        if isinstance(side, slice):
            start, stop, _ = side.indices(size)
        else:
            start = side + size if side < 0 else side
            stop = start + 1
        found.append((max(start, 0), min(stop, size)))
    return tuple(found)


def refuse_outside(box: Box, shapes: Sequence[Sequence[int]]) -> None:
    """Refuses a box that has nothing in a buffer of any of these shapes."""
    parts = [extents(box, shape) for shape in shapes]
    if any(part is not None and all(a < b for a, b in part) for part in parts):
        return
    seen = errors.or_list(tuple(str(tuple(shape)) for shape in shapes))
    accepted = f"indices or slices inside the shape {seen}"
    raise errors.BadOption(option="region", value=text_of(box), accepted=accepted)


def touching(
    trace: Trace, rows: np.ndarray, shape: Sequence[int], box: Extents
) -> np.ndarray:
    """Which rows of the regions table touch a box of a buffer of this shape."""
    result = np.zeros(len(rows), bool)
    known = np.flatnonzero(rows >= 0)
    if any(start >= stop for start, stop in box) or not len(known):
        return result
    kinds = trace.regions.kind[rows[known]]
    for number in known[kinds != RegionKind.BOX]:
        result[number] = _touches(trace, int(rows[number]), shape, box)
    boxes = known[kinds == RegionKind.BOX]
    lengths = np.diff(trace.regions.offsets)[rows[boxes]]
    boxes = boxes[lengths == 1 + 3 * len(shape)]
    spans = trace.regions.spans(rows[boxes], len(shape))
    result[boxes] = _overlapping(spans, box)
    return result


def _overlapping(spans: np.ndarray, box: Extents) -> np.ndarray:
    """For each box whether one of its elements lies in the extents."""
    result = np.ones(len(spans), bool)
    for (low, high), span in zip(box, np.moveaxis(spans, 1, 0), strict=True):
        start, size, stride = span[:, 0], span[:, 1], np.maximum(span[:, 2], 1)
        first = np.maximum(-((start - low) // stride), 0)  # the first one from low on
        result &= (first < size) & (start + first * stride < high)
    return result


def _touches(trace: Trace, row: int, shape: Sequence[int], box: Extents) -> bool:
    region = trace.region(row)
    numbers = region.flat(tuple(shape))
    if not len(numbers):
        return False
    if not shape:
        return True
    places = np.unravel_index(numbers, tuple(shape))
    inside = np.ones(len(numbers), bool)
    for place, (low, high) in zip(places, box, strict=True):
        inside &= (place >= low) & (place < high)
    return bool(inside.any())
