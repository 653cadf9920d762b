"""When an access counts as done, and what an asynchronous one must come after.

Happens-before orders events; memory adds rules of its own. A store to or load from
tensor memory is done at the next `commit_tmem` or `wait_load_tmem` of its thread. An
operation of Blackwell's matrix unit begins when it is issued, although the recording
runs one after the other; a product still comes after the copies and products issued
before it, because the unit pipelines these. And the asynchronous proxy (TMA, matrix
units) sees what threads did in shared memory only past a `commit_smem` in between. For
what they stored to global memory Pallas has no such fence; inline code may have one.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from functools import cached_property
from types import MappingProxyType

import numpy as np

from pallas_debug.trace.schema import Kind
from pallas_debug.trace.trace import Trace

NEVER = -1


class Engine(IntEnum):
    """Who executes the events of a thread, as far as the rules differ."""

    PROGRAM = 0  # and agents that go through the generic proxy, as DMAs do
    TMA = 1
    WGMMA = 2
    PRODUCT = 3  # tcgen05.mma
    TENSOR_COPY = 4  # tcgen05.cp
    ARRIVAL = 5  # tcgen05.commit


class Standing(IntEnum):
    """How two conflicting accesses stand to each other, the earlier one first."""

    ORDERED = 0
    UNORDERED = 1
    UNFENCED = 2  # ordered, but not across the proxies


ENGINES: Mapping[str, Engine] = MappingProxyType(
    {
        "gpu.copy_gmem_to_smem": Engine.TMA,
        "gpu.copy_smem_to_gmem": Engine.TMA,
        "gpu.wgmma": Engine.WGMMA,
        "gpu.tcgen05_mma": Engine.PRODUCT,
        "gpu.tcgen05_copy_start": Engine.TENSOR_COPY,
        "gpu.tcgen05_commit_arrive": Engine.ARRIVAL,
    }
)
# The fence (its aux) that completes accesses of these ops.
COMPLETED_BY: Mapping[str, int] = MappingProxyType(
    {"gpu.async_store_tmem": 1, "gpu.async_load_tmem": 2}
)

INLINE = ("gpu.inline_mgpu", "gpu.fence")


class Proxies:
    """The rules of memory over the order of a trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    @cached_property
    def engine(self) -> np.ndarray:
        """The `Engine` of each thread, by the instruction that issued it."""
        tapes = [launch.kernel.tape for launch in self._trace.launches]
        found = np.zeros(len(self._trace.thread_rows), np.uint8)
        for number, row in enumerate(self._trace.thread_rows):
            if 0 <= row.instr < len(tapes[row.launch]):
                op = tapes[row.launch][row.instr].op
                found[number] = ENGINES.get(op, Engine.PROGRAM)
        return found

    @cached_property
    def issue(self) -> np.ndarray:
        """The event that started each thread, -1 for the first ones."""
        columns = self._trace.columns
        spawns = np.flatnonzero(columns.kind == Kind.SPAWN)
        found = np.full(len(self._trace.thread_rows), -1, np.int64)
        found[columns.object[spawns]] = spawns
        return found

    def is_async(self, events: np.ndarray) -> np.ndarray:
        """Whether each event goes through the asynchronous proxy."""
        return self.engine[self._trace.columns.thread[events]] != Engine.PROGRAM

    def done(self, events: np.ndarray) -> np.ndarray:
        """The event by which each access is complete: itself, a fence, or -1."""
        found = events.astype(np.int64)
        awaited = self._awaited(events)
        for fence in set(COMPLETED_BY.values()):
            mine = np.flatnonzero(awaited == fence)
            if len(mine):
                found[mine] = self._next_fence(events[mine], fence)
        return found

    def begun(self, events: np.ndarray) -> np.ndarray:
        """The event whose past each access builds on: itself, or where it was issued."""
        threads = self._trace.columns.thread[events]
        in_unit = np.isin(self.engine[threads], (Engine.PRODUCT, Engine.TENSOR_COPY))
        return np.where(in_unit, self.issue[threads], events)

    def standing(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The `Standing` of pairs of conflicting accesses; `a` was recorded first."""
        columns, order = self._trace.columns, self._trace.order
        end, start = self.done(a), self.begun(b)
        same = columns.thread[a] == columns.thread[b]
        good = end != NEVER
        # On one thread an access is over before the next, unless it needs a fence.
        good[same] &= end[same] < b[same]
        other = np.flatnonzero(good & ~same)
        good[other] = order.before(end[other], start[other])
        left = np.flatnonzero(~good & ~same)
        good[left] = self._pipelined(a[left], b[left])
        result = np.where(good, Standing.ORDERED, Standing.UNORDERED)
        crossing = np.flatnonzero(good & ~same & self._crosses(a, b))
        unfenced = crossing[~self._fenced(a[crossing], b[crossing])]
        result[unfenced] = Standing.UNFENCED
        return result

    def _pipelined(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Operations of the matrix unit that it keeps in the order of their issue."""
        columns = self._trace.columns
        first, second = columns.thread[a], columns.thread[b]
        result = np.isin(self.engine[first], (Engine.PRODUCT, Engine.TENSOR_COPY))
        result &= self.engine[second] == Engine.PRODUCT
        mine = np.flatnonzero(result)
        issued = self.issue[first[mine]], self.issue[second[mine]]
        result[mine] = self._trace.order.before(*issued)
        return result

    def _crosses(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """From a thread to the asynchronous proxy: in shared memory, and stores to global.

        The other way round the wait for the operation is the fence.
        """
        rows, columns = self._trace.buffer_rows, self._trace.columns
        objects, stored = columns.object[a], columns.kind[a] != Kind.READ
        shared = np.array([row.space == "smem" for row in rows], bool)[objects]
        is_global = np.array([row.space == "gmem" for row in rows], bool)[objects]
        is_global &= stored & ~self._has_own_fences[columns.launch[a]]
        return (shared | is_global) & ~self.is_async(a) & self.is_async(b)

    @cached_property
    def _has_own_fences(self) -> np.ndarray:
        """Launches with inline code, of which nothing is known."""
        tapes = [launch.kernel.tape for launch in self._trace.launches]
        return np.array([any(one.op in INLINE for one in tape) for tape in tapes], bool)

    def _fenced(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Whether some `commit_smem` comes after `a` and before the issue of `b`."""
        rows = self._trace.buffer_rows
        in_smem = np.array([row.space == "smem" for row in rows], bool)
        mine = np.flatnonzero(in_smem[self._trace.columns.object[a]])
        result = np.zeros(len(a), bool)
        result[mine] = self._committed(a[mine], b[mine])
        return result

    def _committed(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        order, columns = self._trace.order, self._trace.columns
        issued = self.issue[columns.thread[b]]
        fence = self._next_fence(a, 0)
        result = np.zeros(len(a), bool)
        has = np.flatnonzero(fence != NEVER)
        result[has] = order.before(fence[has], issued[has])
        left = np.flatnonzero(~result)
        issuer = columns.thread[issued[left]]
        result[left] = self._last_fence_after(a[left], issued[left], issuer)
        for helpers in self._fencing_threads.T:
            left = np.flatnonzero(~result)
            helper = helpers[columns.block[a[left]]]
            left, helper = left[helper >= 0], helper[helper >= 0]
            result[left] = self._last_fence_after(a[left], issued[left], helper)
        return result

    def _last_fence_after(
        self, a: np.ndarray, b: np.ndarray, thread: np.ndarray
    ) -> np.ndarray:
        """Whether the last fence of a thread that comes before `b` comes after `a`."""
        keys, events = self._fences(0)
        result = np.zeros(len(a), bool)
        if not len(events):
            return result
        tick = self._trace.order.known(b, thread)
        at = np.searchsorted(keys, thread * self._span + tick, side="right") - 1
        fence = events[np.maximum(at, 0)]
        found = (at >= 0) & (self._trace.columns.thread[fence] == thread)
        mine = np.flatnonzero(found)
        result[mine] = self._trace.order.before(a[mine], fence[mine])
        return result

    def _awaited(self, events: np.ndarray) -> np.ndarray:
        """The kind of fence that completes each access, 0 if it needs none."""
        columns = self._trace.columns
        found = np.zeros(len(events), np.uint8)
        for launch, table in self._completing.items():
            mine = np.flatnonzero(columns.launch[events] == launch)
            instr = np.minimum(columns.instr[events[mine]], len(table) - 1)
            found[mine] = table[instr]
        return found

    @cached_property
    def _completing(self) -> dict[int, np.ndarray]:
        """For launches that have such ops: the fence that each instruction needs."""
        tables: dict[int, np.ndarray] = {}
        for number, launch in enumerate(self._trace.launches):
            codes = [COMPLETED_BY.get(instr.op, 0) for instr in launch.kernel.tape]
            if any(codes):
                tables[number] = np.array([*codes, 0], np.uint8)
        return tables

    def _next_fence(self, events: np.ndarray, scope: int) -> np.ndarray:
        """The next fence of a kind on each event's own thread, or -1."""
        columns = self._trace.columns
        keys, fences = self._fences(scope)
        if not len(fences):
            return np.full(len(events), NEVER)
        thread = columns.thread[events].astype(np.int64)
        key = thread * self._span + columns.clock[events]
        at = np.searchsorted(keys, key, side="right")
        found = fences[np.minimum(at, len(fences) - 1)]
        good = (at < len(fences)) & (columns.thread[found] == thread)
        return np.where(good, found, NEVER)

    def _fences(self, scope: int) -> tuple[np.ndarray, np.ndarray]:
        """Keys (thread, tick) of the fences of a kind, sorted, and their events."""
        if scope not in self._fence_tables:
            columns = self._trace.columns
            is_mine = (columns.kind == Kind.FENCE) & (columns.aux == scope)
            events = np.flatnonzero(is_mine)
            key = columns.thread[events].astype(np.int64) * self._span
            key += columns.clock[events]
            by_key = np.argsort(key, kind="stable")
            self._fence_tables[scope] = key[by_key], events[by_key]
        return self._fence_tables[scope]

    @cached_property
    def _fence_tables(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        return {}

    @cached_property
    def _span(self) -> int:
        return int(self._trace.columns.clock.max(initial=0)) + 2

    @cached_property
    def _fencing_threads(self) -> np.ndarray:
        """For each block, padded with -1, its threads that execute `commit_smem`."""
        columns = self._trace.columns
        events = self._fences(0)[1]
        pairs = np.unique(
            np.stack([columns.block[events] + 1, columns.thread[events]], 1), axis=0
        ).astype(np.int64)
        blocks = int(columns.block.max(initial=-1)) + 2
        counts = np.bincount(pairs[:, 0], minlength=blocks)
        table = np.full((blocks, int(counts.max(initial=0))), -1, np.int64)
        starts = np.cumsum(counts) - counts
        place = np.arange(len(pairs)) - starts[pairs[:, 0]]
        table[pairs[:, 0], place] = pairs[:, 1]
        return np.roll(table, -1, axis=0)  # block -1 is found at the end


def proxies(trace: Trace) -> Proxies:
    """The trace's rules of memory, derived once."""
    if "proxies" not in trace.caches:
        trace.caches["proxies"] = Proxies(trace)
    return trace.caches["proxies"]
