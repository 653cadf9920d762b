"""Conflicting accesses that need an order: few of them, but enough to find a race.

In each cell of a buffer an access is held against the last write before it and the next
one after it, and plain reads against the atomic updates beside them. If all of these
are in order, so are all others. Atomic updates do not conflict with each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pallas_debug.checks.races_cells import Cells
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.trace import Trace

MOST = 30_000_000  # accesses to cells; beyond, only some cells are looked at
SIDES = 64  # reads and updates beside each other that are held against each other


class Pairs(NamedTuple):
    """Events that touch the same memory, `a` recorded first, one of them writing."""

    a: np.ndarray
    b: np.ndarray


def pairs(trace: Trace) -> Pairs:
    """The pairs of a trace that have to be ordered."""
    events, buffers = _candidates(trace)
    if not len(events):
        return Pairs(events, events)
    event, cell = _touched(trace, events, buffers)
    by_cell = np.argsort(cell, kind="stable")
    event, cell = event[by_cell], cell[by_cell]
    kind = trace.columns.kind[event]
    writes = kind == Kind.WRITE
    found = [
        _with_last_write(event, cell, writes),
        _with_next_write(event, cell, writes),
        *_reads_and_updates(event, cell, kind),
    ]
    a, b = (np.concatenate([pair[side] for pair in found]) for side in (0, 1))
    key = np.unique(a * (len(trace) + 1) + b)
    return Pairs(*np.divmod(key, len(trace) + 1))


def _candidates(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Accesses to memory that somebody writes, and whose memory it is."""
    columns = trace.columns
    kinds = (Kind.READ, Kind.WRITE, Kind.UPDATE)
    events = np.flatnonzero(np.isin(columns.kind, kinds) & (columns.region >= 0))
    owner = np.arange(len(trace.buffer_rows))
    for number, row in enumerate(trace.buffer_rows):
        if row.alias >= 0:
            owner[number] = owner[row.alias]
    buffers = owner[columns.object[events]]
    written = np.zeros(len(owner), bool)
    written[buffers[columns.kind[events] != Kind.READ]] = True
    keep = written[buffers] & ~_lonely(trace, events, buffers, len(owner))[buffers]
    return events[keep], buffers[keep]


def _lonely(
    trace: Trace, events: np.ndarray, buffers: np.ndarray, count: int
) -> np.ndarray:
    """Buffers that only one thread touches, where its own order is all that counts."""
    threads = trace.columns.thread[events].astype(np.int64)
    low = np.full(count, len(trace.thread_rows))
    high = np.full(count, -1)
    np.minimum.at(low, buffers, threads)
    np.maximum.at(high, buffers, threads)
    apart = np.array([row.space == "tmem" for row in trace.buffer_rows], bool)
    grids = [
        "parallel" in "".join(launch.kernel.grid.semantics) for launch in trace.launches
    ]
    apart |= np.array([grids[row.launch] for row in trace.buffer_rows], bool)
    return (low == high) & ~apart


def _touched(
    trace: Trace, events: np.ndarray, buffers: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Each access once for each cell that it touches."""
    width = max(len(trace.regions), 1)
    key = buffers * width + trace.columns.region[events]
    distinct, of = np.unique(key, return_inverse=True)
    owner, region = np.divmod(distinct, width)
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    cells, base = Cells(trace), 0
    lists: list[np.ndarray] = []
    for start, end in zip(starts, [*starts[1:], len(owner)], strict=True):
        shape = trace.buffer_rows[owner[start]].shape
        parts = cells.of(shape, region[start:end])
        lists += [part + base for part in parts]
        base += 1 + max((int(part.max(initial=-1)) for part in parts), default=-1)
    sizes = np.array([len(part) for part in lists], np.int64)
    total = int(sizes[of].sum())
    if total > MOST:
        every = -(-total // MOST)
        lists = [part[part % every == 0] for part in lists]
        sizes = np.array([len(part) for part in lists], np.int64)
    flat = np.concatenate([*lists, np.zeros(0, np.int64)])
    offsets = np.cumsum(sizes) - sizes
    counts = sizes[of]
    event = np.repeat(events, counts)
    place = np.arange(len(event)) - np.repeat(np.cumsum(counts) - counts, counts)
    cell = flat[np.repeat(offsets[of], counts) + place]
    return event, cell


def _with_last_write(
    event: np.ndarray, cell: np.ndarray, writes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Each access with the last write before it in its cell."""
    number = np.arange(len(event))
    last = np.maximum.accumulate(np.where(writes, number, -1)) if len(event) else number
    before = np.concatenate([[-1], last[:-1]])[: len(event)]
    good = (before >= 0) & (cell[before] == cell)
    return event[before[good]], event[good]


def _with_next_write(
    event: np.ndarray, cell: np.ndarray, writes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Each read or update with the next write after it in its cell."""
    places = np.flatnonzero(writes)
    other = np.flatnonzero(~writes)
    after = np.searchsorted(places, other)
    good = after < len(places)
    other, following = other[good], places[after[good]]
    same = cell[other] == cell[following]
    return event[other[same]], event[following[same]]


def _reads_and_updates(
    event: np.ndarray, cell: np.ndarray, kind: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Runs of plain reads with runs of atomic updates beside them, a sample if long."""
    found: list[tuple[np.ndarray, np.ndarray]] = []
    if not (kind == Kind.UPDATE).any():
        return found
    new = (np.diff(kind, prepend=0) != 0) | (np.diff(cell, prepend=-1) != 0)
    starts = np.flatnonzero(new)
    ends = np.append(starts[1:], len(event))
    beside = (
        (cell[starts[1:]] == cell[starts[:-1]])
        & (np.minimum(kind[starts[1:]], kind[starts[:-1]]) == Kind.READ)
        & (np.maximum(kind[starts[1:]], kind[starts[:-1]]) == Kind.UPDATE)
    )
    for run in np.flatnonzero(beside).tolist():
        left = _sample(event[starts[run] : ends[run]])
        right = _sample(event[starts[run + 1] : ends[run + 1]])
        found.append((np.repeat(left, len(right)), np.tile(right, len(left))))
    return found


def _sample(events: np.ndarray) -> np.ndarray:
    if len(events) <= SIDES:
        return events
    return events[np.linspace(0, len(events) - 1, SIDES).astype(np.int64)]
