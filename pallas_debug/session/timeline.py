"""The full state of a launch at any step: the nearest checkpoint, then re-execution.

A launch and its recorded choices fix everything; checkpoints only make it quick. They
lie sparsely where nobody looks and densely just before the cursor, so that stepping
back costs a few instructions, not the whole run. Deleting them changes nothing else.

     0 ──┬────────┬────────┬─────────┬───┬──┬┬▷ cursor       ┬ checkpoints
"""

from __future__ import annotations

import bisect
import copy
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pallas_debug import ir, machine
from pallas_debug.ir.flow import live_at_leaders
from pallas_debug.machine import schedules
from pallas_debug.machine.checkpoint import Checkpoint, checkpoint, resume
from pallas_debug.machine.compile import WAIT
from pallas_debug.machine.run import Run, advance, begin
from pallas_debug.machine.state import State
from pallas_debug.trace.fork import Counts, Fork
from pallas_debug.trace.trace import Trace
from pallas_debug.trace.writer import LaunchRecord, Writer

Choices = Iterable[tuple[int, int, int]]

SPARSE_STEPS = 4096
BACK_STEPS = (2048, 256, 32, 0)
BUDGET_BYTES = 256 << 20


class Timeline:
    """Can produce the state of a launch at any step, and a run that goes on from there.

    Attributes:
      launch: What is executed.
      options: Of the recording; they decide what a run records and its limits.
      choices: The recorded ones; a run follows them.
      budget_bytes: How much memory the checkpoints may take, the first one aside.
    """

    def __init__(
        self,
        launch: ir.Launch,
        options: machine.Options,
        choices: Choices = (),
        *,
        preempt: bool | None = None,
        writer: Callable[[], Writer] = Writer,
        budget_bytes: int = BUDGET_BYTES,
    ) -> None:
        """Prepares the launch; nothing is executed.

        Args:
          launch: What was executed.
          options: The options it was executed with.
          choices: What the trace says about who ran; none for a single thread.
          preempt: As for `machine.begin`, for a recording by a policy of one's own.
          writer: Makes a writer at which the launch's rows begin.
          budget_bytes: Bound of the memory for checkpoints.
        """
        self.launch = launch
        self.options = options
        self.budget_bytes = budget_bytes
        program = machine.with_steps(machine.compile_kernel(launch.kernel))
        if preempt is None:
            preempt = options.policy != "round-robin"
        quiet = replace(options, values="none")
        loud, silent = (
            begin(
                launch,
                writer(),
                chosen,
                program=program,
                policy=schedules.round_robin,
                preempt=preempt,
            )
            for chosen in (options, quiet)
        )
        number = loud.m.launch_number
        self.choices = tuple(choice for choice in choices if choice[0] == number)
        self._start = checkpoint(loud)
        self._marks: list[Checkpoint] = [checkpoint(silent)]
        self._live: dict[int, set[int]] | None = None
        self._before: Timeline | None = None

    @classmethod
    def of(
        cls,
        trace: Trace,
        launch: int = 0,
        *,
        options: machine.Options,
        sources: Mapping[int, ir.Launch] | None = None,
    ) -> Timeline:
        """The timeline of a recorded launch; numbers are those of the trace.

        `sources` has what was executed where the trace, from a file, does not know it.
        """
        known = {la.number: la.source for la in trace.launches} | dict(sources or {})
        source = known[launch]
        assert source is not None, "the launch came from a file"
        return cls(
            source,
            options,
            trace.choices,
            writer=lambda: _before(trace, launch, known),
        )

    def at(self, step: int) -> State:
        """The state when `step` instructions have been executed, or at the end.

        It is a copy: whoever asked may keep and change it.
        """
        if self._before is not None and step < self._marks[0].step:
            return self._before.at(step)
        run = resume(self._nearest(step), choices=self.choices)
        assert isinstance(run.writer, Fork)
        for mark in _marks_between(run.m.state.step, step):
            ended = _advance(run, mark)
            run.writer.drop()
            if ended:
                break
            self._keep(run, step)
        return run.m.state

    def registers(self, step: int, thread: int) -> dict[int, Any]:
        """Registers of a thread at a step that the thread still needs, by number."""
        return self.needed(self.at(step), thread)

    def needed(self, state: State, thread: int) -> dict[int, Any]:
        """Registers of a thread that it still needs in a state, by number."""
        found = state.threads.get(thread)
        if found is None:
            return {}
        if self._live is None:
            tape = self.launch.kernel.tape
            self._live = live_at_leaders(tape, range(len(tape)))
        live = self._live[found.pc]
        return {n: found.registers[n] for n in sorted(live)}

    def walk(self, steps: Iterable[int]) -> Iterator[Run]:
        """One run at rising steps, for looking only."""
        run: Run | None = None
        first = self._marks[0].step
        for step in steps:
            if self._before is not None and step < first:
                yield from self._before.walk([step])
                continue
            if run is None:
                run = resume(self._nearest(step), choices=self.choices)
            assert isinstance(run.writer, Fork)
            if run.m.state.step < step:
                _advance(run, step)
                run.writer.drop()
            yield run

    def resume(self, step: int) -> Run:
        """A run stopped before instruction number `step`; `advance` makes it go on.

        What it has written and will write equals what the recording wrote; to get
        there it records the launch once more from its start.
        """
        run = resume(self._start, choices=self.choices)
        advance(run, until=step)
        return run

    def executed(self) -> list[tuple[int, int]]:
        """Which thread executed which instruction at each step: `(thread, pc)`."""
        mark, log = self._marks[0], list[tuple[int, int]]()
        if self._before is not None:
            log = self._before.executed()[: mark.step]
        run = resume(mark, choices=self.choices)
        single = run.program.single
        noted = {
            pc: replace(one, run=_noted(one.run, pc, log)) for pc, one in single.items()
        }
        run.program = replace(run.program, segments=noted, single={})
        assert isinstance(run.writer, Fork)
        for step in itertools.count(mark.step + SPARSE_STEPS, SPARSE_STEPS):
            if _advance(run, step):
                return log
            run.writer.drop()
        raise AssertionError("unreachable: a run ends")

    def diverted(self, step: int, edit: Callable[[Run], None]) -> tuple[Timeline, Run]:
        """A timeline whose state was edited before a step, and a run stopped there.

        Earlier steps are those of this one. The edit is given a run of which nobody
        else has anything.
        """
        twin = copy.copy(self)
        loud = self.resume(step)
        silent = resume(self._nearest(step), choices=self.choices)
        _advance(silent, step)
        edit(loud)
        edit(silent)
        twin._start, twin._marks = checkpoint(loud), [checkpoint(silent)]
        twin._before = self
        return twin, loud

    @property
    def is_diverted(self) -> bool:
        """Whether a state was edited."""
        return self._before is not None

    @property
    def checkpoints(self) -> tuple[int, ...]:
        """Steps at which a state is kept."""
        return tuple(mark.step for mark in self._marks)

    @property
    def size_bytes(self) -> int:
        """Memory that the checkpoints take, the first one aside."""
        return sum(mark.size_bytes for mark in self._marks[1:])

    def forget(self) -> None:
        """Deletes the checkpoints; only speed changes."""
        del self._marks[1:]

    def _nearest(self, step: int) -> Checkpoint:
        after = bisect.bisect_right(self.checkpoints, step)
        return self._marks[max(after - 1, 0)]

    def _keep(self, run: Run, cursor: int) -> None:
        """Adds a checkpoint, then drops those that help least."""
        step = run.m.state.step
        place = bisect.bisect_left(self.checkpoints, step)
        if place < len(self._marks) and self._marks[place].step == step:
            return
        self._marks.insert(place, checkpoint(run))
        while len(self._marks) > 1 and self.size_bytes > self.budget_bytes:
            del self._marks[self._least_useful(cursor)]

    def _least_useful(self, cursor: int) -> int:
        """The one whose absence costs least, measured by how far it is away."""
        steps = [*self.checkpoints, self._marks[-1].step + SPARSE_STEPS]

        def loss(number: int) -> float:
            gap = steps[number + 1] - steps[number - 1]
            return gap / (1 + abs(cursor - steps[number]))

        return min(range(1, len(self._marks)), key=loss)


