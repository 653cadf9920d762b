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

from pallas_debug.machine import start
from pallas_debug.machine import state as states
from pallas_debug.machine.compile import Program
from pallas_debug.machine.replaying.batch import Batches, Way
from pallas_debug.machine.replaying.encore import Failed as Failed
from pallas_debug.machine.replaying.encore import Stale as Stale
from pallas_debug.machine.replaying.path import Leg, NotReplayable, Path, compile_path
from pallas_debug.machine.replaying.rest import Rest, rest
from pallas_debug.machine.replaying.template import Template, learned
from pallas_debug.machine.step import Step
from pallas_debug.machine.watch import Watch

FEWEST = 16  # grid points: with less it does not pay
MOST_WAYS = 8
MOST_LESSONS = 32
PATIENCE = 4


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
      kept: Ways that an earlier run found, until this writer has their regions.
      patience: For how many blocks they are worth waiting for, without a lesson.
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
        self.program = program
        self.entry = _entry(m)
        self.batches = Batches(m, program.encores, self.entry)
        self.legs: list[Leg] | None = None
        self.lesson: Lesson | None = None
        self.lessons = 0
        self.seen: dict[Any, Template] = {}
        self.ways: list[Way] = []
        self.patience = PATIENCE
        self.kept = [way[1:] for way in program.ways if way[0] == m.options]

    def between_blocks(self, watch: Watch, limit: int) -> None:
        """No block runs: learns from the last one, replays those that follow."""
        if self.entry < 0:
            self._between(None, watch, limit)

    def between_points(self, watch: Watch, limit: int) -> None:
        """The core comes to its next grid point: the same."""
        self._between(self.m.current, watch, limit)

    def _between(self, core: states.Thread | None, watch: Watch, limit: int) -> None:
        now = rest(self.m, core)
        self._recall()
        if self.lesson is not None and now is not None:
            self._learn(self.lesson, now, -1 if core is None else core.number)
        ways = [
            way
            for way in self.ways
            if now is not None and way.template.same == now.same
        ]
        going = bool(ways)
        while going:
            going = self.batches.run(ways, core, watch, limit)
            now, watch.countdown = None, 0
            if watch.over(self.m.writer.events, lambda: start.progress(self.m)):
                watch.countdown = 0
                break
        self.legs = self.lesson = None
        if self.kept and self.patience:
            self.patience -= 1
        elif self.lessons < MOST_LESSONS and len(self.ways) < MOST_WAYS:
            now = now or rest(self.m, core)
            if now is not None:
                self.lesson = Lesson(rest=now)
                self.legs = self.lesson.legs

    def _recall(self) -> None:
        """Takes the ways of an earlier run whose regions have numbers by now."""
        for template, path in tuple(self.kept):
            found = template.of(self.m.writer)
            if found is not None and self.batches.quiet.knows(path.wholes):
                self.kept.remove((template, path))
                self.ways.append(Way(template=found, path=path))

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


def _entry(m: Step) -> int:
    if m.kernel.backend not in start.SEQUENTIAL:
        return -1
    ops = [instr.op for instr in m.kernel.tape]
    return ops.index("grid.next") if "grid.next" in ops else len(ops)
