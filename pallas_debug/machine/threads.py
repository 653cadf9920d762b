"""Verbs on threads and on what they wait for: spawn, wake, barriers, semaphores.

A verb that can wait says False and puts the thread to sleep; then nothing has happened,
and its instruction is tried again when somebody wakes it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pallas_debug.machine import devices, peers
from pallas_debug.machine import state as states
from pallas_debug.machine.facts import Facts
from pallas_debug.trace.schema import Kind

GRID = int(Kind.GRID)


class Threads(Facts):
    """Threads and synchronization objects as a rule may use them."""

    __slots__ = ()

    def grid_next(self, rank: int) -> tuple | None:
        """Enters the next grid point of a core; its coordinates, None at the end."""
        number = self.next_point()
        if number < 0:
            return None
        self.enter(number)
        self.emit(GRID, aux=number)
        return self.coordinates(number)

    def next_point(self) -> int:
        """The grid point that a core comes to next, -1 at the end."""
        total = math.prod(self.launch.grid)
        first = total * self.device if self.launch.mesh else 0
        number, end = self.thread.notes.get("point", first), first + total
        while self.chosen is not None and number < end and number not in self.chosen:
            number += 1
        return number if number < end else -1

    def enter(self, number: int) -> None:
        """From here on, a core is at this grid point."""
        thread = self.thread
        thread.notes["point"] = self.point = number + 1
        thread.bid = self.bid = number

    def coordinates(self, number: int) -> tuple[np.int32, ...]:
        """A linear grid index as a core's values, without those of its device."""
        point: list[np.int32] = []
        for size in reversed(self.launch.grid):
            number, rest = divmod(number, size)
            point.append(np.int32(rest))
        return tuple(reversed(point))

    def peer(self, ref: int, axes: tuple[str, ...], *ids: Any) -> int:
        """The same buffer as another block of the cluster, or another device, owns it."""
        if all(axis in self.kernel.grid.cluster_names for axis in axes):
            return peers.reach(self, ref, axes, ids)
        return devices.reach(self, ref, axes, ids)

    def spawn(
        self,
        kind: str,
        pc: int,
        registers: Sequence[Any],
        family: str = "",
        index: int = -1,
    ) -> int:
        """Starts an agent at tape position `pc` with these registers.

        With a `family` the issuing thread can commit and join it. `index` is a warp's
        number in its warpgroup.
        """
        parent = self.thread
        block = parent.block
        number = self.writer.thread(
            (kind, self.tid, self.device, block.cluster, self.bid, index,
             self.launch_number, self.pc)
        )  # fmt: skip
        child = states.Thread(number, pc, list(registers), block)
        child.bid = self.bid
        self.state.threads[number] = child
        self.state.ready.append(number)
        block.live += 1
        if family:
            parent.agents.append(states.Agent(number, family))
        self.emit(Kind.SPAWN, number)
        return number

    def wake(self, waiters: list[int]) -> None:
        """Makes sleeping threads try their instruction again."""
        for number in waiters:
            thread = self.state.threads[number]
            if thread.status == states.WAITING:
                thread.status = states.READY
                self.state.ready.append(number)
        waiters.clear()

    def _sleep(self, waiters: list[int], wait: tuple[int, int, int]) -> bool:
        thread = self.thread
        if thread.waits is None:
            region = -1 if wait[0] < 0 else self._element(wait[1])
            self.emit(Kind.BLOCK, wait[0], region, wait[2] if wait[0] >= 0 else wait[1])
        thread.waits = wait
        thread.status = states.WAITING
        waiters.append(self.tid)
        return False

    def _element(self, index: int) -> int:
        region = self._elements.get(index)
        if region is None:
            region = self._elements[index] = self.writer.region((0, index, 1, 1))
        return region

    def arrive(self, barrier: int, index: int, count: int = 1) -> None:
        """Arrives at a barrier; the last arrival completes its phase.

        A number outside the array names no barrier: nobody waits there.
        """
        bars = self.state.barriers[barrier]
        if not bars.has(index):
            self.emit(Kind.ARRIVE, barrier, self._element(index))
            return
        for _ in range(count):
            done = bars.completed[index]
            self.emit(Kind.ARRIVE, barrier, self._element(index), done)
            bars.pending[index] -= 1
            if bars.pending[index] == 0:
                bars.pending[index] = bars.arrivals
                bars.completed[index] = done + 1
                self.emit(Kind.PHASE, barrier, self._element(index), done + 1)
                self.wake(bars.waiters)

    def land(self, barrier: int, index: int, amount: int, expected: int = 0) -> None:
        """Bytes of a copy in which several blocks take part have come in.

        `expected` opens an arrival that takes place when so many have.
        """
        bars = self.state.barriers[barrier]
        open_ones = bars.expected.get(index, ())
        if expected:
            open_ones = (*open_ones, expected)
        landed = bars.landed.get(index, 0) + amount
        due = 0
        while due < len(open_ones) and landed >= open_ones[due]:
            landed -= open_ones[due]
            due += 1
        bars.expected[index], bars.landed[index] = open_ones[due:], landed
        if due:
            self.arrive(barrier, index, due)
        else:
            done = bars.completed[index] if bars.has(index) else 0
            self.emit(Kind.LAND, barrier, self._element(index), done)

    def wait(self, barrier: int, index: int) -> bool:
        """Waits for the phase after the last one that this thread observed."""
        bars = self.state.barriers[barrier]
        who, phase = self._observer(bars, index)
        if not bars.has(index) or bars.completed[index] <= phase:
            return self._sleep(bars.waiters, (barrier, index, phase + 1))
        phase += 1
        bars.observed[who, index] = bars.observed.get((who, index), 0) + 1
        self.thread.waits = None
        self.emit(Kind.WAIT, barrier, self._element(index), phase)
        return True

    def catch_up(self, barrier: int, index: int) -> None:
        """Counts the phases up to now as observed; records nothing."""
        bars = self.state.barriers[barrier]
        if bars.has(index):
            who, phase = self._observer(bars, index)
            missed = bars.completed[index] - phase
            bars.observed[who, index] = bars.observed.get((who, index), 0) + missed

    def phase_ready(self, barrier: int, index: int) -> bool:
        """Whether a wait would not sleep; records nothing."""
        bars = self.state.barriers[barrier]
        if not bars.has(index):
            return False
        return bars.completed[index] > self._observer(bars, index)[1]

    def _observer(self, bars: states.Barriers, index: int) -> tuple[Any, int]:
        """Who waits, and how many phases it has observed.

        A warp has its warpgroup's count and its own, over all `warp_map`s.
        """
        notes, observed = self.thread.notes, bars.observed
        warp = notes.get("warp")
        if warp is not None:
            seen = observed.get((warp[0], index), 0) + observed.get((warp, index), 0)
            return warp, seen
        seen = observed.get((self.tid, index), 0)
        for number in range(notes.get("warps", 0)):
            alone = observed.get(((self.tid, number), index), 0)
            seen = max(seen, observed.get((self.tid, index), 0) + alone)
        return self.tid, seen

    def signal(self, semaphore: int, index: int, amount: int) -> None:
        """Increases a semaphore."""
        sems = self.state.semaphores[semaphore]
        if 0 <= index < len(sems.count):
            sems.count[index] += amount
        self.emit(Kind.SIGNAL, semaphore, self._element(index), amount)
        self.wake(sems.waiters)

    def take(
        self, semaphore: int, index: int, amount: int, decrement: bool = True
    ) -> bool:
        """Waits until a semaphore has `amount` units, then takes them."""
        sems = self.state.semaphores[semaphore]
        inside = 0 <= index < len(sems.count)
        if not inside or sems.count[index] < amount:
            return self._sleep(sems.waiters, (semaphore, index, amount))
        if decrement:
            sems.count[index] -= amount
        self.thread.waits = None
        taken = amount if decrement else 0
        self.emit(Kind.WAIT, semaphore, self._element(index), taken)
        return True
