"""The loop: runs a launch to its end, a limit, a deadlock or a given step.

Deterministic: the same launch, options and choices give the same bytes. The machine
raises only when it cannot go on truthfully; what is wrong with the kernel is in the
trace.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.errors import UnsupportedOp
from pallas_debug.machine import schedules, start
from pallas_debug.machine import state as states
from pallas_debug.machine.compile import END, WAIT, Program, compile_kernel
from pallas_debug.machine.options import Options
from pallas_debug.machine.step import Step
from pallas_debug.trace.schema import ROW_BYTES, Kind, Outcome
from pallas_debug.trace.writer import LaunchRecord, Writer

CHECK_EVERY = 2048
FULL_TRACEBACK = "PALLAS_DEBUG_FULL_TRACEBACK"


@dataclass(kw_only=True, eq=False)
class Run:
    """A launch that is being executed.

    Attributes:
      record: Its row in the writer.
      m: The machine; `m.state` is all that changes.
      outputs: Numbers of the output buffers.
    """

    launch: ir.Launch
    program: Program
    writer: Writer
    options: Options
    m: Step
    record: LaunchRecord
    outputs: tuple[int, ...]
    policy: schedules.Policy
    preempt: bool

    def results(self) -> list[np.ndarray]:
        """Copies of the outputs as they are now."""
        memory = self.m.state.memory
        return [memory[number].data.copy() for number in self.outputs]


def run(
    launch: ir.Launch,
    writer: Writer,
    options: Options,
    *,
    program: Program | None = None,
    policy: schedules.Policy | None = None,
) -> Run:
    """Executes a launch from its start; facts go to `writer`, the outcome to its record.

    Raises:
      UnsupportedOp: Never; an unknown op ends the launch with outcome `unsupported`.
    """
    this = begin(launch, writer, options, program=program, policy=policy)
    advance(this)
    return this


def begin(
    launch: ir.Launch,
    writer: Writer,
    options: Options,
    *,
    program: Program | None = None,
    policy: schedules.Policy | None = None,
) -> Run:
    """Sets up arguments and the first threads; nothing has run yet."""
    program = program or compile_kernel(launch.kernel)
    program.bind()
    preempt = policy is not None or options.policy != "round-robin"
    if policy is None:
        chosen = options.policy == "random"
        policy = schedules.seeded(options.seed) if chosen else schedules.round_robin
    record = LaunchRecord(launch, writer.events)
    writer.launches.append(record)
    m = Step(states.State(), launch, writer, options)
    outputs = start.arguments(m, record)
    record.outputs = outputs
    return Run(
        launch=launch,
        program=program,
        writer=writer,
        options=options,
        m=m,
        record=record,
        outputs=outputs,
        policy=policy,
        preempt=preempt,
    )


def advance(this: Run, *, until: int | None = None) -> bool:
    """Runs on; returns whether the launch ended (else step `until` was reached)."""
    with np.errstate(all="ignore"), _Interrupt() as interrupt:
        try:
            outcome = _loop(this, until, interrupt)
        except UnsupportedOp as error:
            if error.__cause__ is not None and os.environ.get(FULL_TRACEBACK) == "1":
                raise
            outcome = Outcome(kind="unsupported", message=str(error))
    record, m = this.record, this.m
    record.steps = m.state.step
    record.last_event = this.writer.events
    if outcome is not None:
        record.outcome = outcome
    return outcome is not None


def _loop(this: Run, until: int | None, interrupt: _Interrupt) -> Outcome | None:
    m, state = this.m, this.m.state
    limit = this.record.first_event + this.options.max_events
    deadline = _deadline(this.options)
    countdown = CHECK_EVERY
    while True:
        number = _next(this)
        if number is None:
            return _ended(this)
        thread = state.threads[number]
        m.tid, m.bid, m.current = number, thread.bid, thread
        registers, segments = thread.registers, this.program.segments
        pc = thread.pc
        while True:
            segment = segments[pc]
            if until is not None and state.step + segment.length > until:
                thread.pc = pc
                state.ready.appendleft(number)
                return None
            m.base = state.step - pc
            try:
                following = segment.run(m, registers)
            except Exception as error:
                thread.pc = pc
                state.ready.appendleft(number)
                raise _located(this, error) from error
            if following == WAIT:
                thread.pc = pc
                break
            if following == END:
                m.pc = pc + segment.length - 1
                _end(m, thread)
            state.step += segment.length
            if following == END:
                break
            pc = following
            countdown -= 1
            if countdown <= 0 or interrupt.hit:
                countdown = CHECK_EVERY
                over = _over(this, deadline, interrupt)
                if over is not None:
                    thread.pc = pc
                    state.ready.appendleft(number)
                    return over
            if this.preempt and segments[pc].sync and len(state.ready) > 0:
                thread.pc = pc
                state.ready.append(number)
                break
        if len(this.writer.log) >= limit * ROW_BYTES:
            return Outcome(kind="truncated", message=_limit_text(this.options))


def _next(this: Run) -> int | None:
    """The thread to run, None if none can."""
    state = this.m.state
    while len(state.ready) == 0 or _wants_more(this):
        if not start.cluster(this.m):
            break
    ready = state.ready
    if not ready:
        return None
    if len(ready) == 1:
        state.current = ready.popleft()
        return state.current
    enabled = tuple(ready)
    current = state.current if this.preempt and state.current in enabled else -1
    number = this.policy(enabled, current)
    ready.remove(number)
    state.current = number
    this.writer.choices.append((this.m.launch_number, state.step, number))
    return number


def _wants_more(this: Run) -> bool:
    resident = this.options.resident
    return resident > 1 and this.m.state.running_clusters() < resident


def _end(m: Step, thread: states.Thread) -> None:
    """A thread has returned: whoever waits for it may go on."""
    m.emit(Kind.END)
    thread.status = states.DONE
    record = m.record(thread.number)
    if record is not None:
        record.done = record.read_done = True
    del m.state.threads[thread.number]
    m.wake(m.state.joiners.pop(thread.number, []))
    block = thread.block
    block.live -= 1
    if block.live <= 0:
        for number in block.zombies:
            m.discard(number)
        block.zombies.clear()


def _ended(this: Run) -> Outcome:
    state = this.m.state
    waiting = tuple(
        (t.number, t.pc, w[0], w[1], w[2])
        for t in state.threads.values()
        if t.status == states.WAITING and (w := t.waits) is not None
    )
    if not waiting:
        return Outcome(kind="finished")
    noun = "thread waits" if len(waiting) == 1 else "threads wait"
    message = f"{len(waiting)} {noun} for something that nobody will do"
    return Outcome(kind="deadlock", message=message, waiting=waiting)


def _over(this: Run, deadline: float | None, interrupt: _Interrupt) -> Outcome | None:
    options, record = this.options, this.record
    if interrupt.hit:
        return Outcome(kind="interrupted", message="stopped by the user")
    if this.writer.events - record.first_event >= options.max_events:
        return Outcome(kind="truncated", message=_limit_text(options))
    if deadline is not None and time.monotonic() > deadline:
        text = f"max_seconds={options.max_seconds} reached"
        return Outcome(kind="truncated", message=text)
    if callable(options.progress):
        options.progress(*start.progress(this.m))
    return None


def _limit_text(options: Options) -> str:
    return f"max_events={options.max_events} reached"


def _deadline(options: Options) -> float | None:
    if options.max_seconds is None:
        return None
    return time.monotonic() + options.max_seconds


def _located(this: Run, error: Exception) -> Exception:
    """An error of our own code, with the user's line that we were executing."""
    if isinstance(error, UnsupportedOp):
        return error
    position = this.m.pc
    trace: Any = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == this.program.filename:
            position = this.program.lines.get(trace.tb_lineno, position)
        trace = trace.tb_next
    kernel = this.launch.kernel
    instr = kernel.tape[position]
    return UnsupportedOp(
        op=instr.op,
        loc=kernel.loc_of(position),
        reason=f"{type(error).__name__}: {error}",
    )


class _Interrupt:
    """Defers Ctrl-C to the end of a segment, so that the trace stays whole."""

    def __init__(self) -> None:
        self.hit = False
        self._old: Callable[..., Any] | int | None = None
        self._active = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> _Interrupt:
        if self._active:
            self._old = signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, signum: int, frame: Any) -> None:
        if self.hit:
            raise KeyboardInterrupt
        self.hit = True

    def __exit__(self, *exc: object) -> None:
        if self._active:
            signal.signal(signal.SIGINT, self._old)
