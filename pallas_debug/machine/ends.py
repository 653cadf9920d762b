"""How things end: a thread, a launch in which nobody can go on, an instruction that fails."""

from __future__ import annotations

from typing import Any

from pallas_debug.errors import OpFailed, PallasDebugError, UnsupportedOp
from pallas_debug.machine import state as states
from pallas_debug.machine.compile import Program
from pallas_debug.machine.step import Step
from pallas_debug.trace.schema import Kind, Outcome


def end(m: Step, thread: states.Thread) -> None:
    """A thread has returned: whoever waits for it may go on."""
    m.emit(Kind.END)
    thread.status = states.DONE
    record = m.record(thread.number)
    if record is not None:
        record.done = record.read_done = True
    del m.state.threads[thread.number]
    m.wake(m.state.joiners.pop(thread.number, []))
    thread.block.live -= 1
    if thread.block.live > 0:
        return
    blocks = m.kin(thread.block)
    if all(block.live <= 0 for block in blocks):
        for block in blocks:
            for number in block.zombies:
                m.discard(number)
            block.zombies.clear()
        m.state.clusters.pop(thread.block.cluster, None)


def outcome(state: states.State) -> Outcome:
    """How a launch ends in which no thread can run."""
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


def located(m: Step, program: Program, error: Exception) -> PallasDebugError:
    """An error of our own code, with the user's line that we were executing."""
    if isinstance(error, (OpFailed, UnsupportedOp)) and error.loc is not None:
        return error
    position = m.pc
    trace: Any = error.__traceback__
    while trace is not None:
        key = (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        position = program.lines.get(key, position)
        trace = trace.tb_next
    kernel = m.kernel
    if isinstance(error, (OpFailed, UnsupportedOp)):
        return type(error)(**error.data, loc=kernel.loc_of(position))
    return OpFailed(
        op=kernel.tape[position].op,
        error=f"{type(error).__name__}: {error}",
        loc=kernel.loc_of(position),
    )
