"""The launch grid as an image: what each block did."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pallas_debug import errors
from pallas_debug.accepted import one_of
from pallas_debug.trace import RecordedLaunch, Trace
from pallas_debug.views import bundle_tables
from pallas_debug.views.bundle_schema import WORST
from pallas_debug.views.overview import axis_names
from pallas_debug.views.plot import style
from pallas_debug.views.verdicts import worst

MOST_FACETS = 12
FOLDED = 32  # blocks in a row of a grid with one axis
MOST_LABELED = 64  # blocks that get their number written
COLORS: dict[str, str] = {
    "events": "events",
    "read": "bytes read",
    "written": "bytes written",
    "waits": "waits",
    "order": "first event",
    "findings": "worst finding",
}
LEVELS = (style.PALE, style.SKY, style.YELLOW, style.VERMILION, style.PURPLE)
MARKS = ("", "i", "!", "x", "/")  # the same without colors


def grid(
    trace: Trace, color: str = "events", *, launch: int = 0, report: Any = None
) -> Any:
    """Each block of a launch's grid, colored by what it did.

    Args:
      trace: What was recorded.
      color: `events`, `read`, `written`, `waits`, `order` or `findings`.
      launch: Number of the launch.
      report: What the checks say; needed for `findings`.
    """
    color, report = one_of("color", color, COLORS), style.report_of(report)
    if color == "findings" and report is None:
        accepted = "a report, for color='findings': report=pldb.check(trace)"
        raise errors.BadOption(option="report", value=None, accepted=accepted)
    one = style.launch_of(trace, launch)
    values = _values(trace, one, color, report)
    facets, names = facets_of(values, one)
    shown = facets[:MOST_FACETS]
    rows, columns = shown.shape[1:]
    across = min(len(shown), 4 if columns <= 2 * rows else 1)
    down = math.ceil(len(shown) / across)
    cell = min((style.WIDTH - 1.6) / across / columns, 8 / down / rows, 0.45)
    height = 1 + down * (max(rows * cell, 0.3) + 0.35)
    width = max(min(across * (columns * cell + 0.6) + 1, style.WIDTH), 3.2)
    with style.figure(height, width) as made:
        axes = made.subplots(down, across, squeeze=False)
        for spare in axes.ravel()[len(shown) :]:
            spare.remove()
        image: Any = None
        for number, (panel, part) in enumerate(zip(axes.ravel(), shown, strict=False)):
            image = _draw(panel, part, color, values)
            label(panel, part, one, names[number] if len(facets) > 1 else "")
        _key(made, axes, image, color, values)
        more = len(facets) - len(shown)
        what = COLORS[color] + " per block" * (color not in ("order", "findings"))
        note = f" ({more:,} more planes)" if more else ""
        made.suptitle(style.heading(one, what) + note, x=0.01, ha="left", fontsize=9)
    return made


def _values(
    trace: Trace, launch: RecordedLaunch, color: str, report: Any
) -> np.ndarray:
    """One number for each block, NaN where nothing was recorded."""
    levels = worst(trace, report) if color == "findings" else {}
    table = {
        name.rpartition(".")[2]: np.asarray(column)
        for name, column in bundle_tables.blocks(trace, levels)
    }
    mine = table["launch"] == launch.number
    column = {"order": "first", "findings": "worst"}.get(color, color)
    values = np.full(launch.blocks, np.nan)
    values[table["block"][mine]] = table[column][mine]
    return values


def facets_of(
    values: np.ndarray, launch: RecordedLaunch, folded: int = FOLDED
) -> tuple[np.ndarray, list[str]]:
    """Planes of the last two axes of the grid, and what each is called.

    Axes of size one are no axes. A long grid of one axis is folded: a row goes on in the
    next one, which infinities fill up.
    """
    shape = tuple(size for size in launch.block_shape if size != 1)
    if len(shape) < 2:
        width = min(len(values), folded)
        rows = math.ceil(len(values) / width)
        padded = np.full(rows * width, np.inf)
        padded[: len(values)] = values
        return padded.reshape(1, rows, width), [""]
    outer = shape[:-2]
    names = [f"({', '.join(map(str, index))}, :, :)" for index in np.ndindex(*outer)]
    return values.reshape(-1, *shape[-2:]), names


def _draw(panel: Any, part: np.ndarray, color: str, values: np.ndarray) -> Any:
    part = np.where(np.isfinite(part), part, np.nan)
    if color == "findings":
        from matplotlib.colors import BoundaryNorm, ListedColormap

        colors = ListedColormap(LEVELS)
        norm = BoundaryNorm(np.arange(len(LEVELS) + 1) - 0.5, len(LEVELS))
        image = panel.imshow(part, cmap=colors, norm=norm, aspect="equal")
        for (row, column), level in np.ndenumerate(np.nan_to_num(part).astype(int)):
            if MARKS[level] and values.size <= MOST_LABELED:
                panel.text(column, row, MARKS[level], ha="center", va="center")
        return image
    known = values[np.isfinite(values)]
    low = 0 if color != "order" else known.min(initial=0)
    high = max(known.max(initial=0), low + 1)
    return panel.imshow(part, cmap=style.AMOUNTS, vmin=low, vmax=high, aspect="equal")


def label(panel: Any, part: np.ndarray, launch: RecordedLaunch, name: str) -> None:
    """Names the axes of a plane of the grid, and hatches what was not recorded."""
    first = len(launch.mesh)
    named = [
        name or f"grid axis {axis - first}"
        for axis, name in enumerate(axis_names(launch))
    ]
    axes = zip(named, launch.block_shape, strict=True)
    named = [str(axis) for axis, size in axes if size != 1] or ["the only block"]
    rows, columns = part.shape
    panel.set_xlabel(named[-1])
    panel.set_xticks(_ticks(columns))
    panel.set_yticks(_ticks(rows) if rows > 1 else [])
    if len(named) > 1:
        panel.set_ylabel(named[-2])
    elif rows > 1:
        panel.set_yticks(_ticks(rows), [f"+ {row * columns}" for row in _ticks(rows)])
    panel.set_title(name, fontsize=8)
    for row, column in np.argwhere(np.isnan(part)):
        panel.add_patch(_absent(column, row))


def _ticks(count: int) -> list[int]:
    step = max(math.ceil(count / 8), 1)
    return list(range(0, count, step))


def _absent(column: int, row: int) -> Any:
    """A block that was not recorded: hatched, so that it differs from a zero."""
    from matplotlib.patches import Rectangle

    corner = (column - 0.5, row - 0.5)
    return Rectangle(corner, 1, 1, fill=False, hatch="////", ec=style.GRAY, lw=0)


def _key(made: Any, axes: Any, image: Any, color: str, values: np.ndarray) -> None:
    if color != "findings":
        bar = made.colorbar(image, ax=axes, shrink=0.8, aspect=15)
        bar.set_label(COLORS[color])
        bar.outline.set_linewidth(0.4)
        return
    from matplotlib.patches import Patch

    seen = sorted({int(level) for level in values[np.isfinite(values)]})
    handles = [Patch(fc=LEVELS[level], ec=style.INK, lw=0.4) for level in seen]
    words = [f"{MARKS[level]} {WORST[level]}".strip() for level in seen]
    made.legend(handles, words, loc="outside lower left", ncols=len(seen))
