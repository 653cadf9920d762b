"""Lanes of threads over the events: who ran, who waited, which copies were in flight."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pallas_debug import errors
from pallas_debug.accepted import whole
from pallas_debug.trace import RecordedLaunch, Trace
from pallas_debug.views import bundle_tables
from pallas_debug.views.plot import style

MOST_LANES = 40
LANE = 0.19  # inches
LOOKS: dict[int, dict[str, Any]] = {
    bundle_tables.RUNS: {"fc": style.BLUE, "ec": style.BLUE},
    bundle_tables.IN_FLIGHT: {"fc": style.SKY, "ec": style.BLUE},
    bundle_tables.WAITING: {"fc": "white", "ec": style.VERMILION, "hatch": "/////"},
}
NAMES = ("runs", "waits", "in flight")


Span = tuple[int, int, int]  # start, end, kind


class Lane(NamedTuple):
    """One row of the figure: its label, what is in it, and its block, -1 for none."""

    label: str
    spans: list[Span]
    block: int


def timeline(
    trace: Trace,
    *,
    launch: int = 0,
    blocks: Sequence[int | tuple[int, ...]] | None = None,
    start: int | None = None,
    end: int | None = None,
) -> Any:
    """What each thread did when; the axis counts events.

    Args:
      trace: What was recorded.
      launch: Number of the launch.
      blocks: The blocks to show, as linear numbers or coordinates; as many of the first
        as fit where it is None.
      start: The first event to show; that of the launch where it is None.
      end: The first event not to show any more; the launch's end where it is None.
    """
    one = style.launch_of(trace, launch)
    first = one.first_event if start is None else whole("start", start)
    last = one.last_event if end is None else whole("end", end)
    last = min(last, max(first + 1, len(trace)))
    if not first < last:
        raise errors.BadOption(option="end", value=last, accepted=f"more than {first}")
    lanes = lanes_of(trace, one, _wanted(one, blocks), first, last)
    shown = lanes[:MOST_LANES]
    if len(shown) < len(lanes) and end is None:  # as far as those that are shown
        last = max(stop for lane in shown[1:] for _, stop, _ in lane.spans)
    with style.figure(1.3 + LANE * max(len(shown), 2)) as made:
        axes = made.subplots()
        fill(axes, shown)
        axes.set_xlim(first, last)
        key(made, shown)
        more = len(lanes) - len(shown)
        note = f", {more:,} more lanes (blocks= chooses)" if more else ""
        axes.set_title(style.heading(one, f"threads{note}"))
    return made


def _wanted(launch: RecordedLaunch, blocks: Any) -> set[int] | None:
    if blocks is None:
        return None
    found: set[int] = set()
    words = f"a list of blocks of a grid of {launch.block_shape}"
    if isinstance(blocks, str) or not np.iterable(blocks):
        raise errors.BadOption(option="blocks", value=blocks, accepted=words)
    for block in blocks:
        if isinstance(block, tuple):
            place = tuple(whole("blocks", i, words) for i in block)
            number = launch.linear(place)
        else:
            number = whole("blocks", block, words)
        if not 0 <= number < launch.blocks:
            raise errors.BadOption(option="blocks", value=block, accepted=words)
        found.add(number)
    return found


def lanes_of(
    trace: Trace,
    launch: RecordedLaunch,
    wanted: set[int] | None,
    first: int,
    last: int,
) -> list[Lane]:
    """A lane for each thread of the program; agents of one kind share a few."""
    spans = dict(bundle_tables.spans(trace))
    columns = [spans[f"view.spans.{n}"] for n in ("thread", "start", "end", "kind")]
    table = _to_the_end(trace, launch, np.stack(columns, axis=1))
    table = table[(table[:, 2] > first) & (table[:, 1] < last)]
    own: dict[int, list[Span]] = {}
    flying: dict[tuple[int, str], dict[int, list[Span]]] = {}
    for number, begin, stop, kind in table.tolist():
        thread = trace.threads[number]
        block = thread.row.block
        if thread.launch is not launch or (wanted is not None and block not in wanted):
            continue
        if thread.is_agent:
            agents = flying.setdefault((block, thread.kind), {})
            agents.setdefault(number, []).append((begin, stop, kind))
        else:
            own.setdefault(number, []).append((begin, stop, kind))
    lanes = [
        (0, Lane(trace.threads[n].name, parts, trace.threads[n].row.block))
        for n, parts in sorted(own.items())
    ]
    for (block, kind), agents in flying.items():
        where = launch.coordinates(block)
        label = f"{kind} of block {where}" if where is not None else kind
        for number, row in enumerate(packed(agents.values())):
            lanes.append((1, Lane(f"more {label}" if number else label, row, block)))
    return [lane for _, lane in sorted(lanes, key=lambda one: (one[1].block, one[0]))]


def _to_the_end(trace: Trace, launch: RecordedLaunch, spans: np.ndarray) -> np.ndarray:
    """The spans, the last one of the launch's own thread up to the launch's end.

    That thread starts the others and then has no event of its own until they are done.
    """
    root = [
        number
        for number, row in enumerate(trace.thread_rows)
        if row.launch == launch.number and row.kind == "launch"
    ]
    own = np.flatnonzero(np.isin(spans[:, 0], root))
    if len(own):
        last = own[np.argmax(spans[own, 2])]
        spans[last, 2] = max(spans[last, 2], launch.last_event)
    return spans


def packed(agents: Iterable[list[Span]]) -> list[list[Span]]:
    """Agents in as few rows as there are at one time; none covers another of its row."""
    rows: list[list[Span]] = []
    free: list[int] = []  # from which event on each row is free
    for spans in sorted(agents, key=min):
        begin, end = min(spans)[0], max(stop for _, stop, _ in spans)
        row = next((n for n, event in enumerate(free) if event <= begin), len(rows))
        if row == len(rows):
            rows.append([])
            free.append(end)
        rows[row] += spans
        free[row] = end
    return rows


def fill(axes: Any, lanes: Sequence[Lane]) -> None:
    """Draws lanes into axes, the first one on top."""
    from matplotlib.collections import PolyCollection

    for wanted, look in LOOKS.items():
        bars = [
            [(a, row - 0.36), (a, row + 0.36), (b, row + 0.36), (b, row - 0.36)]
            for row, lane in enumerate(lanes)
            for a, b, kind in lane.spans
            if kind == wanted
        ]
        if bars:
            axes.add_collection(PolyCollection(bars, lw=0.4, **look))
    axes.set_ylim(max(len(lanes), 1) - 0.4, -0.6)
    axes.set_yticks(range(len(lanes)), [lane.label for lane in lanes])
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("event")


def key(made: Any, lanes: Sequence[Lane]) -> None:
    """A legend of the kinds of spans that are there."""
    from matplotlib.patches import Patch

    seen = sorted({kind for lane in lanes for *_, kind in lane.spans})
    handles = [Patch(lw=0.4, **LOOKS[kind]) for kind in seen]
    words = [NAMES[kind] for kind in seen]
    made.legend(handles, words, loc="outside lower left", ncols=len(seen))
