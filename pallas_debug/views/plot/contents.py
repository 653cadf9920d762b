"""What a buffer held before an event: values, and what is no value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pallas_debug import errors
from pallas_debug.accepted import whole
from pallas_debug.trace import Trace, fold
from pallas_debug.trace.query import about_a_buffer
from pallas_debug.views.plot import style

MOST_CELLS = 1024  # rows and columns that are drawn

# What an element can be instead of a value: its color and pattern.
ODD: dict[str, tuple[str, str]] = {
    "unset": ("white", "////"),
    "not recorded": (style.PALE, "...."),
    "NaN": (style.VERMILION, "xxxx"),
    "inf": (style.PURPLE, "++++"),
}


class Scale(NamedTuple):
    """A color map and the range of values that it spans."""

    colors: str
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Contents:
    """A plane of a buffer at a moment, or a line where it has no two dimensions.

    Attributes:
      values: What can be drawn; of a large plane every so manyth row and column.
      odd: 0 for a value, else one more than the place in `ODD`.
      counts: How many elements are odd in each way, of all of them.
      steps: The distance of the rows and columns that are drawn.
      name: What it is.
      where: Type, space, owner and moment.
      verb: What the last event did to it, if it was about it.
      hit: The elements that this event touched.
    """

    values: np.ndarray
    odd: np.ndarray
    counts: tuple[int, ...]
    steps: tuple[int, ...]
    name: str
    where: str
    verb: str
    hit: np.ndarray | None

    @property
    def scale(self) -> Scale:
        """Color map and range: around zero where there are both signs."""
        return scale_of(self.values[self.odd == 0])


def contents(
    trace: Trace, name: Any, at: int | None, index: Sequence[int] | None = None
) -> Contents:
    """What a buffer held before event `at`; arguments as those of `buffer`."""
    moment = style.moment_of(trace, at)
    number = _instance(trace, name, moment)
    row = trace.buffer_rows[number]
    place = _index(index, row.shape)
    held = fold.memory(trace, number, moment)
    values = _numbers(held.values)[place]
    known = fold.recorded(trace, number, moment)[place]
    odd = _odd(values, held.initialized[place], known)
    inside = "".join(f"{i}, " for i in place) + ", ".join([":"] * values.ndim)
    short = style.brief(row.name, 40)
    steps = (1,) * values.ndim
    if values.ndim == 2:
        steps = tuple(max(math.ceil(size / MOST_CELLS), 1) for size in values.shape)
    part = tuple(slice(None, None, step) for step in steps)
    verb, hit = _touched(trace, number, moment, place) or ("", None)
    return Contents(
        values=values[part],
        odd=odd[part],
        counts=tuple(int((odd == n).sum()) for n in range(1, len(ODD) + 1)),
        steps=steps,
        name=f"{short}[{inside}]" if row.shape else short,
        where=f"{row.dtype}, {row.space} of {trace.buffers[number].owner}, "
        f"before event {moment:,}",
        verb=verb,
        hit=None if hit is None else hit[part],
    )


def _instance(trace: Trace, name: Any, moment: int) -> int:
    """The row of a buffer; of several instances the one that was touched last."""
    rows = enumerate(trace.buffer_rows if isinstance(name, str) else ())
    named = [i for i, row in rows if row.name == name]
    if len(named) < 2:
        return fold.buffer_number(trace, name)
    touched = trace.events.where(buffer=name)
    before = touched[touched < moment]
    return int(trace.columns.object[before[-1]]) if len(before) else named[0]


def _index(index: Sequence[int] | None, shape: tuple[int, ...]) -> tuple[int, ...]:
    outer = shape[: max(len(shape) - 2, 0)]
    if index is None:
        return (0,) * len(outer)
    words = f"{len(outer)} places below {outer}" if outer else "nothing"
    given = [] if isinstance(index, str) or not np.iterable(index) else [*index]
    place = tuple(whole("index", i, words, low=0) for i in given)
    inside = all(i < size for i, size in zip(place, outer, strict=False))
    if len(place) != len(outer) or not np.iterable(index) or not inside:
        raise errors.BadOption(option="index", value=index, accepted=words)
    return place


def _numbers(values: np.ndarray) -> np.ndarray:
    """Values that can be drawn; of complex ones the size."""
    if values.dtype.kind == "c":
        return np.abs(values)
    return values.astype(np.float64)


def _odd(
    values: np.ndarray, initialized: np.ndarray, recorded: np.ndarray
) -> np.ndarray:
    """0 for a value, else one more than the place in `ODD`."""
    return np.select(
        [~initialized, ~recorded, np.isnan(values), np.isinf(values)], [1, 2, 3, 4], 0
    )


def scale_of(values: np.ndarray) -> Scale:
    """The scale of values that are all finite."""
    low, high = (
        (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    )
    if low < 0 < high:
        most = max(-low, high)
        return Scale(style.SIGNED, -most, most)
    return Scale(style.AMOUNTS, low, high if high > low else low + 1)


def _touched(
    trace: Trace, number: int, moment: int, place: tuple[int, ...]
) -> tuple[str, np.ndarray] | None:
    """What the last event did to the buffer, and to which elements of the plane."""
    if moment == 0 or not about_a_buffer(trace, np.array([moment - 1]))[0]:
        return None
    event = trace[moment - 1]
    roots = fold.roots(trace)
    if event.region is None or roots[event.column("object")] != roots[number]:
        return None
    shape = trace.buffer_rows[number].shape
    hit = np.zeros(shape, bool)
    hit.reshape(-1)[event.region.flat(shape)] = True
    return event.kind.name.lower(), hit[place]
