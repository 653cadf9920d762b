"""What each block of a grid does at a moment: not started, runs, waits, is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pallas_debug.trace import RecordedLaunch, Trace
from pallas_debug.trace.tables import WORKERS
from pallas_debug.views import bundle_tables
from pallas_debug.views.bundle_schema import WORST
from pallas_debug.views.plot import style
from pallas_debug.views.plot.blocks import MARKS, MOST_LABELED
from pallas_debug.views.verdicts import worst

NOT_STARTED, RUNS, WAITS, DONE = range(4)
EMPTY, FINISHED = "#FFFFFF", "#C4C4C4"
NAMES = ("not started", "runs", "waits", "done")
COLORS = (EMPTY, style.BLUE, EMPTY, FINISHED)
HATCH: dict[str, Any] = {"hatch": "/////", "ec": style.VERMILION}
SERIOUS = WORST.index("warning")  # findings from here on get a letter


@dataclass(frozen=True, kw_only=True)
class Course:
    """When the blocks of a launch begin, end, and what their threads do between.

    Attributes:
      first, last: First and last event of each block, beyond the launch and -1 where
        nothing was recorded.
      spans: Rows of block, start, end, and whether it is a wait, of all threads.
      end: The launch's last event.
    """

    first: np.ndarray
    last: np.ndarray
    spans: np.ndarray
    end: int

    def at(self, moment: int) -> np.ndarray:
        """The state of each block before an event, NaN where nothing was recorded."""
        begun = np.where(self.last < moment, DONE, RUNS)
        found = np.where(self.first >= moment, NOT_STARTED, begun).astype(float)
        last = min(moment, self.end) - 1
        now = self.spans[(self.spans[:, 1] <= last) & (last < self.spans[:, 2])]
        asleep, awake = (now[now[:, 3] == waits, 0] for waits in (1, 0))
        found[np.setdiff1d(asleep, awake)] = WAITS
        found[self.last < 0] = np.nan
        return found


def course(trace: Trace, launch: RecordedLaunch) -> Course:
    """The course of a launch's blocks."""
    seen = np.arange(launch.first_event, launch.last_event)
    block = trace.columns.block[seen]
    block, seen = block[block >= 0], seen[block >= 0]
    first = np.full(launch.blocks, launch.last_event)
    last = np.full(launch.blocks, -1)
    np.minimum.at(first, block, seen)
    np.maximum.at(last, block, seen)
    spans = dict(bundle_tables.spans(trace))
    names = ("thread", "start", "end", "kind")
    thread, start, end, kind = (np.asarray(spans[f"view.spans.{n}"]) for n in names)
    of = np.array(
        [
            row.block if row.launch == launch.number and row.kind in WORKERS else -1
            for row in trace.thread_rows
        ]
    )[thread]
    table = np.stack([of, start, end, kind == bundle_tables.WAITING], axis=1)
    return Course(first=first, last=last, spans=table[of >= 0], end=launch.last_event)


def levels(trace: Trace, launch: RecordedLaunch, report: Any) -> np.ndarray:
    """The worst finding of each block as an index into `WORST`, 0 below a warning."""
    found = np.zeros(launch.blocks)
    for (number, block), level in worst(trace, report).items() if report else ():
        if number == launch.number and 0 <= block < launch.blocks and level >= SERIOUS:
            found[block] = level
    return found


def fill(axes: Any, plane: np.ndarray, worst: np.ndarray) -> None:
    """Draws a plane of states with the letters of the findings."""
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Rectangle

    rows, columns = plane.shape
    shown = np.where(np.isfinite(plane), plane, np.nan)
    there = np.argwhere(np.isfinite(plane))
    corners = np.array([(-0.5, -0.5), (-0.5, 0.5), (0.5, 0.5), (0.5, -0.5)])
    axes.add_collection(
        PolyCollection(
            list(there[:, None, ::-1] + corners),
            fc=[COLORS[int(plane[row, column])] for row, column in there],
            ec=style.GRAY,
            lw=0.5,
            clip_on=False,
        ),
        autolim=False,
    )
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(rows - 0.5, -0.5)
    axes.set_aspect("equal")
    for row, column in np.argwhere(shown == WAITS):
        corner = (column - 0.5, row - 0.5)
        axes.add_patch(Rectangle(corner, 1, 1, fill=False, lw=0, **HATCH))
    for row, column in np.argwhere(worst > 0) if plane.size <= MOST_LABELED else ():
        color = "white" if shown[row, column] == RUNS else style.INK
        look = {"color": color, "ha": "center", "va": "center", "weight": "bold"}
        axes.text(column, row, MARKS[int(worst[row, column])], **look)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.tick_params(length=0)


def key(made: Any, worst: np.ndarray) -> None:
    """A legend of the states, and of the letters of these findings."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [Patch(fc=color, ec=style.GRAY, lw=0.5) for color in COLORS]
    handles[WAITS] = Patch(fc=EMPTY, lw=0.5, **HATCH)
    words: list[str] = list(NAMES)
    few = worst.size <= MOST_LABELED
    for level in sorted({int(level) for level in worst if level and few}):
        letter = f"${MARKS[level]}$"
        handles.append(Line2D([], [], ls="", marker=letter, color=style.INK, ms=4))
        words.append(WORST[level])
    made.legend(handles, words, loc="outside lower left", ncols=3)
