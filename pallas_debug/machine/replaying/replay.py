"""Blocks that go the way of an earlier one get its rows, with numbers added.

Between two grid points nothing is under way. What a block does from there to the next
such moment is a *lesson*: its legs over the tape and its rows. When a way has been seen
twice and the rows agree, it is a *template*: further blocks that go there only do what
the path's function does to values (`path.py`). The law: the trace is the same, byte for
byte. Where that is in doubt the machine runs as ever; where it turns out wrong
(`Failed`) the launch is begun again without replay.
"""

from __future__ import annotations

import gc
import itertools
import math
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pallas_debug.machine import start
from pallas_debug.machine import state as states
from pallas_debug.machine.compile import Program
from pallas_debug.machine.replaying.path import (
    Block,
    Blocks,
    Leg,
    NotReplayable,
    Path,
    compile_path,
)
from pallas_debug.machine.replaying.points import Point, points
from pallas_debug.machine.replaying.quiet import Quiet
from pallas_debug.machine.replaying.rest import Rest, rest
from pallas_debug.machine.replaying.template import (
    Template,
    add_tables,
    learned,
    rows_of,
)
from pallas_debug.machine.step import Step
from pallas_debug.machine.watch import Watch
from pallas_debug.trace.schema import ROW_BYTES

FEWEST = 16  # grid points: with less it does not pay
MOST_WAYS = 8
MOST_LESSONS = 32
BATCH_EVENTS, BATCH_SECONDS = 1 << 15, 0.05  # then rows are written
AHEAD = 256  # grid points that are looked up together


@dataclass(kw_only=True, eq=False)
class Way:
    """A way of this run.

    Attributes:
      block, blocks: Replay a block, and many if it can; made anew for each batch.
    """

    template: Template
    path: Path
    block: Block = field(init=False)
    blocks: Blocks | None = field(init=False)


class Failed(Exception):
    """A block was not as expected: what was written is worth nothing."""


@dataclass(kw_only=True, eq=False)
class Lesson:
    """A block that is being watched: how things were at its beginning, and its legs."""

    rest: Rest
    legs: list[Leg] = field(default_factory=list)


