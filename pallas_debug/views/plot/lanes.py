"""Lanes of threads over the events: who ran, who waited, which copies were in flight."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pallas_debug import errors
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
    """One row of the figure: its label, and what is in it."""

    label: str
    spans: list[Span]


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
    first = one.first_event if start is None else start
    last = one.last_event if end is None else end
    if not first < last:
        raise errors.BadOption(option="end", value=last, accepted=f"more than {first}")
    lanes = _lanes(trace, one, _wanted(one, blocks), first, last)
    shown = lanes[:MOST_LANES]
    if len(shown) < len(lanes) and end is None:  # as far as those that are shown
        last = max(stop for lane in shown[1:] for _, stop, _ in lane.spans)
    with style.figure(1.3 + LANE * max(len(shown), 2)) as made:
        axes = made.subplots()
        for row, lane in enumerate(shown):
            for kind, look in LOOKS.items():
                bars = [(a, b - a) for a, b, k in lane.spans if k == kind]
                axes.broken_barh(bars, (row - 0.36, 0.72), lw=0.4, **look)
        axes.set_xlim(first, last)
        axes.set_ylim(max(len(shown), 1) - 0.4, -0.6)
        axes.set_yticks(range(len(shown)), [lane.label for lane in shown])
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("event")
        _key(made, shown)
        more = len(lanes) - len(shown)
        note = f", {more:,} more lanes (blocks= chooses)" if more else ""
        axes.set_title(style.heading(one, f"threads{note}"))
    return made


def _wanted(launch: RecordedLaunch, blocks: Any) -> set[int] | None:
    if blocks is None:
        return None
    found: set[int] = set()
    for block in blocks:
        number = launch.linear(block) if isinstance(block, tuple) else int(block)
        if not 0 <= number < launch.blocks:
            accepted = f"blocks of a grid of {launch.block_shape}"
            raise errors.BadOption(option="blocks", value=block, accepted=accepted)
        found.add(number)
    return found


def _lanes(
    trace: Trace,
    launch: RecordedLaunch,
    wanted: set[int] | None,
    first: int,
    last: int,
) -> list[Lane]:
    """A lane for each thread of the program; agents of one kind share a few."""
    spans = dict(bundle_tables.spans(trace))
    columns = [spans[f"view.spans.{n}"] for n in ("thread", "start", "end", "kind")]
    table = np.stack(columns, axis=1)
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
        (trace.threads[n].row.block, 0, Lane(trace.threads[n].name, parts))
        for n, parts in sorted(own.items())
    ]
    for (block, kind), agents in flying.items():
        where = launch.coordinates(block)
        label = f"{kind} of block {where}" if where is not None else kind
        for number, row in enumerate(packed(agents.values())):
            lanes.append((block, 1, Lane("" if number else label, row)))
    return [lane for _, _, lane in sorted(lanes, key=lambda one: one[:2])]


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


def _key(made: Any, lanes: Sequence[Lane]) -> None:
    from matplotlib.patches import Patch

    seen = sorted({kind for lane in lanes for *_, kind in lane.spans})
    handles = [Patch(lw=0.4, **LOOKS[kind]) for kind in seen]
    words = [NAMES[kind] for kind in seen]
    made.legend(handles, words, loc="outside lower left", ncols=len(seen))
