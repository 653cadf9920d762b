"""What `trace/order.py` derives, as flat arrays that a file can carry."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import NamedTuple

import numpy as np

EDGE_KINDS = ("spawn", "barrier", "semaphore", "join")


class Log:
    """What one thread learned: at its tick `at`, thread `other` up to tick `tick`."""

    __slots__ = ("at", "known", "other", "tick")

    def __init__(self) -> None:
        self.at = array("q")
        self.other = array("q")
        self.tick = array("q")
        self.known: dict[int, int] = {}

    def known_at(self, tick: int, other: int) -> int:
        """What the thread knew of another one at its own tick, or -1."""
        if other not in self.known:
            return -1
        for i in range(bisect_right(self.at, tick) - 1, -1, -1):
            if self.other[i] == other:
                return self.tick[i]
        return -1


class Edges(NamedTuple):
    """Ordering between threads: `src` happens before `dst`; `kind` in `EDGE_KINDS`."""

    src: np.ndarray
    dst: np.ndarray
    kind: np.ndarray


class Logs(NamedTuple):
    """What each thread learned about others, one thread after another.

    Entries `first[t] … first[t + 1] - 1` are thread `t`'s: at its tick `at` it knows
    `other` up to `tick`. Its clock began as `parent[t]`'s (-1: none) at `parent_tick[t]`.
    """

    first: np.ndarray
    at: np.ndarray
    other: np.ndarray
    tick: np.ndarray
    parent: np.ndarray
    parent_tick: np.ndarray
