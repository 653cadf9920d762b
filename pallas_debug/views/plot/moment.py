"""A run at one moment: the grid, the contents of a buffer, and the threads over time.

What `pallas-debug export run.pldb run.png` writes, and each frame of a GIF.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from pallas_debug import errors
from pallas_debug.trace import Kind, RecordedLaunch, Trace
from pallas_debug.views.plot import blocks, cells, lanes, states, style
from pallas_debug.views.plot.contents import Contents, Scale, contents

MOST_LANES = 14
HEIGHT = 2.9  # inches, without the lanes
MOST_LETTERS = 92  # of the line that says what happened


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What is shown of a run, whatever the moment.

    Attributes:
      trace: What was recorded.
      launch: The launch that is shown.
      buffer: Name of the buffer whose contents are shown, empty for none.
      lanes: All threads of the launch, those of one block together.
      page: How many blocks there is room for.
      course: When each block runs and waits.
      levels: The worst finding of each block, as an index into `WORST`.
    """

    trace: Trace
    launch: RecordedLaunch
    buffer: str
    lanes: tuple[lanes.Lane, ...]
    page: int
    course: states.Course
    levels: np.ndarray

    def block(self, moment: int) -> int:
        """The block of the last event before a moment, the first one for none."""
        return max(int(self.trace.columns.block[max(moment - 1, 0)]), 0)

    def first_block(self, moment: int) -> int:
        """The first block whose threads are shown."""
        return self.block(moment) // self.page * self.page

    def lanes_at(self, moment: int) -> tuple[lanes.Lane, ...]:
        """The threads that are shown: of no block, of the moment's, and those near."""
        begin = self.first_block(moment)
        near = {-1, *range(begin, begin + self.page)}
        return tuple(lane for lane in self.lanes if lane.block in near)[:MOST_LANES]


def overview(
    trace: Trace,
    *,
    at: int | None = None,
    buffer: str | None = None,
    report: Any = None,
) -> Any:
    """The grid, a buffer and the threads at one moment, in one figure.

    Args:
      trace: What was recorded.
      at: The event before which it is looked at. Where it is None: just after the first
        error's event if there is a report with one, else the end.
      buffer: Name of the buffer whose contents are shown; where it is None, the one
        that was touched last.
      report: What the checks say; blocks with a finding get a letter then.
    """
    report = style.report_of(report)
    moment = _moment(trace, at, report)
    shown = scene(trace, moment, buffer, report)
    seen = held(shown, moment)
    scale, odd = (seen.scale, seen.counts) if seen else (Scale("", 0, 1), ())
    return draw(shown, moment, seen, scale, odd).figure


def _moment(trace: Trace, at: int | None, report: Any) -> int:
    if not len(style.trace_of(trace)):
        raise errors.BadOption(
            option="trace", value=trace, accepted="a trace with at least one event"
        )
    opens = report.opens_at if report is not None else -1
    return style.moment_of(trace, opens + 1 if at is None and opens >= 0 else at)


def scene(trace: Trace, moment: int, buffer: str | None, report: Any) -> Scene:
    """What is shown of a trace in the launch of a moment."""
    launch = trace.launches[int(trace.columns.launch[max(moment - 1, 0)])]
    whole = (launch.first_event, launch.last_event)
    found = lanes.lanes_of(trace, launch, None, *whole)
    outside = sum(lane.block < 0 for lane in found)
    each = max((len(found) - outside) / max(launch.blocks, 1), 1)
    return Scene(
        trace=trace,
        launch=launch,
        buffer=touched(trace, launch, moment) if buffer is None else buffer,
        lanes=tuple(found),
        page=max(int((MOST_LANES - outside) / each), 1),
        course=states.course(trace, launch),
        levels=states.levels(trace, launch, report),
    )


def touched(trace: Trace, launch: RecordedLaunch, moment: int) -> str:
    """Name of the buffer that was written or read last before a moment."""
    part = slice(launch.first_event, max(moment, launch.first_event + 1))
    kinds = (Kind.READ, Kind.WRITE, Kind.UPDATE)
    found = np.flatnonzero(np.isin(trace.columns.kind[part], kinds))
    if not len(found):
        return next((b.name for b in trace.buffers if _shows(b, launch)), "")
    seq = launch.first_event + int(found[-1])
    return trace.buffer_rows[int(trace.columns.object[seq])].name


def _shows(buffer: Any, launch: RecordedLaunch) -> bool:
    return buffer.launch is launch and not buffer.is_sync


