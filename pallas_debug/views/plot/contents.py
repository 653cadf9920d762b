"""What a buffer held before an event: values, and what is no value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pallas_debug import errors
from pallas_debug.trace import Trace, fold
from pallas_debug.trace.query import about_a_buffer
from pallas_debug.views.plot import style

MOST_NUMBERS = 12  # rows and columns up to which numbers are written
MOST_CELLS = 1024  # rows and columns that are drawn

# What an element can be instead of a value: its color and pattern.
ODD: dict[str, tuple[str, str]] = {
    "unset": ("white", "////"),
    "not recorded": (style.PALE, "...."),
    "NaN": (style.VERMILION, "xxxx"),
    "inf": (style.PURPLE, "++++"),
}


def buffer(
    trace: Trace,
    name: Any,
    *,
    at: int | None = None,
    index: Sequence[int] | None = None,
) -> Any:
    """The contents of a buffer as an image; of one dimension, as a line.

    Unset elements, NaN and infinities are visible as such; the access at event
    `at - 1`, if it is one to this buffer, is framed.

    Args:
      trace: What was recorded.
      name: The buffer: its name, number, or entry of `trace.buffers`. Of several with
        one name it is the one that was touched last.
      at: The event before which it is looked at; the end where it is None.
      index: Places in the first dimensions, where it has more than two; zeros by
        default.
    """
    moment = len(trace) if at is None else at
    if not 0 <= moment <= len(trace):
        raise errors.BadOption(option="at", value=at, accepted=f"0 … {len(trace)}")
    number = _instance(trace, name, moment)
    row = trace.buffer_rows[number]
    place = _index(index, row.shape)
    held = fold.memory(trace, number, moment)
    values = _numbers(held.values)[place]
    odd = _odd(
        values, held.initialized[place], fold.recorded(trace, number, moment)[place]
    )
    inside = "".join(f"{i}, " for i in place) + ", ".join([":"] * values.ndim)
    name = style.brief(row.name, 40)
    title = f"{name}[{inside}]" if row.shape else name
    owner = trace.buffers[number].owner
    words = f"{title}\n{row.dtype}, {row.space} of {owner}, before event {moment:,}"
    if values.ndim == 2:
        made = _image(values, odd, words, _touched(trace, number, moment, place))
    else:
        made = _line(values.reshape(-1), odd.reshape(-1), words)
    return made


def _instance(trace: Trace, name: Any, moment: int) -> int:
    """The row of a buffer; of several instances the one that was touched last."""
    named = [i for i, row in enumerate(trace.buffer_rows) if row.name == name]
    if len(named) < 2:
        return fold.buffer_number(trace, name)
    touched = trace.events.where(buffer=name)
    before = touched[touched < moment]
    return int(trace.columns.object[before[-1]]) if len(before) else named[0]


def _index(index: Sequence[int] | None, shape: tuple[int, ...]) -> tuple[int, ...]:
    outer = shape[: max(len(shape) - 2, 0)]
    place = (0,) * len(outer) if index is None else tuple(int(i) for i in index)
    if len(place) != len(outer) or any(
        not 0 <= i < size for i, size in zip(place, outer, strict=True)
    ):
        accepted = f"{len(outer)} places below {outer}" if outer else "nothing"
        raise errors.BadOption(option="index", value=index, accepted=accepted)
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


def _scale(values: np.ndarray) -> tuple[str, float, float]:
    """Color map and range: around zero where there are both signs."""
    low, high = (
        (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    )
    if low < 0 < high:
        most = max(-low, high)
        return style.SIGNED, -most, most
    return style.AMOUNTS, low, high if high > low else low + 1


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


def _image(
    values: np.ndarray,
    odd: np.ndarray,
    title: str,
    touched: tuple[str, np.ndarray] | None,
) -> Any:
    steps = [max(math.ceil(size / MOST_CELLS), 1) for size in values.shape]
    part = tuple(slice(None, None, step) for step in steps)
    values, odd = values[part], odd[part]
    rows, columns = values.shape
    colors, low, high = _scale(values[odd == 0])
    height = min(max(style.WIDTH * 0.72 * rows / max(columns, 1), 0.5), 6) + 1.1
    with style.figure(height) as made:
        axes = made.subplots()
        shown = np.where(odd == 0, values, np.nan)
        image = axes.imshow(
            shown, cmap=colors, vmin=low, vmax=high, aspect="auto", interpolation="none"
        )
        _mark_odd(axes, odd)
        if rows <= MOST_NUMBERS and columns <= MOST_NUMBERS:
            _write(axes, image, shown)
        bar = made.colorbar(image, ax=axes, aspect=25)
        bar.set_label("value")
        bar.outline.set_linewidth(0.4)
        axes.set_xlabel("last dimension" + f" (every {steps[1]}th)" * (steps[1] > 1))
        axes.set_ylabel("row" + f" (every {steps[0]}th)" * (steps[0] > 1))
        style.integer_ticks(axes.xaxis)
        style.integer_ticks(axes.yaxis)
        axes.set_title(title)
        if touched is not None and touched[1][part].any():
            _frame(axes, *touched[1:], part)
            axes.set_title(f"{title}; framed: its last {touched[0]}")
        _key(made, odd)
    return made


def _mark_odd(axes: Any, odd: np.ndarray) -> None:
    """Elements that are no value, with a pattern of their own."""
    for number, (color, hatch) in enumerate(ODD.values(), 1):
        mask = (odd == number).repeat(2, axis=0).repeat(2, axis=1)
        if not mask.any():
            continue
        # Each cell by its two edges, so that the outline follows the cells.
        edges = [
            np.stack([np.arange(size) - 0.5, np.arange(size) + 0.5], axis=1).ravel()
            for size in odd.shape[::-1]
        ]
        drawn = axes.contourf(
            *edges, mask.astype(float), [0.5, 1.5], colors=[color], hatches=[hatch]
        )
        drawn.set_edgecolor(style.GRAY)
        drawn.set_linewidth(0)


def _write(axes: Any, image: Any, shown: np.ndarray) -> None:
    for (row, column), value in np.ndenumerate(shown):
        if np.isnan(value):
            continue
        red, green, blue, _ = image.cmap(image.norm(value))
        light = 0.3 * red + 0.6 * green + 0.1 * blue > 0.55
        color = style.INK if light else "white"
        text = f"{value:.3g}"
        axes.text(column, row, text, color=color, ha="center", va="center", fontsize=6)


def _frame(axes: Any, hit: np.ndarray, part: tuple[slice, ...]) -> None:
    from matplotlib.patches import Rectangle

    rows, columns = (np.flatnonzero(hit[part].any(axis=axis)) for axis in (1, 0))
    corner = (columns[0] - 0.5, rows[0] - 0.5)
    size = (columns[-1] - columns[0] + 1, rows[-1] - rows[0] + 1)
    axes.add_patch(
        Rectangle(corner, *size, fill=False, ec=style.VERMILION, lw=1.8, clip_on=False)
    )


def _line(values: np.ndarray, odd: np.ndarray, title: str) -> Any:
    with style.figure(2.2) as made:
        axes = made.subplots()
        at = np.arange(len(values))
        good = np.where(odd == 0, values, np.nan)
        axes.step(at, good, where="mid", color=style.BLUE, lw=0.9)
        axes.plot(at, good, ".", color=style.BLUE, ms=3 if len(at) < 200 else 1)
        for number, (color, hatch) in enumerate(ODD.values(), 1):
            for begin, end in _runs(odd == number):
                axes.axvspan(
                    begin - 0.5, end - 0.5, fc=color, ec=style.GRAY, lw=0, hatch=hatch
                )
        axes.set_xlim(-0.5, max(len(values), 1) - 0.5)
        axes.set_xlabel("element")
        axes.set_ylabel("value")
        style.integer_ticks(axes.xaxis)
        axes.set_title(title)
        _key(made, odd)
    return made


def _runs(mask: np.ndarray) -> list[tuple[int, int]]:
    """Where a mask is true: first, and one past the last."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]])))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def _key(made: Any, odd: np.ndarray) -> None:
    from matplotlib.patches import Patch

    seen = [number for number in range(1, len(ODD) + 1) if (odd == number).any()]
    if not seen:
        return
    looks = list(ODD.values())
    handles = [
        Patch(fc=looks[n - 1][0], hatch=looks[n - 1][1], ec=style.GRAY, lw=0.4)
        for n in seen
    ]
    names = [f"{list(ODD)[n - 1]} ({np.count_nonzero(odd == n):,})" for n in seen]
    made.legend(handles, names, loc="outside lower left", ncols=len(seen))
