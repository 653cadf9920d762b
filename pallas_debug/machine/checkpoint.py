"""Checkpoints: a run as it was at some step, to go on from there again.

A checkpoint is a copied state and the lengths of the writer's tables. Going on from it
with the recorded choices gives the rows that followed, byte for byte; going on with
another policy or an edited state is a diversion. Either way the first run's writer
stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pallas_debug import ir
from pallas_debug.machine import schedules
from pallas_debug.machine.compile import Program
from pallas_debug.machine.options import Options
from pallas_debug.machine.run import Run
from pallas_debug.machine.state import State
from pallas_debug.machine.step import Step
from pallas_debug.trace.fork import Counts, Fork, count
from pallas_debug.trace.schema import Outcome
from pallas_debug.trace.writer import Writer

BYTES_PER_THREAD = 1000


@dataclass(frozen=True, kw_only=True, eq=False)
class Checkpoint:
    """A copied state, and what had been written by then.

    Attributes:
      state: Never run itself; `resume` copies it.
      writer: Of the run that was copied; it may have grown since.
      written: Lengths of the writer's tables at this moment.
      launch, program, options, outputs, preempt: As in the run.
      root, arguments: Numbers of the launch's own thread and of its argument buffers.
      point: Grid points begun.
    """

    state: State
    writer: Writer
    written: Counts
    launch: ir.Launch
    program: Program
    options: Options
    outputs: tuple[int, ...]
    preempt: bool
    root: int
    arguments: tuple[int, ...]
    point: int

    @property
    def step(self) -> int:
        """Instructions executed before it."""
        return self.state.step

    @property
    def size_bytes(self) -> int:
        """Memory of the copied state; inputs that nobody writes are shared."""
        own = [m.data for m in self.state.memory.values() if m.data.flags.writeable]
        return sum(a.nbytes for a in own) + BYTES_PER_THREAD * len(self.state.threads)


def checkpoint(this: Run) -> Checkpoint:
    """Copies a run that is not executing; the run may go on."""
    return Checkpoint(
        state=this.m.state.copy(),
        writer=this.writer,
        written=count(this.writer),
        launch=this.launch,
        program=this.program,
        options=this.options,
        outputs=this.outputs,
        preempt=this.preempt,
        root=this.m.root,
        arguments=this.m.arguments,
        point=this.m.point,
    )


def resume(
    mark: Checkpoint,
    *,
    choices: Iterable[tuple[int, int, int]] = (),
    policy: schedules.Policy | None = None,
    preempt: bool | None = None,
) -> Run:
    """A run that goes on from a checkpoint with a writer of its own.

    Args:
      mark: The checkpoint.
      choices: All that were recorded, from the launch's start on; those before the
        checkpoint are passed over.
      policy: Who runs next instead.
      preempt: As for `begin`; by default as in the copied run.
    """
    writer = Fork(mark.writer, mark.written)
    record = writer.launches[-1]
    record.outcome = Outcome(kind="truncated", message="not finished")
    if policy is None:
        number = len(writer.launches) - 1
        mine = [thread for launch, _, thread in choices if launch == number]
        policy = schedules.replay(mine[len(writer.choices) - record.first_choice :])
    m = Step(mark.state.copy(), mark.launch, writer, mark.options)
    m.root, m.arguments, m.point = mark.root, mark.arguments, mark.point
    return Run(
        launch=mark.launch,
        program=mark.program,
        writer=writer,
        options=mark.options,
        m=m,
        record=record,
        outputs=mark.outputs,
        policy=policy,
        preempt=mark.preempt if preempt is None else preempt,
    )
