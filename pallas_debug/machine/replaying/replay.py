"""Blocks that go the way of an earlier one get its rows, with numbers added.

Between two grid points nothing is under way. What a block does from there to the next
such moment is a *lesson*: its legs over the tape and its rows. When a way has been seen
twice and the rows agree, it is a *template*: further blocks that go there only do what
the path's function does to values (`path.py`). The law: the trace is the same, byte for
byte. Where that is in doubt the machine runs as ever; where it turns out wrong
(`Failed`) the launch is begun again without replay.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pallas_debug.machine import start
from pallas_debug.machine import state as states
from pallas_debug.machine.compile import Program
from pallas_debug.machine.replaying.path import Leg, NotReplayable, Path, compile_path
from pallas_debug.machine.replaying.quiet import Quiet
from pallas_debug.machine.replaying.rest import Rest, rest
from pallas_debug.machine.replaying.template import NOTED, At, Template, learned
from pallas_debug.machine.step import Step
from pallas_debug.machine.watch import Watch
from pallas_debug.trace.schema import COLUMNS, ROW_BYTES

FEWEST = 16  # grid points: with less it does not pay
MOST_WAYS = 8
MOST_LESSONS = 32
BATCH_EVENTS, BATCH_BLOCKS = 4096, 256  # then the clock is looked at


Way = tuple[Template, Path]


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
        self.done: list[tuple[Template, At]] = []
        self.events = 0

    def between_blocks(self, watch: Watch, limit: int) -> None:
        """No block runs: learns from the last one, replays those that follow."""
        if self.entry < 0:
            self._between(None, watch, limit)

    def between_points(self, watch: Watch, limit: int) -> None:
        """The core comes to its next grid point: the same."""
        self._between(self.m.current, watch, limit)

    def _between(self, core: states.Thread | None, watch: Watch, limit: int) -> None:
        now = rest(self.m, core)
        if self.lesson is not None and now is not None:
            self._learn(self.lesson, now, -1 if core is None else core.number)
        ways = [way for way in self.ways if now is not None and way[0].same == now.same]
        going = bool(ways)
        while going:
            going = self._batch(ways, core, watch, limit)
            now, watch.countdown = None, 0
            if watch.over(self.m.writer.events, lambda: start.progress(self.m)):
                watch.countdown = 0
                break
        self.legs = self.lesson = None
        if self.lessons < MOST_LESSONS and len(self.ways) < MOST_WAYS:
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
        if template.key not in known:
            if held is template:
                return
            agrees = held.agrees(template)
            known[template.key] = self._compiled(template) if agrees else None
        path = known[template.key]
        if path is not None and all(way.key != template.key for way, _ in self.ways):
            self.ways.append((template, path))

    def _compiled(self, template: Template) -> Path | None:
        lengths = {s: seg.length for s, seg in self.program.segments.items()}
        try:
            return compile_path(
                self.m.kernel,
                template.legs,
                lengths,
                template.spawned,
                template.windows,
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
        going, quiet = True, self.quiet
        room = (limit - len(self.m.writer.log)) // ROW_BYTES
        if core is None:
            registers = start.registers(self.m)
        else:
            registers, quiet.current, quiet.tid = core.registers, core, core.number
        try:
            while going and self._is_short() and not watch.interrupt.hit:
                going = self._block(ways, core, registers, room)
        finally:
            self._write()
        return going

    def _is_short(self) -> bool:
        return self.events < BATCH_EVENTS and len(self.done) < BATCH_BLOCKS

    def _block(
        self, ways: list[Way], core: states.Thread | None, registers: list, room: int
    ) -> bool:
        """Replays the next block by the first way that is its own."""
        m, quiet, state = self.m, self.quiet, self.m.state
        kept = state.next_cluster, state.dequeued
        number = start.claim(m) if core is None else m.next_point()
        if number < 0:
            return False
        quiet.at, quiet.bid = m.coordinates(number), number
        quiet.first = len(m.writer.threads)
        for place, (template, path) in enumerate(ways):
            if self.events + template.count >= room:
                continue
            if self._went(template, path, registers):
                if place:
                    ways.insert(0, ways.pop(place))
                if core is not None:
                    self._enter(core, number)
                return True
        state.next_cluster, state.dequeued = kept
        return False

    def _enter(self, core: states.Thread, number: int) -> None:
        """Leaves the core as the grid point's own run would."""
        self.m.enter(number)
        outs = self.m.kernel.tape[self.entry].outs
        for register, at in zip(outs, self.quiet.at, strict=True):
            core.registers[register] = at

    def _went(self, template: Template, path: Path, registers: list) -> bool:
        """Replays a block by this way, if it is the block's."""
        quiet, writer, state = self.quiet, self.m.writer, self.m.state
        before = len(writer.buffers), len(quiet.noted)
        try:
            if not path.function(quiet, registers):
                return False
        except Exception as error:
            raise Failed from error
        buffers = len(writer.buffers) - template.buffers
        if (buffers, len(quiet.noted) - template.noted) != before:
            raise Failed
        at = (1, state.step, quiet.first, buffers, quiet.bid)
        self.done.append((template, at))
        template.add_tables(writer, self.m.launch_number, at)
        state.step += template.steps
        self.events += template.count
        return True

    def _write(self) -> None:
        """Appends the rows of the replayed blocks."""
        done, noted = self.done, self.quiet.noted
        if done:
            del noted[sum(template.noted for template, _ in done) :]
            self.m.writer.log += _rows(done, noted).tobytes()
        self.m.full |= self.quiet.full
        done.clear()
        noted.clear()
        self.events = 0


def _rows(done: list[tuple[Template, At]], noted: list[int]) -> np.ndarray:
    """The rows of replayed blocks, in their order."""
    starts = np.cumsum([0, *(template.count for template, _ in done)])
    rows = np.empty((starts[-1], len(COLUMNS)), np.int32)
    are_open = np.zeros(starts[-1], bool)
    for template in {id(t): t for t, _ in done}.values():
        mine = [n for n, (other, _) in enumerate(done) if other is template]
        where = starts[mine][:, None] + np.arange(template.count)
        rows[where] = template.at([done[n][1] for n in mine])
        are_open[where[:, template.open_rows]] = True
    found = np.array(noted, np.int32).reshape(-1, len(NOTED))
    open_rows = np.flatnonzero(are_open)
    for number, column in enumerate(NOTED):
        rows[open_rows, column] = found[:, number]
    return rows


def _entry(m: Step) -> int:
    if m.kernel.backend not in start.SEQUENTIAL:
        return -1
    ops = [instr.op for instr in m.kernel.tape]
    return ops.index("grid.next") if "grid.next" in ops else len(ops)
