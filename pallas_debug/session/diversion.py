"""What-if runs: the launch goes on from a moment with an edit, or with other choices.

A diversion has a trace of its own, of the one launch, and numbers of its own. The
recording stays as it is: an edited state is a copy, and rows go to another writer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pallas_debug import errors, machine
from pallas_debug.machine import schedules
from pallas_debug.machine.memory import Window
from pallas_debug.machine.options import Options
from pallas_debug.machine.run import Run, advance
from pallas_debug.session.replay import Replay
from pallas_debug.session.timeline import Timeline
from pallas_debug.trace import Fork, Trace, Writer, boxes, close, fold
from pallas_debug.trace.schema import BufferRow, Kind, RegionKind

ALIAS = BufferRow._fields.index("alias")


def outputs_of(trace: Trace) -> tuple[np.ndarray, ...]:
    """Contents of the results of a run's only launch, at its end."""
    [launch] = trace.launches
    return tuple(fold.memory(trace, number).values for number in launch.outputs)


@dataclass(frozen=True, kw_only=True, repr=False)
class Diversion:
    """Another run of a launch.

    Attributes:
      number: Among the runs of the session; 0 is the recording.
      label: What is different, in words.
      trace: What happened then, of this launch alone.
      launch: The launch of the recording.
      cursor: Where it begins to differ, in its own trace.
      timeline: Executes it again.
    """

    number: int
    label: str
    trace: Trace
    launch: int
    cursor: int
    timeline: Timeline = field(compare=False)

    @property
    def outcome(self) -> str:
        """How it ended."""
        return self.trace.launches[0].outcome.kind

    @property
    def outputs(self) -> tuple[np.ndarray, ...]:
        """Contents of the launch's results at its end."""
        return outputs_of(self.trace)

    def __repr__(self) -> str:
        return (
            f"<run {self.number}, {self.label}: {len(self.trace):,} events, "
            f"{self.outcome}>"
        )


@dataclass(frozen=True, kw_only=True)
class Edit:
    """A value to set.

    Attributes:
      register, thread: Which register, of which thread; -1 for memory.
      buffer, box: Which part of which buffer.
      value: A NumPy array or scalar.
      name: What the user calls the buffer.
    """

    register: int = -1
    thread: int = -1
    buffer: int = -1
    box: boxes.Box = ()
    value: Any = None
    name: str = ""


def alone(trace: Trace, replay: Replay, launch: int) -> Timeline:
    """The timeline of a launch as the only one of a trace: numbers from 0."""
    if launch == 0:  # its numbers are those already; it may be a diversion itself
        return replay.timeline(0)
    before = sum(row.launch < launch for row in trace.thread_rows)
    choices = [(0, s, t - before) for la, s, t in trace.choices if la == launch]
    return Timeline(replay.source(launch), replay.options(launch), choices)


def diverted(
    trace: Trace, replay: Replay, launch: int, step: int, edit: Edit
) -> tuple[Trace, int, Timeline]:
    """The launch with a value set before an instruction: trace, cursor, timeline."""
    from pallas_debug.jaxlink.evaluate import flushing_denormals

    before = sum(row.launch < launch for row in trace.thread_rows)
    buffers = sum(row.launch < launch for row in trace.buffer_rows)
    edit = replace(
        edit,
        thread=edit.thread - before if edit.thread >= 0 else -1,
        buffer=edit.buffer - buffers if edit.buffer >= 0 else -1,
    )
    base = alone(trace, replay, launch)
    with flushing_denormals():
        twin, run = base.diverted(step, lambda run: apply(run, edit))
        cursor = run.writer.events
        _to_the_end(run)
    assert isinstance(run.writer, Fork)
    made = close(run.writer.joined(), meta=_meta(trace, launch))
    twin.choices = made.choices
    return made, cursor, twin


def scheduled(
    trace: Trace,
    replay: Replay,
    launch: int,
    *,
    options: Options | None = None,
    choices: Iterable[int] | None = None,
) -> tuple[Trace, int, Timeline]:
    """The launch under another schedule: trace, cursor, timeline.

    Args:
      trace: The recording.
      replay: Of it.
      launch: Which launch.
      options: With another policy or seed.
      choices: The threads in the order in which they are to run.
    """
    from pallas_debug.jaxlink.evaluate import flushing_denormals

    if replay.is_diverted(launch):
        accepted = "a session over the recording: this run has an edited state"
        raise errors.BadOption(option="session", value="a what-if", accepted=accepted)
    options = options or replay.options(launch)
    policy = None if choices is None else schedules.replay(choices)
    writer = Writer()
    with flushing_denormals():
        run = machine.begin(replay.source(launch), writer, options, policy=policy)
        _to_the_end(run)
    made = close(writer, meta=_meta(trace, launch))
    cursor = _first_difference(trace, launch, made)
    timeline = Timeline(
        replay.source(launch), options, made.choices, preempt=run.preempt
    )
    return made, cursor, timeline


def _to_the_end(run: Run) -> None:
    advance(run)
    if run.record.outcome.kind == "interrupted":
        raise KeyboardInterrupt