def _noted(
    run: Callable[[Any, list[Any]], int], pc: int, log: list[tuple[int, int]]
) -> Callable[[Any, list[Any]], int]:
    """An instruction that notes each execution; one that waits has not happened."""

    def noted(m: Any, registers: list[Any]) -> int:
        following = run(m, registers)
        if following != WAIT:
            log.append((m.tid, pc))
        return following

    return noted


def _advance(run: Run, until: int) -> bool:
    """Runs on as `advance`; Ctrl-C does not pass for a state."""
    ended = advance(run, until=until)
    if ended and run.record.outcome.kind == "interrupted":
        raise KeyboardInterrupt
    return ended


def _marks_between(start: int, cursor: int) -> list[int]:
    """Where to stop for a checkpoint on the way to the cursor, the cursor last."""
    sparse = range((start // SPARSE_STEPS + 1) * SPARSE_STEPS, cursor, SPARSE_STEPS)
    dense = [cursor - back for back in BACK_STEPS if cursor - back > start]
    return sorted({*sparse, *dense, cursor})


def _before(
    trace: Trace, launch: int, sources: Mapping[int, ir.Launch | None]
) -> Writer:
    """A writer that counts on from a trace's earlier launches, without their rows."""
    base = Writer()
    base.threads = [row for row in trace.thread_rows if row.launch < launch]
    base.buffers = [row for row in trace.buffer_rows if row.launch < launch]
    for earlier in trace.launches[:launch]:
        source = sources[earlier.number]
        assert source is not None, "the launch came from a file"
        base.launches.append(LaunchRecord(source, earlier.first_event))
    since = Counts(
        events=trace.launches[launch].first_event,
        threads=len(base.threads),
        buffers=len(base.buffers),
        launches=launch,
    )
    return Fork(base, since)
