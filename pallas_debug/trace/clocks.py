"""What `trace/order.py` derives, as flat arrays that a file can carry."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

EDGE_KINDS = ("spawn", "barrier", "semaphore", "join")


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
