"""The loop: runs a launch to its end, a limit, a deadlock or a given step.

Deterministic: the same launch, options and choices give the same bytes. The machine
raises only when it cannot go on truthfully; what is wrong with the kernel is in the
trace.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from pallas_debug import ir
from pallas_debug.errors import (
    BadChoice,
    OpFailed,
    UnsupportedOp,
    brief,
)
from pallas_debug.machine import ends, schedules, start
from pallas_debug.machine import state as states
from pallas_debug.machine.compile import END, WAIT, Program, compile_kernel
from pallas_debug.machine.options import Options
from pallas_debug.machine.replaying.replay import Failed, Replay, Stale
from pallas_debug.machine.step import Step
from pallas_debug.machine.watch import Interrupt, Watch
from pallas_debug.trace.schema import ROW_BYTES, Outcome
from pallas_debug.trace.writer import LaunchRecord, Writer

FULL_TRACEBACK = "PALLAS_DEBUG_FULL_TRACEBACK"


@dataclass(kw_only=True, eq=False)
class Run:
    """A launch that is being executed.

    Attributes:
      record: Its row in the writer.
      m: The machine; `m.state` is all that changes.
      outputs: Numbers of the output buffers.
      policy: Who runs next where several can.
      preempt: Whether a thread may be switched before each synchronization, not only
        where it waits.
      replay: Runs grid points like earlier ones faster; None: each in full.
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
    replay: Replay | None = None

    def results(self) -> list[np.ndarray]:
        """The outputs as they are now: the buffers themselves, not copies."""
        memory = self.m.state.memory
        return [memory[number].data for number in self.outputs]


def run(
    launch: ir.Launch,
    writer: Writer,
    options: Options,
    *,
    program: Program | None = None,
    policy: schedules.Policy | None = None,
    replay: bool = True,
) -> Run:
    """Executes a launch from its start; facts go to `writer`, the outcome to its record.

    Without `replay` every block runs instruction by instruction: the same facts, later.

    Raises:
      UnsupportedOp: Never; an unknown op ends the launch with outcome `unsupported`.
    """
    mark = writer.mark()
    while True:
        this = begin(launch, writer, options, program=program, policy=policy)
        program = this.program
        if replay and this.policy is schedules.round_robin and not this.preempt:
            this.replay = Replay.of(this.m, program)
        try:
            advance(this)
            return this
        except Stale as stale:
            program.encores.refuse(stale.encore)
        except Failed:
            program.distrust()
            replay = False
        writer.cut(mark)
        program.unbind()


def begin(
    launch: ir.Launch,
    writer: Writer,
    options: Options,
    *,
    program: Program | None = None,
    policy: schedules.Policy | None = None,
    preempt: bool | None = None,
) -> Run:
    """Sets up arguments and the first threads; nothing has run yet.

    `preempt` is what the policy needs: true unless the policy is round-robin.
    """
    if preempt is None:
        preempt = policy is not None or options.policy != "round-robin"
    if policy is None:
        policy = schedules.SCHEDULES.get(options.policy).policy(options.seed)
    assert not (preempt and program is not None and program.coarse), (
        "a policy that switches threads needs a switching point at each sync"
    )
    record = LaunchRecord(launch, writer.events, len(writer.choices))
    writer.launches.append(record)
    m = Step(states.State(), launch, writer, options)
    outputs = start.arguments(m, record)
    record.outputs = outputs
    record.last_event = writer.events
    return Run(
        launch=launch,
        program=program or compile_kernel(launch.kernel, coarse=not preempt),
        writer=writer,
        options=options,
        m=m,
        record=record,
        outputs=outputs,
        policy=policy,
        preempt=preempt,
    )