def held(shown: Scene, moment: int) -> Contents | None:
    """What the buffer holds at a moment, None where no buffer is shown."""
    is_none = isinstance(shown.buffer, str) and not shown.buffer
    return None if is_none else contents(shown.trace, shown.buffer, moment)


def draw(
    shown: Scene,
    moment: int,
    held: Contents | None,
    scale: Scale,
    odd: Sequence[int],
) -> Drawn:
    """The figure; its layout is not final before it is drawn.

    `scale` is that of the contents, `odd` counts what their legend names.
    """
    below = 0.9 + lanes.LANE * max(len(shown.lanes_at(moment)), 3)
    with style.figure(HEIGHT + below) as made:
        made.get_layout_engine().set(h_pad=0.08)
        title = made.suptitle(heading(shown, moment), x=0.01, ha="left", fontsize=8)
        upper, lower = made.subfigures(2, 1, height_ratios=(HEIGHT - 0.3, below))
        left, right = upper.subfigures(1, 2, width_ratios=(0.9, 1.3))
        grid, memory, odd_key = left.subplots(), None, None
        draw_grid(grid, shown, moment)
        states.key(left, shown.levels)
        if held is not None:
            memory = right.subplots()
            image = draw_held(memory, held, scale)
            if image is not None:
                right.colorbar(image, ax=memory, aspect=20).outline.set_linewidth(0.4)
            odd_key = cells.key(right, odd)
        threads = lower.subplots()
        draw_lanes(threads, shown, moment)
        line = threads.axvline(moment, color=style.INK, lw=1.2, clip_on=False)
        lanes.key(lower, shown.lanes)
    return Drawn(made, title, grid, memory, odd_key, threads, line)


class Drawn(NamedTuple):
    """A figure, its first lines, axes, key of odd values, and line at the moment."""

    figure: Any
    title: Any
    grid: Any
    memory: Any
    odd_key: Any
    threads: Any
    line: Any

    @property
    def moving(self) -> tuple[Any, ...]:
        """What changes from moment to moment."""
        parts = (self.title, self.grid, self.memory, self.odd_key, self.line)
        return tuple(part for part in parts if part is not None)


def heading(shown: Scene, moment: int) -> str:
    """Two lines: the kernel and the moment, and what had just happened."""
    chip = f" as on {shown.launch.chip}" if shown.launch.chip else ""
    last = len(shown.trace) - 1
    at = f"event #{moment - 1:,}" if moment else "before event #0"
    first = f"{shown.launch.name}{chip}: {at} of #{last:,}"
    said = repr(shown.trace[moment - 1]) if moment else "nothing has happened yet"
    return f"{first}\n{said[:MOST_LETTERS]}{'…' * (len(said) > MOST_LETTERS)}"


def draw_grid(axes: Any, shown: Scene, moment: int) -> None:
    """Each block by what it does at the moment, on the plane of the last event."""
    found = shown.course.at(moment)
    begun = np.where(found > states.NOT_STARTED, shown.levels, 0)
    across = math.ceil(math.sqrt(2 * found.size)) if found.size > 8 else 8
    planes, names = blocks.facets_of(found, shown.launch, across)
    letters, _ = blocks.facets_of(begun, shown.launch, across)
    plane = shown.block(moment) // planes[0].size if len(planes) > 1 else 0
    states.fill(
        axes, planes[plane], np.where(np.isfinite(letters[plane]), letters[plane], 0)
    )
    title = f"blocks {names[plane]}" if len(planes) > 1 else "blocks"
    blocks.label(axes, planes[plane], shown.launch, title)


def draw_held(axes: Any, held: Contents, scale: Scale) -> Any:
    """The contents of the buffer, with a title that fits into half a figure."""
    where, _, _ = held.where.rpartition(", before")
    image = cells.fill(axes, replace(held, where=where), scale)
    title, _, _ = axes.get_title(loc="left").partition("; framed")
    axes.set_title(title, fontsize=8)
    if image is None:
        margin = 0.05 * (scale.high - scale.low)
        axes.set_ylim(scale.low - margin, scale.high + margin)
    return image


def draw_lanes(axes: Any, shown: Scene, moment: int) -> None:
    """The threads near the moment over their events."""
    found = shown.lanes_at(moment)
    lanes.fill(axes, found)
    first, last = shown.launch.first_event, shown.launch.last_event
    more = len(shown.lanes) - len(found)
    spans = [span for lane in found if lane.block >= 0 for span in lane.spans]
    if more and spans:
        first, last = min(s[0] for s in spans), max(s[1] for s in spans)
    axes.set_xlim(first, last)
    note = f" ({more:,} more are not shown)" if more else ""
    axes.set_title(f"threads{note}", fontsize=8)