def _meta(trace: Trace, launch: int) -> dict[str, Any]:
    return {**trace.meta, "diversion": f"of launch {launch}"}


def _first_difference(trace: Trace, launch: int, other: Trace) -> int:
    """How many events the two runs of a launch have in common."""
    recorded = trace.launches[launch]
    count = min(len(recorded.events), len(other))
    offset = sum(row.launch < launch for row in trace.thread_rows)
    part = slice(recorded.first_event, recorded.first_event + count)
    mine, its = trace.columns, other.columns
    differs = mine.kind[part] != its.kind[:count]
    differs |= mine.instr[part] != its.instr[:count]
    differs |= mine.thread[part].astype(np.int64) - offset != its.thread[:count]
    found = np.flatnonzero(differs)
    return int(found[0]) if len(found) else count


def apply(run: Run, edit: Edit) -> None:
    """Sets a value in the state of a run; what is set in memory becomes an event."""
    state = run.m.state
    if edit.register >= 0:
        state.threads[edit.thread].registers[edit.register] = edit.value
        return
    memory = state.memory.get(edit.buffer)
    if memory is None:
        accepted = "a buffer that is alive there"
        raise errors.BadOption(option="name", value=edit.name, accepted=accepted)
    extents = boxes.extents(edit.box, memory.data.shape) or ()
    part = tuple(slice(start, stop) for start, stop in extents)
    memory.own()
    shape = memory.data[part].shape
    value = np.broadcast_to(edit.value, shape).astype(memory.data.dtype)
    memory.data[part] = value
    _share(run, edit.buffer)
    spans = [n for start, stop in extents for n in (start, stop - start, 1)]
    region = run.writer.region((int(RegionKind.BOX), *spans))
    _emit(run, edit, region, run.writer.payload(value))


def _share(run: Run, buffer: int) -> None:
    """Buffers that are aliases of an edited one see the edit."""
    rows, memory = run.writer.buffers, run.m.state.memory
    for number, held in memory.items():
        if buffer in (rows[number][ALIAS], number) or rows[buffer][ALIAS] == number:
            held.data = memory[buffer].data


def _emit(run: Run, edit: Edit, region: int, payload: int) -> None:
    m, thread = run.m, run.m.state.threads.get(edit.thread)
    m.tid = edit.thread if thread is not None else m.root
    m.bid = thread.bid if thread is not None else -1
    m.pc = thread.pc if thread is not None else run.launch.kernel.entry
    m.base = m.state.step - m.pc
    m.emit(Kind.WRITE, edit.buffer, region, payload=payload)


def value_like(value: Any, old: Any, name: str) -> Any:
    """A value of the shape and dtype of the one that it replaces."""
    held = np.asarray(old)
    try:
        made = np.broadcast_to(np.asarray(value), held.shape).astype(held.dtype)
    except (TypeError, ValueError):
        accepted = f"something that fits {held.dtype.name}{list(held.shape)}"
        raise errors.BadOption(option=name, value=value, accepted=accepted) from None
    return made if held.ndim else made[()]


def part_of(array: np.ndarray, box: boxes.Box, name: str) -> np.ndarray:
    """A part of an array; refused if there is nothing in it."""
    extents = boxes.extents(box, array.shape)
    if extents is None or any(start >= stop for start, stop in extents):
        accepted = f"a part of the shape {array.shape}"
        raise errors.BadOption(option=name, value=boxes.text_of(box), accepted=accepted)
    return array[tuple(slice(start, stop) for start, stop in extents)]


def through(reference: Any, box: boxes.Box, name: str) -> tuple[int, boxes.Box]:
    """The buffer behind a reference, and a part of the reference as one of the buffer."""
    if not isinstance(reference, Window):
        return int(reference), box
    seen = [
        size
        for axis, size in enumerate(reference.sizes)
        if axis not in reference.squeezed
    ]
    extents = boxes.extents(box, seen)
    if extents is None:
        accepted = f"a part of the shape {tuple(seen)}"
        raise errors.BadOption(option=name, value=boxes.text_of(box), accepted=accepted)
    inner = iter(extents)
    made: list[slice] = []
    for axis, first in enumerate(reference.origin):
        start, stop = (0, 1) if axis in reference.squeezed else next(inner)
        made.append(slice(max(first + start, 0), max(first + stop, 0)))
    return reference.buffer, tuple(made)


def edited(old: Any, box: boxes.Box, value: Any, name: str) -> Any:
    """A register's value with a part of it set; what was there stays as it is."""
    if not box:
        return value_like(value, old, name)
    made = np.array(old)
    part = part_of(made, box, name)
    part[...] = value_like(value, part, name)
    return made


def threads_of(schedule: Sequence[Any], launch: int) -> list[int]:
    """The threads of a schedule: numbers, or rows `(launch, step, thread)`."""
    if all(np.ndim(one) == 0 for one in schedule):
        return [int(one) for one in schedule]
    return [int(row[-1]) for row in schedule if int(row[0]) == launch]
