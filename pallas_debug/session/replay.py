"""Executes recorded launches again, to ask for what the trace does not hold.

One timeline for each launch, made when it is first asked for. A launch that does not
come out as it was recorded is refused: its registers would be somebody else's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from pallas_debug import errors, ir
from pallas_debug.machine.options import Options
from pallas_debug.machine.run import Run
from pallas_debug.session.timeline import Timeline
from pallas_debug.trace import Trace
from pallas_debug.trace.schema import Kind

NEAR_STEPS = 32


@dataclass(frozen=True, kw_only=True)
class Moment:
    """What a thread holds around one instruction.

    Attributes:
      pc: Tape position: of the instruction, or the one that comes next.
      registers: Those needed shortly before it, at it, and after it, by number: what
        a statement has just used is still there for whoever stops in it. References to
        what the thread was called with or allocated are there as long as it lives.
    """

    pc: int
    registers: dict[int, Any]


class Held(NamedTuple):
    """What a run had done at a step, and what a thread needed then."""

    step: int
    events: int
    pc: int
    registers: dict[int, Any]


class Replay:
    """The launches of a trace, to be executed again."""

    def __init__(self, trace: Trace, options: Options | None = None) -> None:
        self.trace = trace
        self._options = options
        self._timelines: dict[int, Timeline] = {}
        self._sources: dict[int, ir.Launch] = {}
        self._kept: dict[int, tuple[int, ...]] = {}
        self._allocs: dict[int, dict[int, np.ndarray]] = {}

    def attach(self, sources: dict[int, ir.Launch]) -> None:
        """Gives launches of a trace from a file what is needed to run them."""
        self._sources.update(sources)
        self._timelines.clear()

    def grown(self, trace: Trace, options: Options) -> Replay:
        """The same over a trace that begins with this one and has more of its end."""
        last = len(trace.launches) - 1
        made = Replay(trace, None if self._options is None else options)
        made._sources.update(self._sources)
        made._timelines.update({n: t for n, t in self._timelines.items() if n < last})
        return made

    def use(self, launch: int, timeline: Timeline) -> None:
        """Sets the timeline of a launch that has one already."""
        self._timelines[launch] = timeline

    def is_diverted(self, launch: int) -> bool:
        """Whether a state of the launch was edited."""
        return launch in self._timelines and self._timelines[launch].is_diverted

    def source(self, launch: int) -> ir.Launch:
        """What was executed; refused for a launch that only came from a file."""
        recorded = self.trace.launches[launch]
        source = self._sources.get(launch, recorded.source)
        if source is None:
            raise errors.NoSource(name=recorded.name, loc=recorded.loc)
        return source

    def options(self, launch: int) -> Options:
        """The options that the launch was recorded with."""
        if self._options is not None:
            return self._options
        kept: dict[str, Any] = dict(self.trace.meta.get("options", {}))
        known = {field.name for field in fields(Options)}
        kept = {name: value for name, value in kept.items() if name in known}
        if kept and "blocks" not in kept:  # a selection is not kept, its blocks are
            events = self.trace.launches[launch].events
            blocks = np.unique(self.trace.columns.block[events.start : events.stop])
            kept["blocks"] = [int(block) for block in blocks if block >= 0]
        kept["progress"] = False
        return Options(**kept)

    def timeline(self, launch: int) -> Timeline:
        """The timeline of a launch, in the numbers of the trace."""
        found = self._timelines.get(launch)
        if found is None:
            for number in range(launch + 1):
                self.source(number)
            found = Timeline.of(
                self.trace,
                launch,
                options=self.options(launch),
                sources=self._sources,
            )
            self._timelines[launch] = found
        return found

    def moment(self, event: int, thread: int) -> Moment:
        """What a thread holds when an event has just happened."""
        return next(self.moments([event], thread, near=NEAR_STEPS))

    def moments(
        self, events: Iterable[int], thread: int = -1, *, near: int = 0
    ) -> Iterator[Moment]:
        """The same for rising events of one launch; of each one's thread by default.

        `near` is how many instructions before each event are looked at, too.
        """
        from pallas_debug.jaxlink.evaluate import flushing_denormals

        rising = list(events)
        launch = int(self.trace.columns.launch[rising[0]])
        timeline = self.timeline(launch)
        with flushing_denormals():  # leaves checkpoints: what comes next is near
            timeline.at(self.steps(rising[0])[0])
        pairs = [(event, self._who(event, thread)) for event in rising]
        ways = [self._way(event, number, near) for event, number in pairs]
        wanted: dict[int, set[int]] = {}
        for (_, number), way in zip(pairs, ways, strict=True):
            for step in way:
                wanted.setdefault(step, set()).add(number)
        runs = zip(sorted(wanted), timeline.walk(sorted(wanted)), strict=True)
        seen: dict[tuple[int, int], Held] = {}
        firsts = [way[0] for way in ways[1:]] + [ways[-1][-1]]
        needed = list(
            accumulate(reversed(firsts), min)
        )  # from where on, by what is left
        for (event, number), way in zip(pairs, ways, strict=True):
            while (way[-1], number) not in seen:
                with flushing_denormals():
                    step, run = next(runs)
                for one in wanted[step]:
                    seen[step, one] = self._held(launch, timeline, run, one)
            yield self._moment(event, number, [seen[step, number] for step in way])
            least = needed.pop()
            for key in [key for key in seen if key[0] < least]:
                del seen[key]

    def needed(self, event: int, thread: int) -> dict[int, Any]:
        """Registers that a thread will read when an event's instruction is done."""
        from pallas_debug.jaxlink.evaluate import flushing_denormals

        timeline = self.timeline(int(self.trace.columns.launch[event]))
        with flushing_denormals():
            return timeline.registers(self.steps(event)[1], thread)

    def _who(self, event: int, thread: int) -> int:
        return thread if thread >= 0 else int(self.trace.columns.thread[event])

    def _way(self, event: int, thread: int, near: int) -> list[int]:
        """Steps at which to look: back to the thread's last event, if that is near."""
        before, after = self.steps(event)
        mine = self.trace.columns.of_thread(thread)
        place = int(np.searchsorted(mine, event))
        last = int(self.trace.columns.step[mine[place - 1]]) if place else -1
        same = (
            place
            and self.trace.columns.launch[mine[place - 1]]
            == (self.trace.columns.launch[event])
        )
        start = max(before - near, last + 1 if same else 0, 0)
        return [*range(start, before), before, after]

    def _moment(self, event: int, thread: int, way: Sequence[Held]) -> Moment:
        columns, here = self.trace.columns, way[-2]  # the last one is behind the event
        self._check(here, event)
        registers = self._allocated(thread, event)
        for held in way:
            registers.update(held.registers)
        own = thread == int(columns.thread[event])
        pc = int(columns.instr[event]) if own else here.pc
        return Moment(pc=pc, registers=registers)

    def _allocated(self, thread: int, event: int) -> dict[int, Any]:
        """References to what a thread allocated and has not freed, read again or not."""
        trace, columns = self.trace, self.trace.columns
        if trace.thread_rows[thread].kind == "launch":  # it has no registers
            return {}
        if thread not in self._allocs:
            mine = columns.of_thread(thread)
            mine = mine[columns.kind[mine] == Kind.ALLOC]
            instrs = columns.instr[mine]
            self._allocs[thread] = {
                int(instr): mine[instrs == instr] for instr in np.unique(instrs)
            }
        launch = trace.launches[int(columns.launch[event])]
        found: dict[int, Any] = {}
        for instr, events in self._allocs[thread].items():
            if not 0 <= instr < len(launch.kernel.tape):
                continue
            outs = launch.kernel.tape[instr].outs
            end = int(np.searchsorted(events, event, "right"))
            last = columns.object[events[max(end - len(outs), 0) : end]].tolist()
            if len(last) != len(outs):
                continue
            for register, number in zip(outs, last, strict=True):
                buffer = trace.buffers[number]
                alive = buffer.free < 0 or buffer.free > event
                if alive and buffer.launch is launch:
                    found[register] = number
        return found

    def steps(self, event: int) -> tuple[int, int]:
        """Instructions executed before an event's instruction, and when it is done."""
        columns = self.trace.columns
        before = int(columns.step[event])
        return before, before + (int(columns.kind[event]) != Kind.BLOCK)

    def _check(self, held: Held, event: int) -> None:
        """Whether the run has come to the event's instruction as the recording did."""
        columns = self.trace.columns
        recorded = self.trace.launches[int(columns.launch[event])]
        step = int(columns.step[event])
        part = columns.step[recorded.first_event : recorded.last_event]
        least, most = (int(np.searchsorted(part, step, s)) for s in ("left", "right"))
        seen = held.events - recorded.first_event
        if held.step != step or not least <= seen <= most:
            raise errors.OtherReplay(name=recorded.name, loc=recorded.loc)

    def _held(self, launch: int, timeline: Timeline, run: Run, thread: int) -> Held:
        state = run.m.state
        found = state.threads.get(thread)
        registers = timeline.needed(state, thread)
        if found is not None and self.trace.thread_rows[thread].instr < 0:
            kept = self._arguments(launch)
            registers = {r: found.registers[r] for r in kept} | registers
        return Held(
            step=state.step,
            events=run.writer.events,
            pc=found.pc if found is not None else -1,
            registers=registers,
        )

    def _arguments(self, launch: int) -> tuple[int, ...]:
        """Registers that always hold what the kernel was called with."""
        if launch not in self._kept:
            kernel = self.trace.launches[launch].kernel
            seen = {
                one.number
                for instr in kernel.tape
                if instr.op == "window.view"
                for one in instr.ins[:1]
                if isinstance(one, ir.Reg)
            }  # the user's parameter is the window
            kept = tuple(r for r in kernel.arguments if r not in seen)
            self._kept[launch] = kept
        return self._kept[launch]
