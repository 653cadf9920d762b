"""Which releases a wait is sure of: those without which it could not have gone on.

A semaphore counts, and so does a phase of a barrier. Where more was under way than the
wait asked for, two copies on one semaphore say, of which it wants the bytes of one, the
recording shows one order of many, and the wait knows of neither copy. A release is sure
if all others that could have come before the wait do not add up to what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pallas_debug.trace.schema import Kind
from pallas_debug.trace.tables import WORKERS

if TYPE_CHECKING:
    from pallas_debug.trace.trace import Trace

MOST = 32  # releases under way at once; of more, all that came are taken for sure


class Release(NamedTuple):
    """A signal or an arrival.

    Attributes:
      issued: The event that made it possible: the start of an agent, or itself.
      seq: The event.
      thread, tick: Whose, and when.
      amount: Units, or one arrival.
      phase: That an arrival counts for; 0 for a semaphore.
    """

    issued: int
    seq: int
    thread: int
    tick: int
    amount: int
    phase: int


After = Callable[[Release, Release], bool]


class Releases:
    """The releases of one semaphore or barrier, and what waits were sure of so far."""

    __slots__ = ("_all", "_is_ordered", "_needed", "_next", "_open", "_total", "sure")

    def __init__(self, releases: Iterable[Release], *, is_ordered: bool) -> None:
        self._all = sorted(releases)
        self._is_ordered = is_ordered  # they come in the order of the recording
        self._next = self._needed = self._total = 0
        self._open: list[Release] = []
        self.sure: list[Release] = []

    def take(self, wait: int, amount: int, after: After) -> None:
        """A wait took units; one that only looks is taken to know all that came."""
        self._needed += amount
        self._advance(wait, after, amount == 0)

    def reach(self, wait: int, amount: int, after: After) -> None:
        """A wait came after so many arrivals in all."""
        self._needed = max(self._needed, amount)
        self._advance(wait, after, self._is_ordered)

    def _advance(self, wait: int, after: After, all_of_them: bool) -> None:
        while self._next < len(self._all) and self._all[self._next].issued < wait:
            self._open.append(self._all[self._next])
            self._next += 1
        came = [one for one in self._open if one.seq < wait]
        if all_of_them or len(self._open) > MOST:
            sure = came
        else:
            under_way = self._total + sum(one.amount for one in self._open)
            sure = [one for one in came if self._is_sure(one, under_way, after)]
        if sure:
            self._total += sum(one.amount for one in sure)
            self._open = [one for one in self._open if one not in sure]
            self.sure += sorted(sure, key=lambda one: one.seq)

    def _is_sure(self, one: Release, under_way: int, after: After) -> bool:
        """Whether the wait would still sleep without this one, and what follows it."""
        others = under_way - one.amount
        if others < self._needed:
            return True
        following = (
            other.amount
            for other in self._open
            if other is not one and after(one, other)
        )
        return others - sum(following) < self._needed


def releases(trace: Trace) -> dict[tuple[int, int], Releases]:
    """Those of each semaphore and barrier: buffer and region."""
    columns = trace.columns
    seqs = np.flatnonzero(np.isin(columns.kind, (Kind.ARRIVE, Kind.LAND, Kind.SIGNAL)))
    spawns = np.flatnonzero(columns.kind == Kind.SPAWN)
    issue = np.full(len(trace.thread_rows), -1, np.int64)
    issue[columns.object[spawns]] = spawns
    found: dict[tuple[int, int], list[Release]] = {}
    ordered: set[tuple[int, int]] = set()
    names = ("kind", "thread", "clock", "object", "region", "aux")
    lists = [getattr(columns, name)[seqs].tolist() for name in names]
    for seq, kind, thread, tick, buffer, region, aux in zip(
        seqs.tolist(), *lists, strict=True
    ):
        key = buffer, region
        by_signal = kind == Kind.SIGNAL
        started = int(issue[thread]) if _is_agent(trace, thread) else -1
        found.setdefault(key, []).append(
            Release(
                issued=started if started >= 0 else seq,
                seq=seq,
                thread=thread,
                tick=tick,
                amount=aux if by_signal else 1,
                phase=0 if by_signal else aux + 1,
            )
        )
        if kind == Kind.LAND or (not by_signal and not _is_free(trace, buffer, thread)):
            ordered.add(key)
    return {
        key: Releases(mine, is_ordered=key in ordered) for key, mine in found.items()
    }


def _is_free(trace: Trace, barrier: int, thread: int) -> bool:
    """Whether an arrival may come before or after others, as those of copies may.

    The matrix unit keeps its order; of a cluster's barriers not all is recorded.
    """
    is_copy = trace.thread_rows[thread].kind == "tma"
    is_plain = trace.buffer_rows[barrier].dtype == "barrier"
    return is_plain and (is_copy or not _is_agent(trace, thread))


def _is_agent(trace: Trace, thread: int) -> bool:
    return trace.thread_rows[thread].kind not in WORKERS
