"""The numbers of a summary, as plain data that text and HTML render alike.

Counts and sums over the columns; no verdict is computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pallas_debug.trace import Kind, RecordedBuffer, RecordedLaunch, Trace

COPIES = frozenset({"tma", "dma"})
MOST_PRINTED = 10  # texts of one launch
HOST = "launch"  # the thread that starts the others; no code of the kernel's

# Row of the table → the kinds of events that it counts.
COUNTED: dict[str, tuple[Kind, ...]] = {
    "reads": (Kind.READ,),
    "writes": (Kind.WRITE,),
    "atomics": (Kind.UPDATE,),
    "waits": (Kind.WAIT, Kind.JOIN),
    "arrivals": (Kind.ARRIVE,),
    "signals": (Kind.SIGNAL,),
    "prints": (Kind.PRINT,),
    "checks": (Kind.ASSERT,),
}


@dataclass(frozen=True, kw_only=True)
class Spread:
    """The least and the most of a number, each with the first place that has it."""

    least: int
    least_at: str
    most: int
    most_at: str


@dataclass(frozen=True, kw_only=True)
class Count:
    """One row of the table of counts: a total and its spread.

    `asynchronous` is the part that no thread of the program did: copies and the like.
    """

    label: str
    total: int
    per_block: Spread | None
    per_thread: Spread | None
    asynchronous: int


@dataclass(frozen=True, kw_only=True)
class Printed:
    """What a `debug_print` said, and in which block, if in one."""

    block: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Held:
    """Equal buffers: one line of the memory table."""

    name: str
    role: str
    dtype: str
    shape: tuple[int, ...]
    size_bytes: int
    instances: int


@dataclass(frozen=True, kw_only=True)
class Space:
    """What lived in one memory space.

    `peak_bytes` is the most that was alive at once in one block, or in the whole launch
    where the space belongs to no block.
    """

    name: str
    peak_bytes: int
    per_block: bool
    held: tuple[Held, ...]


@dataclass(frozen=True, kw_only=True)
class Overview:
    """One launch in numbers.

    `blocks_run` counts the blocks of the grid in which anything was recorded;
    `printed` are the first texts.
    """

    launch: RecordedLaunch
    blocks_run: int
    printed: tuple[Printed, ...]
    counts: tuple[Count, ...]
    spaces: tuple[Space, ...]


def overviews(trace: Trace) -> tuple[Overview, ...]:
    """The launches of a trace in numbers."""
    buffers: dict[int, list[RecordedBuffer]] = {}
    for buffer in trace.buffers:
        buffers.setdefault(buffer.launch.number, []).append(buffer)
    return tuple(
        Overview(
            launch=launch,
            blocks_run=trace.blocks_run(launch),
            printed=_printed(trace, launch),
            counts=_counts(trace, launch),
            spaces=_spaces(buffers.get(launch.number, [])),
        )
        for launch in trace.launches
    )


def axis_names(launch: RecordedLaunch) -> list[str]:
    """Names of the axes of `block_shape`, empty texts where there are none."""
    grid, names = launch.kernel.grid, [str(name) for name in launch.kernel.grid.names]
    if len(names) != len(launch.grid):
        names = [""] * len(launch.grid)
    return [*(launch.axes if launch.mesh else ()), *names, *grid.cluster_names]


def _counts(trace: Trace, launch: RecordedLaunch) -> tuple[Count, ...]:
    part = slice(launch.first_event, launch.last_event)
    kind = np.asarray(trace.columns.kind[part])
    block = np.asarray(trace.columns.block[part]).astype(np.int64)
    thread = np.asarray(trace.columns.thread[part]).astype(np.int64)
    masks = {name: np.isin(kind, kinds) for name, kinds in COUNTED.items()}
    masks["copies"] = _starts_of_copies(trace, part)
    order = ["reads", "writes", "copies", *list(COUNTED)[2:]]
    where = _Places(trace, launch, block, thread)
    return tuple(
        Count(
            label=label,
            total=int(masks[label].sum()),
            per_block=where.per_block(masks[label]),
            per_thread=where.per_thread(masks[label]),
            asynchronous=where.asynchronous(masks[label]),
        )
        for label in order
        if masks[label].any()
    )


def _printed(trace: Trace, launch: RecordedLaunch) -> tuple[Printed, ...]:
    part = slice(launch.first_event, launch.last_event)
    found = np.flatnonzero(np.asarray(trace.columns.kind[part]) == Kind.PRINT)
    events = [int(event) + launch.first_event for event in found[:MOST_PRINTED]]
    blocks = [int(trace.columns.block[event]) for event in events]
    return tuple(
        Printed(
            block=f"{launch.coordinates(block)}" if block >= 0 else "",
            text=trace.events[int(event)].text,
        )
        for event, block in zip(events, blocks, strict=True)
    )


def _starts_of_copies(trace: Trace, part: slice) -> np.ndarray:
    """Which events start an asynchronous copy."""
    spawned = np.asarray(trace.columns.kind[part]) == Kind.SPAWN
    is_copy = np.array([row.kind in COPIES for row in trace.thread_rows] + [False])
    target = np.where(spawned, trace.columns.object[part], -1)
    return spawned & is_copy[target]


class _Places:
    """Spreads a count over the blocks and the program's own threads of a launch."""

    def __init__(
        self,
        trace: Trace,
        launch: RecordedLaunch,
        block: np.ndarray,
        thread: np.ndarray,
    ) -> None:
        self._trace, self._launch = trace, launch
        self._block, self._thread = block, thread
        self._blocks = np.unique(block[block >= 0])
        workers = [
            t.number
            for t in trace.threads
            if t.launch is launch and not t.is_agent and t.kind != HOST
        ]
        self._workers = np.array(workers, np.int64)

    def per_block(self, mask: np.ndarray) -> Spread | None:
        """How the events of `mask` lie over the blocks that ran."""
        numbers, counts = _tally(self._block[mask], self._blocks)
        return _spread(
            numbers, counts, lambda number: f"{self._launch.coordinates(number)}"
        )

    def per_thread(self, mask: np.ndarray) -> Spread | None:
        """How the events of `mask` lie over the program's threads."""
        numbers, counts = _tally(self._thread[mask], self._workers)
        return _spread(numbers, counts, lambda number: self._trace.threads[number].name)

    def asynchronous(self, mask: np.ndarray) -> int:
        """How many events of `mask` no thread of the program did."""
        return int(mask.sum() - np.isin(self._thread[mask], self._workers).sum())