def advance(this: Run, *, until: int | None = None) -> bool:
    """Runs on; returns whether the launch ended (else step `until` was reached).

    A run that was stopped goes on as if it had not been. It stops at `until` exactly
    if its program has single steps, else at the end of a segment before it.
    """
    this.program.bind(this.writer)
    outcome: Outcome | None = None
    with np.errstate(all="ignore"), Interrupt() as interrupt:
        try:
            outcome = _loop(this, until, interrupt)
        except (OpFailed, UnsupportedOp) as error:
            if error.__cause__ is not None and os.environ.get(FULL_TRACEBACK) == "1":
                raise
            outcome = Outcome(kind="unsupported", message=str(error))
        except KeyboardInterrupt:
            outcome = Outcome(kind="interrupted", message="stopped by the user")
    record, m = this.record, this.m
    record.steps = m.state.step
    record.last_event = this.writer.events
    if outcome is not None:
        record.outcome = outcome
    if interrupt.hit and (outcome is None or outcome.kind != "interrupted"):
        raise KeyboardInterrupt  # too late for this launch, not for its caller
    return outcome is not None


def _loop(this: Run, until: int | None, interrupt: Interrupt) -> Outcome | None:
    watch = Watch(this.options, this.record.first_event, interrupt)
    writer, state = this.writer, this.m.state
    limit = (watch.events - writer.events) * ROW_BYTES + len(writer.log)
    while True:
        if state.running < 0 and not state.ready and this.replay is not None:
            this.replay.between_blocks(watch, limit)
        number = state.running if state.running >= 0 else _next(this)
        if number is None:
            return ends.outcome(this.m.state)
        state.running = number
        stopped, outcome = _turn(this, state.threads[number], until, watch, limit)
        if stopped:
            return outcome
        state.running = -1


def _turn(
    this: Run, thread: states.Thread, until: int | None, watch: Watch, limit: int
) -> tuple[bool, Outcome | None]:
    """Runs a thread until it waits, ends or is preempted; whether the run stops here."""
    m, state, log = this.m, this.m.state, this.writer.log
    segments, single = this.program.segments, this.program.single
    m.tid, m.bid, m.current = thread.number, thread.bid, thread
    m.device = thread.block.device
    registers, pc, replay = thread.registers, thread.pc, this.replay
    while True:
        if replay is not None and pc == replay.entry:
            replay.between_points(watch, limit)
        watch.countdown -= 1
        if watch.countdown <= 0 or watch.interrupt.hit or len(log) >= limit:
            over = watch.over(this.writer.events, lambda: start.progress(m))
            if over is not None:
                return True, over
        segment = segments[pc]
        if until is not None and state.step + segment.length > until:
            if state.step >= until or not single:
                return True, None
            segment = single[pc]
        m.base = state.step - pc
        try:
            following = segment.run(m, registers)
        except Exception as error:
            raise ends.located(m, this.program, error) from error
        if replay is not None and replay.legs is not None:
            replay.legs.append((thread.number, pc, following))
        if following == WAIT:
            return False, None
        if following == END:
            m.pc = pc + segment.length - 1
            ends.end(m, thread)
            state.step += segment.length
            return False, None
        state.step += segment.length
        thread.pc = pc = following
        if this.preempt and segments[pc].sync and len(state.ready) > 0:
            state.ready.append(thread.number)
            return False, None


def _next(this: Run) -> int | None:
    """The thread to run, None if none can."""
    state = this.m.state
    ready = state.ready
    while not ready or (this.options.resident > 1 and _wants_more(this)):
        if not start.cluster(this.m):
            break
    if not ready:
        return None
    if len(ready) == 1:
        state.current = ready.popleft()
        return state.current
    if this.policy is schedules.round_robin and not this.preempt:
        state.current = number = ready.popleft()
        this.writer.choices.append((this.m.launch_number, state.step, number))
        return number
    enabled = tuple(ready)
    current = state.current if this.preempt and state.current in enabled else -1
    number = this.policy(enabled, current)
    try:
        ready.remove(number)
    except ValueError:
        raise BadChoice(
            policy=this.options.policy, choice=number, enabled=brief(enabled)
        ) from None
    state.current = number
    this.writer.choices.append((this.m.launch_number, state.step, number))
    return number


def _wants_more(this: Run) -> bool:
    return this.m.state.running_clusters() < this.options.resident