class Replay:
    """The ways of one run.

    Attributes:
      entry: Where a core enters a grid point; -1 for blocks of their own.
      legs: Where the loop notes what it runs: `(thread, from, to)`; None if nowhere.
      done, places: Templates of the blocks whose rows are not written, and their `At`s
        one after the other.
      kept: Ways that an earlier run found, until this writer has their regions.
    """

    @classmethod
    def of(cls, m: Step, program: Program) -> Replay | None:
        """For grid points that come one after the other, if there are enough of them."""
        kernel = m.kernel
        cores = kernel.backend in start.SEQUENTIAL and kernel.facts.get("cores")
        apart = program.coarse and m.options.resident == 1
        if not apart or cores or kernel.grid.cluster or m.launch.mesh:
            return None
        return cls(m, program) if math.prod(m.launch.grid) >= FEWEST else None

    def __init__(self, m: Step, program: Program) -> None:
        self.m = m
        self.quiet = Quiet(m)
        self.program = program
        self.entry = _entry(m)
        self.legs: list[Leg] | None = None
        self.lesson: Lesson | None = None
        self.lessons = 0
        self.seen: dict[Any, Template] = {}
        self.ways: list[Way] = []
        self.kept = [way[1:] for way in program.ways if way[0] == m.options]
        self.done: list[Template] = []
        self.places: list[int] = []
        self.events = 0
        self.first = 0

    def between_blocks(self, watch: Watch, limit: int) -> None:
        """No block runs: learns from the last one, replays those that follow."""
        if self.entry < 0:
            self._between(None, watch, limit)

    def between_points(self, watch: Watch, limit: int) -> None:
        """The core comes to its next grid point: the same."""
        self._between(self.m.current, watch, limit)

    def _between(self, core: states.Thread | None, watch: Watch, limit: int) -> None:
        now = rest(self.m, core)
        taught = bool(self.kept)
        for template, path in tuple(self.kept):
            found = template.of(self.m.writer)
            if found is not None and self.quiet.knows(path.wholes):
                self.kept.remove((template, path))
                self.ways.append(Way(template=found, path=path))
        if self.lesson is not None and now is not None:
            self._learn(self.lesson, now, -1 if core is None else core.number)
        ways = [
            way
            for way in self.ways
            if now is not None and way.template.same == now.same
        ]
        going = bool(ways)
        while going:
            going = self._batch(ways, core, watch, limit)
            now, watch.countdown = None, 0
            if watch.over(self.m.writer.events, lambda: start.progress(self.m)):
                watch.countdown = 0
                break
        self.legs = self.lesson = None
        if not taught and self.lessons < MOST_LESSONS and len(self.ways) < MOST_WAYS:
            now = now or rest(self.m, core)
            if now is not None:
                self.lesson = Lesson(rest=now)
                self.legs = self.lesson.legs

    def _learn(self, lesson: Lesson, now: Rest, core: int) -> None:
        """Makes a template of the block that was watched."""
        self.lessons += 1
        if not now.follows(lesson.rest):
            return
        template = learned(self.m, lesson.rest, now, lesson.legs, core)
        if template is None:
            return
        known = self.program.paths
        held = self.seen.setdefault(template.key, template)
        key = (template.key, self.m.options.values)
        if key not in known:
            if held is template:
                return
            agrees = held.agrees(template)
            known[key] = self._compiled(template) if agrees else None
        path = known[key]
        ways = [way.template.key for way in self.ways]
        if path is not None and template.key not in ways:
            self.ways.append(Way(template=template, path=path))
            self._keep(template, path)

    def _keep(self, template: Template, path: Path) -> None:
        """For the next run with these options; those of others are forgotten."""
        options, kept = self.m.options, self.program.ways
        kept[:] = [way for way in kept if way[0] == options]
        kept.append((options, template, path))

    def _compiled(self, template: Template) -> Path | None:
        lengths = {s: seg.length for s, seg in self.program.segments.items()}
        try:
            return compile_path(
                self.m.kernel,
                template.legs,
                lengths,
                template.spawned,
                template.windows,
                self.m.options.values,
            )
        except NotReplayable:
            return None

    def _batch(
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
        until, collecting = time.perf_counter() + BATCH_SECONDS, gc.isenabled()
        gc.disable()  # much is made here, and no cycles
        ahead = points(self.m, core)
        last: Point | None = None
        going = True

        def over() -> bool:
            late = time.perf_counter() > until
            return late or watch.interrupt.hit or self.events >= BATCH_EVENTS

        try:
            while going and not over():
                some = [*itertools.islice(ahead, AHEAD)]
                done, going = self._blocks(ways[0], some, room), bool(some)
                while going and done < len(some) and not over():
                    going = self._block(ways, some[done], room)
                    done += going
                last = some[done - 1] if done else last
        finally:
            if collecting:
                gc.enable()
            if last is not None:
                self._enter(core, last)
            self._write()
        return going

    def _bind(self, ways: list[Way], core: states.Thread | None) -> None:
        """Makes the functions of the blocks that follow."""
        quiet = self.quiet
        if core is None:
            registers = start.registers(self.m)
        else:
            registers, quiet.current, quiet.tid = core.registers, core, core.number
            quiet.notes = core.notes
        for way in ways:
            way.block, way.blocks = way.path.function(quiet, registers)

    def _blocks(self, way: Way, some: list[Point], room: int) -> int:
        """Replays blocks by this way together; how many."""
        template, done = way.template, 0
        while way.blocks is not None and done < len(some):
            fitting = (room - self.events - 1) // template.count
            part = some[done : done + min(way.path.at_once, fitting)]
            buffers, cells = len(self.m.writer.buffers), len(self.quiet.noted)
            try:
                count = way.blocks(part, self.first) if part else 0
            except Exception as error:
                raise Failed from error
            if not count:
                break
            self._check(template, buffers, cells, count)
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
            if not way.block(at, number, self.first):
                return False
        except Exception as error:
            raise Failed from error
        self._check(template, buffers, cells, 1)
        self._done(template, buffers, number)
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


def _entry(m: Step) -> int:
    if m.kernel.backend not in start.SEQUENTIAL:
        return -1
    ops = [instr.op for instr in m.kernel.tape]
    return ops.index("grid.next") if "grid.next" in ops else len(ops)
