"""Draws the contents of a buffer: an image of two dimensions, or a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pallas_debug.trace import Trace
from pallas_debug.views.plot import style
from pallas_debug.views.plot.contents import ODD, Contents, Scale, contents

MOST_NUMBERS = 12  # rows and columns up to which numbers are written


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
    held = contents(trace, name, at, index)
    if held.values.ndim != 2:
        return _line_figure(held)
    rows, columns = held.values.shape
    height = min(max(style.WIDTH * 0.72 * rows / max(columns, 1), 0.5), 6) + 1.1
    with style.figure(height) as made:
        axes = made.subplots()
        bar = made.colorbar(fill(axes, held, held.scale), ax=axes, aspect=25)
        bar.set_label("value")
        bar.outline.set_linewidth(0.4)
        key(made, held.counts)
    return made


def _line_figure(held: Contents) -> Any:
    with style.figure(2.2) as made:
        fill(made.subplots(), held, held.scale)
        key(made, held.counts)
    return made


def fill(axes: Any, held: Contents, scale: Scale) -> Any:
    """Draws contents into axes; gives the image, None for a line."""
    title = f"{held.name}\n{held.where}"
    if held.values.ndim != 2:
        _line(axes, held.values.reshape(-1), held.odd.reshape(-1))
        axes.set_title(title)
        return None
    shown = np.where(held.odd == 0, held.values, np.nan)
    colors, low, high = scale
    image = axes.imshow(
        shown, cmap=colors, vmin=low, vmax=high, aspect="auto", interpolation="none"
    )
    _mark_odd(axes, held.odd)
    if max(shown.shape) <= MOST_NUMBERS:
        _write(axes, image, shown)
    down, across = held.steps
    axes.set_xlabel("last dimension" + f" (every {across}th)" * (across > 1))
    axes.set_ylabel("row" + f" (every {down}th)" * (down > 1))
    style.integer_ticks(axes.xaxis)
    style.integer_ticks(axes.yaxis)
    axes.set_title(title)
    if held.hit is not None and held.hit.any():
        _frame(axes, held.hit)
        axes.set_title(f"{title}; framed: its last {held.verb}")
    return image


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


def _frame(axes: Any, hit: np.ndarray) -> None:
    from matplotlib.patches import Rectangle

    rows, columns = (np.flatnonzero(hit.any(axis=axis)) for axis in (1, 0))
    corner = (columns[0] - 0.5, rows[0] - 0.5)
    size = (columns[-1] - columns[0] + 1, rows[-1] - rows[0] + 1)
    axes.add_patch(
        Rectangle(corner, *size, fill=False, ec=style.VERMILION, lw=1.8, clip_on=False)
    )


def _line(axes: Any, values: np.ndarray, odd: np.ndarray) -> None:
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


def _runs(mask: np.ndarray) -> list[tuple[int, int]]:
    """Where a mask is true: first, and one past the last."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]])))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def key(made: Any, counts: Sequence[int]) -> Any:
    """A legend of what is no value, with how many there are of each; None for none."""
    from matplotlib.patches import Patch

    seen = [number for number, count in enumerate(counts) if count]
    if not seen:
        return None
    looks = list(ODD.values())
    handles = [
        Patch(fc=looks[n][0], hatch=looks[n][1], ec=style.GRAY, lw=0.4) for n in seen
    ]
    names = [_counted(n, counts) for n in seen]
    return made.legend(handles, names, loc="outside lower left", ncols=len(seen))


def recount(legend: Any, named: Sequence[int], counts: Sequence[int]) -> None:
    """Writes new counts into a legend that `key` made for `named`."""
    seen = [number for number, count in enumerate(named) if count]
    for number, text in zip(seen, legend.get_texts(), strict=True):
        text.set_text(_counted(number, counts))


def _counted(number: int, counts: Sequence[int]) -> str:
    return f"{list(ODD)[number]} ({counts[number]:,})"
