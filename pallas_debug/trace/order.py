"""Happens-before: which events are ordered by the kernel, not by the schedule.

Edges are program order, SPAWN → child, ARRIVE → WAIT that observes its phase, SIGNAL →
WAIT on the same semaphore (each only where the wait is sure of it: `releases.py`), END
(or the last READ) → JOIN, and one launch → the next.
Vector clocks follow from them, stored sparsely: for each thread a log of what it learned
about others and when. A child's clock starts as its parent's at the SPAWN, by
reference; an acquiring event copies only what the other side learned since the last
time. So thousands of copies in flight cost a few integers each. What memory asks for
beyond this order, fences above all, is in `proxies.py`.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pallas_debug.accepted import whole
from pallas_debug.errors import BadOption
from pallas_debug.trace import dtypes
from pallas_debug.trace.clocks import EDGE_KINDS as EDGE_KINDS
from pallas_debug.trace.clocks import Edges, Log, Logs
from pallas_debug.trace.columns import frozen
from pallas_debug.trace.releases import Release, releases
from pallas_debug.trace.schema import Kind

if TYPE_CHECKING:
    from pallas_debug.trace.trace import Trace

SYNC = (Kind.SPAWN, Kind.WAIT, Kind.JOIN)


class Order:
    """The happens-before relation of a trace. A tick is an event's `clock` column."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def clock(self, seq: int) -> dict[int, int]:
        """For each thread the last tick that happens before the event, or is it."""
        columns, knowledge = self._trace.columns, self._knowledge
        seq = int(self._numbers(whole("event", seq)))
        thread, tick = int(columns.thread[seq]), int(columns.clock[seq])
        known = {thread: tick}
        while thread >= 0:
            log = knowledge.logs[thread]
            for i in range(bisect_right(log.at, tick)):
                other = log.other[i]
                known[other] = max(known.get(other, -1), log.tick[i])
            thread, tick = knowledge.parents[thread]
            if thread >= 0:
                known[thread] = max(known.get(thread, -1), tick)
        return known

    def before(self, a, b):  # type: ignore[no-untyped-def]
        """Whether event `a` happens before `b`; both may be arrays."""
        first, second = np.broadcast_arrays(self._numbers(a), self._numbers(b))
        result = self._before(first.ravel(), second.ravel()).reshape(first.shape)
        return result if result.shape else bool(result)

    def _numbers(self, events) -> np.ndarray:  # type: ignore[no-untyped-def]
        """Numbers of events; anything else is refused."""
        found, count = np.asarray(events), len(self._trace)
        is_known = found.size == 0 or (found.dtype.kind in "iu" and found.max() < count)
        if not is_known or (found.size and found.min() < -count):
            raise BadOption(option="event", value=events, accepted=f"0 … {count - 1}")
        return found

    def concurrent(self, a, b):  # type: ignore[no-untyped-def]
        """Whether neither of two different events happens before the other."""
        result = ~np.asarray(self.before(a, b)) & ~np.asarray(self.before(b, a))
        result &= np.asarray(a) != np.asarray(b)
        return result if result.shape else bool(result)

    def edges(self) -> Edges:
        """Every ordering edge between two threads."""
        return self._knowledge.edges

    def logs(self) -> Logs:
        """The vector clocks of all threads, as they are stored."""
        return self._knowledge.flat

    @cached_property
    def _knowledge(self) -> _Knowledge:
        return _Knowledge(self._trace)

    def known(self, events: np.ndarray, threads: np.ndarray) -> np.ndarray:
        """The last tick of each thread that happens before each event, or -1."""
        columns = self._trace.columns
        thread = columns.thread[events].astype(np.int64)
        tick = columns.clock[events].astype(np.int64)
        goal = np.full(len(events), np.iinfo(np.int64).max)
        return self._reached(thread, tick, threads.astype(np.int64), goal)

    def _before(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        columns = self._trace.columns
        result = columns.launch[a] < columns.launch[b]
        left = np.flatnonzero(columns.launch[a] == columns.launch[b])
        tick_a = columns.clock[a[left]].astype(np.int64)
        reached = self._reached(
            columns.thread[b[left]].astype(np.int64),
            columns.clock[b[left]].astype(np.int64),
            columns.thread[a[left]].astype(np.int64),
            tick_a,
        )
        result[left] = reached >= tick_a
        return result

    def _reached(
        self, thread: np.ndarray, tick: np.ndarray, other: np.ndarray, goal: np.ndarray
    ) -> np.ndarray:
        """What `thread` at `tick` knows of `other`; `goal` is enough."""
        knowledge = self._knowledge
        own = thread == other
        best = np.where(own, tick - 1, -1)
        left = np.flatnonzero(~own)
        thread, tick = thread.copy(), tick.copy()
        while len(left):
            t, o = thread[left], other[left]
            parent, spawned = knowledge.parent_of(t)
            found = knowledge.learned(t, tick[left], o)
            found = np.maximum(found, np.where(parent == o, spawned, -1))
            best[left] = np.maximum(best[left], found)
            # What an ancestor knew of itself is known by its child.
            left = left[(best[left] < goal[left]) & (parent >= 0) & (parent != o)]
            thread[left], tick[left] = knowledge.parent_of(thread[left])
        return best


class _Knowledge:
    """The logs of all threads, built in one pass over the synchronizing events."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        count = len(trace.thread_rows)
        self.logs = [Log() for _ in range(count)]
        self.parents: list[tuple[int, int]] = [(-1, -1)] * count
        self._edges: list[tuple[int, int, int]] = []
        self._releases = releases(trace)
        self._seen: dict[tuple[int, int, int], int] = {}
        self._run()

    def _run(self) -> None:
        columns = self.trace.columns
        seqs = np.flatnonzero(np.isin(columns.kind, [int(kind) for kind in SYNC]))
        names = ("kind", "thread", "clock", "object", "region", "aux")
        lists = [getattr(columns, name)[seqs].tolist() for name in names]
        for seq, kind, thread, tick, other, region, aux in zip(
            seqs.tolist(), *lists, strict=True
        ):
            if kind == Kind.SPAWN:
                self._spawn(seq, thread, tick, other)
            elif kind == Kind.JOIN:
                self._join(seq, thread, tick, other, reads=aux == 1)
            elif kind == Kind.WAIT:
                self._wait(seq, (thread, tick), (other, region), aux)

    def _wait(
        self, seq: int, who: tuple[int, int], key: tuple[int, int], aux: int
    ) -> None:
        """A wait learns of the releases that it is sure of."""
        thread, tick = who
        row = self.trace.buffer_rows[key[0]]
        is_barrier = dtypes.is_barrier(row.dtype)
        known = self._releases.get(key)
        if known is None:
            return
        if is_barrier:
            known.reach(seq, aux * row.arrivals, self._follows)
        else:
            known.take(seq, aux, self._follows)
        reader = (thread, *key)
        number = self._seen.get(reader, 0)
        phase = aux if is_barrier else 0
        while number < len(known.sure) and known.sure[number].phase <= phase:
            one = known.sure[number]
            self._learn(thread, tick, one.thread, one.tick)
            if one.thread != thread:
                self._edges.append((one.seq, seq, 1 if is_barrier else 2))
            number += 1
        self._seen[reader] = number

    def _follows(self, first: Release, second: Release) -> bool:
        """Whether a release comes after another one in every order."""
        thread, tick = second.thread, second.tick
        while thread >= 0:
            if thread == first.thread:
                return tick > first.tick
            if self.logs[thread].known_at(tick, first.thread) >= first.tick:
                return True
            thread, tick = self.parents[thread]
        return False

    def _spawn(self, seq: int, thread: int, tick: int, child: int) -> None:
        self.parents[child] = (thread, tick)
        events = self.trace.columns.of_thread(child)
        if len(events):
            self._edges.append((seq, int(events[0]), 0))

    def _join(self, seq: int, thread: int, tick: int, agent: int, reads: bool) -> None:
        """The agent's events up to its end, or up to its last read, come before."""
        events = self.trace.columns.of_thread(agent)
        events = events[: np.searchsorted(events, seq)]
        if reads:
            is_read = self.trace.columns.kind[events] == Kind.READ
            last = np.flatnonzero(is_read)[-1:] + 1
            events = events[: int(last[0]) if len(last) else 0]
        if len(events):
            self._learn(thread, tick, agent, len(events) - 1)
            self._edges.append((int(events[-1]), seq, 3))

    def _learn(self, thread: int, tick: int, other: int, other_tick: int) -> None:
        """`thread` at `tick` knows `other` up to `other_tick`, and all that it knew."""
        log = self.logs[thread]
        while other >= 0 and other != thread:
            had = log.known.get(other, -1)
            if had >= other_tick:
                return
            source = self.logs[other]
            self._note(log, tick, other, other_tick)
            first = bisect_right(source.at, had) if had >= 0 else 0
            for i in range(first, bisect_right(source.at, other_tick)):
                if source.other[i] != thread:
                    self._note(log, tick, source.other[i], source.tick[i])
            other, other_tick = self.parents[other]

    @staticmethod
    def _note(log: Log, tick: int, other: int, other_tick: int) -> None:
        if log.known.get(other, -1) < other_tick:
            log.known[other] = other_tick
            log.at.append(tick)
            log.other.append(other)
            log.tick.append(other_tick)

    @cached_property
    def edges(self) -> Edges:
        table = np.array(self._edges, np.int64).reshape(-1, 3)
        src, dst, kind = (frozen(np.ascontiguousarray(table[:, i])) for i in range(3))
        return Edges(src, dst, kind)

    @cached_property
    def flat(self) -> Logs:
        lengths = [len(log.at) for log in self.logs]
        first = np.zeros(len(self.logs) + 1, np.int64)
        np.cumsum(lengths, out=first[1:])
        at, other, tick = (
            np.concatenate(
                [
                    np.frombuffer(getattr(log, name), np.int64)
                    for log in self.logs
                    if log.at
                ]
                or [np.zeros(0, np.int64)]
            )
            for name in ("at", "other", "tick")
        )
        return Logs(first, at, other, tick, *self._parent_arrays)

    @cached_property
    def _parent_arrays(self) -> tuple[np.ndarray, np.ndarray]:
        table = np.array(self.parents, np.int64).reshape(-1, 2)
        return table[:, 0].copy(), table[:, 1].copy()

    def parent_of(self, threads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Who spawned each thread (-1: nobody), at which of its ticks."""
        parents, ticks = self._parent_arrays
        return parents[threads], ticks[threads]

    @cached_property
    def _index(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The logs as one sorted table: pair keys, `pair rank * span + at`, ticks."""
        first, at, other, tick, *_ = self.flat
        thread = np.repeat(np.arange(len(self.logs), dtype=np.int64), np.diff(first))
        pair = thread * len(self.logs) + other
        order = np.lexsort((at, pair))
        pairs, rank = np.unique(pair[order], return_inverse=True)
        return pairs, rank * self._span + at[order], tick[order]

    @cached_property
    def _span(self) -> int:
        return int(self.trace.columns.clock.max(initial=0)) + 2

    def learned(
        self, thread: np.ndarray, tick: np.ndarray, other: np.ndarray
    ) -> np.ndarray:
        """Last tick of `other` that `thread` itself has learned by `tick`, or -1."""
        pairs, keys, ticks = self._index
        if not len(pairs):
            return np.full(len(thread), -1, np.int64)
        pair = thread * len(self.logs) + other
        rank = np.minimum(np.searchsorted(pairs, pair), len(pairs) - 1)
        found = np.searchsorted(keys, rank * self._span + tick, side="right") - 1
        row = np.maximum(found, 0)
        good = (pairs[rank] == pair) & (found >= 0) & (keys[row] // self._span == rank)
        return np.where(good, ticks[row], -1)
