"""From the way that a block went over the tape to one straight Python function.

The function of a path does in another block what this one did to values: reads, pure
operations, writes, allocations, in their order. First it asks everything on which the
way depends (branches, windows), and changes nothing if the answers differ. That is
possible where the answers follow from the block's coordinates, constants and scalars
that nobody writes; other paths have no function.

  path:      core @ 0 → 1, core waits @ 4, agent 0 @ 15 → end, core @ 4 → 0
  function:  if ⟨another way⟩: return False;  v2 = ⟨read⟩;  v3 = v2 * c4;  ⟨write v3⟩
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pallas_debug import ir
from pallas_debug.ir.flow import leaders, live_at_leaders
from pallas_debug.machine.places import Plan
from pallas_debug.machine.replaying.accesses import Accesses
from pallas_debug.machine.replaying.effects import DATA, INERT, SIZED, SPAWN
from pallas_debug.machine.replaying.lines import Given
from pallas_debug.machine.replaying.lines import NotReplayable as NotReplayable
from pallas_debug.machine.replaying.points import Point
from pallas_debug.machine.replaying.scopes import Scopes
from pallas_debug.machine.replaying.values import CORE, DATUM, KNOWN, UNKNOWN, Value
from pallas_debug.machine.replaying.wide import Act
from pallas_debug.machine.source import taken

WAITS = -1
SCOPES = {
    "grid.id",
    "grid.next",
    "grid.size",
    "grid.thread",
    "scope.alloc",
    "scope.free",
    "window.fetch",
    "window.output",
    "window.view",
}

# Who ran (`CORE`, or a number among the block's new threads), from where, to where
# (negative: it waits there, or has ended).
Leg = tuple[int, int, int]


# A block's coordinates, its number and that of its first new thread; False if it goes
# another way.
Block = Callable[[tuple[Any, ...], int, int], bool]
# Points and the number of the first one's first new thread; how many blocks were done.
Blocks = Callable[[Sequence[Point], int], int]
# What each of some blocks needs to know to do to values what it did in an earlier run,
# a list for the values to number, and what numbers those in it; how many blocks it did.
Again = Callable[[Sequence[tuple[Any, ...]], list[Any], Callable[[], None]], int]


class Functions(NamedTuple):
    """What replays a block, many of them at once, and the same once more."""

    block: Block
    blocks: Blocks | None
    again: Again | None
    all_again: Again | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Path:
    """A compiled path.

    Attributes:
      function: From the machine and the entry thread's registers to its `Functions`:
        of many blocks if the path is wide, and again if it is steady.
      plans: The accesses that it uses.
      at_once: How many blocks the latter is given at most.
      wholes: Regions that have numbers when it is called first.
      given: The entry thread's registers that it looks at.
      known: How much of a block's cue `again` needs; its values' numbers follow.
    """

    function: Callable[[Any, list[Any]], tuple[Any, ...]]
    plans: tuple[Plan, ...]
    wholes: tuple[tuple[int, ...], ...]
    at_once: int
    given: frozenset[int]
    known: int


def compile_path(
    kernel: ir.Kernel,
    legs: Sequence[Leg],
    lengths: Mapping[int, int],
    spawned: Sequence[tuple[int, int]],
    windows: Mapping[int, tuple[int, ...]],
    values: str,
) -> Path:
    """The function of a path.

    Args:
      kernel: What was executed.
      legs: The segments in the order in which they ran.
      lengths: Instructions of each segment, by its start.
      spawned: Parent and instruction of each of the block's new threads; -1 for those
        that no instruction started.
      windows: Kinds of the events of each window's fetch, by instruction.
      values: Which values are recorded (`Options.values`).

    Raises:
      NotReplayable: There is none.
    """
    builder = _Builder(
        Given(kernel=kernel, spawned=spawned, windows=windows, values=values)
    )
    for thread, start, following in legs:
        if following == WAITS:
            builder.wait(thread, kernel.tape[start])
            continue
        for position in range(start, start + lengths[start]):
            builder.add(thread, position, following)
    return builder.path()


class _Builder(Scopes, Accesses):
    """Follows a path, instruction by instruction."""

    def path(self) -> Path:
        if any(self.users.values()) or self.windows or self._leaves_values():
            raise NotReplayable
        for group in self.users:
            self.data += (f"M.pop({value.text}, None)" for value in group)
        return Path(
            function=self.function(),
            plans=tuple(self.source.plans),
            wholes=tuple(self.wholes),
            at_once=self.wide.at_once,
            given=frozenset(self.r.given),
            known=self.known,
        )

    def _leaves_values(self) -> bool:
        """Whether the core's next grid point may need a register that this one set."""
        tape, own = self.kernel.tape, self.r.own.get(CORE)
        entries = [p for p, instr in enumerate(tape) if instr.op == "grid.next"]
        if own is None or not entries:
            return False
        live = live_at_leaders(tape, leaders(tape, entry=self.kernel.entry))
        needed = live[entries[0]] - set(tape[entries[0]].outs)
        return any(own[n].text != f"R[{n}]" for n in needed & own.keys())

    def add(self, thread: int, position: int, following: int) -> None:
        """One instruction that was executed."""
        instr = self.kernel.tape[position]
        op = instr.op
        if any(isinstance(s, ir.Peer) for a in instr.accesses for s in a.steps):
            raise NotReplayable
        if op in SCOPES:
            getattr(self, op.replace(".", "_"))(thread, position)
        elif op == "ir.move":
            values = [self.r.value(thread, operand) for operand in instr.ins]
            self.r.put(thread, instr.outs, values)
        elif op == "ir.branch":
            test = f"({taken(instr, '{0}')}) != {{1}}"
            self.ask(thread, instr.ins[0], test, following)
        elif instr.pure is not None:
            self._pure(thread, instr)
        elif op in DATA:
            self.datum(thread, instr)
        elif op in INERT:
            self._inert(thread, instr)
        elif op in SPAWN:
            self._spawn(thread, position)
        elif op not in ("ir.jump", "ir.return"):  # the legs say where those go
            raise NotReplayable

    def wait(self, thread: int, instr: ir.Instr) -> None:
        """Also a wait, before anything happens, says what it is for."""
        if instr.op in SIZED:
            for access in instr.accesses[1:]:
                self.touch(access, thread)

    def _pure(self, thread: int, instr: ir.Instr) -> None:
        level = self.r.level(thread, instr.ins)
        if level == UNKNOWN:
            raise NotReplayable
        expression = self.source.expression(instr, self.r.texts(thread))
        if level == KNOWN:
            if instr.outs and self._folded(thread, instr, expression):
                return
            level = DATUM  # an array is made anew in each block, as values are
        operands = [*map(self.r.texts(thread), instr.ins)]
        outs = self.r.define(thread, instr.outs, level)
        line = f"{outs} = {expression}" if outs else expression
        if level == DATUM:
            self.data.append(Act(line))
            self.wide.compute(outs, instr, operands)
        else:
            self.asked.append(line)

    def _folded(self, thread: int, instr: ir.Instr, expression: str) -> bool:
        """Computes scalars that are the same in every block, once and for all."""
        result = eval(expression, self.source.scope)
        results = (result,) if len(instr.outs) == 1 else result
        if not all(isinstance(value, np.generic) for value in results):
            return False
        values = [Value(self.source.constant(value), KNOWN) for value in results]
        self.r.put(thread, instr.outs, values)
        return True

    def _inert(self, thread: int, instr: ir.Instr) -> None:
        first = instr.accesses[:1] if instr.op in SIZED else instr.accesses
        steps = [o for access in first for o in (*access.operands(),)[1:]]
        values = () if instr.op == "gpu.await_previous" else instr.ins
        values = [o for o in values if self.r.value(thread, o).text not in self.refs]
        known = self.r.level(thread, (*steps, *values)) == KNOWN
        if not known or instr.params.get("groups"):
            raise NotReplayable
        self.wait(thread, instr)

    def _spawn(self, thread: int, position: int) -> None:
        instr = self.kernel.tape[position]
        here = (thread, position)
        started = self.born < len(self.spawned) and self.spawned[self.born] == here
        predicate = instr.params.get("predicate")
        if predicate is not None and not isinstance(predicate, bool):
            self.ask(thread, instr.ins[predicate], "bool({0}) is not {1}", started)
        if started:
            values = [self.r.value(thread, operand) for operand in instr.ins]
            self.r.put(self.born, range(len(values)), values)
            self.born += 1
