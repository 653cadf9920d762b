"""Blocks that are replayed one after the other, or many at once, and then their rows."""

from __future__ import annotations

import gc
import itertools
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pallas_debug.machine import start
from pallas_debug.machine import state as states
from pallas_debug.machine.replaying.encore import (
    Encore,
    Encores,
    Failed,
    Kept,
    Part,
    Place,
)
from pallas_debug.machine.replaying.path import Functions, Path
from pallas_debug.machine.replaying.points import Point, points
from pallas_debug.machine.replaying.quiet import Quiet
from pallas_debug.machine.replaying.template import Template, add_tables, rows_of
from pallas_debug.machine.step import Step
from pallas_debug.machine.watch import Watch
from pallas_debug.trace.schema import ROW_BYTES

MOST_EVENTS, MOST_SECONDS = 1 << 15, 0.05  # then rows are written
AHEAD = 256  # grid points that are looked up together


@dataclass(kw_only=True, eq=False)
class Way:
    """A way of this run.

    Attributes:
      its: What replays a block, and many if it can; made anew for each batch.
    """

    template: Template
    path: Path
    its: Functions = field(init=False)


class Batches:
    """Replays the blocks of one run.

    Attributes:
      entry: Where a core enters a grid point; -1 for blocks of their own.
      quiet: The machine, as the functions of paths use it.
      done, places: Templates of the blocks whose rows are not written, and their `At`s
        one after the other.
      events: How many rows that will be.
      first: Number of the next block's first new thread.
      encores: Batches that need not be found again.
      parts: Path, whether together, and number of the blocks so far.
      registers: What the entry thread has at the beginning of the batch.
    """

    def __init__(self, m: Step, kept: Kept, entry: int) -> None:
        self.m = m
        self.encores = Encores(m, kept)
        self.parts: list[tuple[Path, bool, int]] = []
        self.registers: list[Any] = []
        self.entry = entry
        self.quiet = Quiet(m)
        self.done: list[Template] = []
        self.places: list[int] = []
        self.events = 0
        self.first = 0

    def run(
        self,
        ways: list[Way],
        core: states.Thread | None,
        watch: Watch,
        limit: int,
    ) -> bool:
        """Replays some blocks and writes their rows; False when another way comes."""
        room = (limit - len(self.m.writer.log)) // ROW_BYTES
        self.first = len(self.m.writer.threads)
        self._bind(ways, core)
        collecting = gc.isenabled()
        gc.disable()  # much is made here, and no cycles
        try:
            steady = any(way.its.again is not None for way in ways)
            place = self.encores.place() if steady else None
            encore = self._known(place, ways, room)
            if encore is None:
                return self._new(place, ways, core, watch, room)
            self._enter(core, encore.last)
            return encore.going
        finally:
            if collecting:
                gc.enable()

    def _known(self, place: Place | None, ways: list[Way], room: int) -> Encore | None:
        """Repeats a batch of an earlier run, if there is one."""
        if place is None:
            return None
        its = {way.path: way.its for way in ways}
        encore = self.encores.find(place, self.registers, its, room)
        if encore is not None:
            encore.perform(self.quiet, its)
            self.quiet.noted.clear()
            if self.quiet.full:
                raise Failed
            self.encores.ended(encore)
        return encore

    def _new(
        self,
        place: Place | None,
        ways: list[Way],
        core: states.Thread | None,
        watch: Watch,
        room: int,
    ) -> bool:
        """Replays some blocks, one or many at once."""
        until = time.perf_counter() + MOST_SECONDS
        ahead = points(self.m, core)
        last: Point | None = None
        going = True

        def over() -> bool:
            late = time.perf_counter() > until
            return late or watch.interrupt.hit or self.events >= MOST_EVENTS

        try:
            while going and not over():
                some = [*itertools.islice(ahead, AHEAD)]
                done, going = self._blocks(ways[0], some, room), bool(some)
                while going and done < len(some) and not over():
                    going = self._block(ways, some[done], room)
                    done += going
                last = some[done - 1] if done else last
        finally:
            if last is not None:
                self._enter(core, last)
            self._write()
        self._keep(place, last, going)
        return going

    def _keep(self, place: Place | None, last: Point | None, going: bool) -> None:
        """Keeps a batch of steady blocks for other runs."""
        cues, parts, count = self.quiet.cues, list[Part](), 0
        for path, together, blocks in self.parts:
            parts.append((path, together, cues[count : count + blocks]))
            count += blocks
        whole = last is not None and count == len(cues) and not self.m.full
        if place is not None and last is not None and whole:
            self.encores.keep(place, self.registers, parts, last, going)
        self.parts.clear()
        cues.clear()

    def _bind(self, ways: list[Way], core: states.Thread | None) -> None:
        """Makes the functions of the blocks that follow."""
        quiet = self.quiet
        if core is None:
            self.registers = start.registers(self.m)
        else:
            quiet.current, quiet.tid, quiet.notes = core, core.number, core.notes
            self.registers = core.registers
        for way in ways:
            way.its = Functions(*way.path.function(quiet, self.registers))

    def _blocks(self, way: Way, some: list[Point], room: int) -> int:
        """Replays blocks by this way together; how many."""
        template, done = way.template, 0
        while way.its.blocks is not None and done < len(some):
            fitting = max(room - self.events - 1, 0) // template.count
            part = some[done : done + min(way.path.at_once, fitting)]
            buffers, cells = len(self.m.writer.buffers), len(self.quiet.noted)
            try:
                count = way.its.blocks(part, self.first) if part else 0
            except Exception as error:
                raise Failed from error
            if not count:
                break
            self._check(template, buffers, cells, count)
            self.parts.append((way.path, True, count))
            for number, _, _ in part[:count]:
                self._done(template, buffers, number)
                buffers += template.buffers
            done += count
        return done

    def _block(self, ways: list[Way], point: Point, room: int) -> bool:
        """Replays the next block by the first way that is its own."""
        number, at, _ = point
        self.quiet.bid = number
        for place, way in enumerate(ways):
            if self.events + way.template.count >= room:
                continue
            if self._went(way, number, at):
                if place:
                    ways.insert(0, ways.pop(place))
                return True
        return False

    def _went(self, way: Way, number: int, at: tuple[np.int32, ...]) -> bool:
        """Replays a block by this way, if it is the block's."""
        template, noted = way.template, self.quiet.noted
        buffers, cells = len(self.m.writer.buffers), len(noted)
        try:
            if not way.its.block(at, number, self.first):
                return False
        except Exception as error:
            raise Failed from error
        self._check(template, buffers, cells, 1)
        self._done(template, buffers, number)
        last = self.parts[-1] if self.parts else None
        if last is not None and last[0] is way.path and not last[1]:
            self.parts[-1] = way.path, False, last[2] + 1
        else:
            self.parts.append((way.path, False, 1))
        return True

    def _check(self, template: Template, buffers: int, cells: int, count: int) -> None:
        """Whether blocks did as the template says, since there were so many."""
        new = len(self.m.writer.buffers) - buffers, len(self.quiet.noted) - cells
        if new != (template.buffers * count, template.noted * count):
            raise Failed

    def _done(self, template: Template, buffers: int, number: int) -> None:
        """Counts a block that was replayed."""
        state = self.m.state
        self.done.append(template)
        self.places += (1, state.step, self.first, buffers, number)
        self.first += len(template.threads)
        state.step += template.steps
        self.events += template.count

    def _enter(self, core: states.Thread | None, point: Point) -> None:
        """Leaves the machine as the last block's own run would."""
        number, place, begun = point
        self.m.state.next_cluster, self.m.state.dequeued = begun
        if core is not None:
            self.m.enter(number)
            outs = self.m.kernel.tape[self.entry].outs
            for register, at in zip(outs, place, strict=True):
                core.registers[register] = at

    def _write(self) -> None:
        """Appends the rows of the replayed blocks, and those of the side tables."""
        done, noted, writer = self.done, self.quiet.noted, self.m.writer
        if done:
            del noted[sum(template.noted for template in done) :]
            writer.log += rows_of(done, self.places, noted).tobytes()
            add_tables(writer, self.m.launch_number, done, self.places)
        self.m.full |= self.quiet.full
        done.clear()
        self.places.clear()
        noted.clear()
        self.events = 0
