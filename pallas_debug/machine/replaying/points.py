"""The grid points that a replay may come to, with their coordinates.

Looking ahead changes nothing: what has begun is for the replay to say.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from pallas_debug.machine import start
from pallas_debug.machine import state as states
from pallas_debug.machine.step import Step

FIRST_AHEAD, MOST_AHEAD = 16, 256  # whose coordinates are computed together

Begun = tuple[int, int]  # clusters, those of the queue apart
Point = tuple[int, tuple[np.int32, ...], Begun]  # a block's number, its coordinates


def points(m: Step, core: states.Thread | None) -> Iterator[Point]:
    """The grid points that come next, looked up some at a time; none begins here."""
    ahead, size = _claims(m) if core is None else _numbers(m), FIRST_AHEAD
    while some := list(itertools.islice(ahead, size)):
        numbers = np.array([number for number, _ in some])
        rows = np.unravel_index(numbers, m.launch.grid)
        ats = zip(*(row.astype(np.int32) for row in rows), strict=True)
        for (number, begun), at in zip(some, ats, strict=True):
            yield number, at, begun
        size = min(4 * size, MOST_AHEAD)


def _numbers(m: Step) -> Iterator[tuple[int, Begun]]:
    """Of the core's grid points."""
    state = m.state
    number, begun = m.next_point(), (state.next_cluster, state.dequeued)
    if number >= 0:
        for n in range(number, math.prod(m.launch.grid)):
            if m.chosen is None or n in m.chosen:
                yield n, begun


def _claims(m: Step) -> Iterator[tuple[int, Begun]]:
    """Of blocks of their own, and what is begun with each."""
    state = m.state
    begun = state.next_cluster, state.dequeued
    while True:
        kept = state.next_cluster, state.dequeued
        state.next_cluster, state.dequeued = begun
        number = start.claim(m)
        begun = state.next_cluster, state.dequeued
        state.next_cluster, state.dequeued = kept
        if number < 0:
            return
        yield number, begun