def _tally(values: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How often each of the sorted `places` stands among `values`."""
    if not len(places):
        return places, places
    counts = np.bincount(values[values >= 0], minlength=int(places[-1]) + 1)
    return places, counts[places]


def _spread(
    numbers: np.ndarray, counts: np.ndarray, name: Callable[[int], str]
) -> Spread | None:
    if len(counts) < 2:
        return None
    low, high = int(np.argmin(counts)), int(np.argmax(counts))
    return Spread(
        least=int(counts[low]),
        least_at=name(int(numbers[low])),
        most=int(counts[high]),
        most_at=name(int(numbers[high])),
    )


def _spaces(buffers: Sequence[RecordedBuffer]) -> tuple[Space, ...]:
    by_space: dict[str, list[RecordedBuffer]] = {}
    for buffer in buffers:
        by_space.setdefault(buffer.space, []).append(buffer)
    return tuple(
        Space(
            name=name,
            peak_bytes=_peak(members),
            per_block=all(buffer.block is not None for buffer in members),
            held=_held(members),
        )
        for name, members in by_space.items()
    )


def _held(buffers: Sequence[RecordedBuffer]) -> tuple[Held, ...]:
    """Equal buffers joined, in order of their first appearance."""
    groups: dict[tuple[str, str, str, tuple[int, ...]], list[RecordedBuffer]] = {}
    for buffer in buffers:
        key = (buffer.name, buffer.role, buffer.dtype, buffer.shape)
        groups.setdefault(key, []).append(buffer)
    return tuple(
        Held(
            name=name,
            role=role,
            dtype=dtype,
            shape=shape,
            size_bytes=members[0].nbytes,
            instances=len(members),
        )
        for (name, role, dtype, shape), members in groups.items()
    )


def _peak(buffers: Sequence[RecordedBuffer]) -> int:
    """The most bytes alive at once in any one block."""
    changes: dict[object, list[tuple[int, int]]] = {}
    for buffer in buffers:
        if buffer.row.alias >= 0:  # the memory of another one
            continue
        of_block = changes.setdefault(buffer.block, [])
        of_block.append((buffer.alloc, buffer.nbytes))
        if buffer.free >= 0:
            of_block.append((buffer.free, -buffer.nbytes))
    return max((_highest(of_block) for of_block in changes.values()), default=0)


def _highest(changes: list[tuple[int, int]]) -> int:
    level = highest = 0
    for _, change in sorted(changes):
        level += change
        highest = max(highest, level)
    return highest
