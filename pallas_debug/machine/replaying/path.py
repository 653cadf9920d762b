"""From the way that a block went over the tape to one straight Python function.

The function of a path does in another block what this one did to values: reads, pure
operations, writes, allocations, in their order. First it asks everything on which the
way depends (branches, windows), and changes nothing if the answers differ. That is
possible where the answers follow from the block's coordinates, constants and scalars
that nobody writes; other paths have no function.

  path:      core @ 0 → 1, core waits @ 4, agent 0 @ 15 → end, core @ 4 → 0
  function:  if ⟨another way⟩: return False;  v2 = m.read(…);  v3 = v2 * c4;  m.write(…)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.ir.flow import leaders, live_at_leaders
from pallas_debug.machine.places import Plan
from pallas_debug.machine.replaying.effects import DATA, INERT, SIZED, SPAWN
from pallas_debug.machine.replaying.lines import NotReplayable as NotReplayable
from pallas_debug.machine.replaying.lines import Scopes
from pallas_debug.machine.replaying.values import (
    ASKED,
    CORE,
    DATUM,
    KNOWN,
    UNKNOWN,
    Value,
)
from pallas_debug.machine.rules import RULES
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Path:
    """A compiled path.

    Attributes:
      function: `(m, R)`, the entry thread's registers; False if it is not the way.
      plans: The accesses that it uses.
    """

    function: Callable[[Any, list], bool]
    plans: tuple[Plan, ...]


def compile_path(
    kernel: ir.Kernel,
    legs: Sequence[Leg],
    lengths: Mapping[int, int],
    spawned: Sequence[tuple[int, int]],
    windows: Mapping[int, tuple[int, ...]],
) -> Path:
    """The function of a path.

    Args:
      kernel: What was executed.
      legs: The segments in the order in which they ran.
      lengths: Instructions of each segment, by its start.
      spawned: Parent and instruction of each of the block's new threads; -1 for those
        that no instruction started.
      windows: Kinds of the events of each window's fetch, by instruction.

    Raises:
      NotReplayable: There is none.
    """
    builder = _Builder(kernel, spawned, windows)
    for thread, start, following in legs:
        if following == WAITS:
            builder.touch(thread, kernel.tape[start])
            continue
        for position in range(start, start + lengths[start]):
            builder.add(thread, position, following)
    return builder.path()


class _Builder(Scopes):
    """Follows a path, instruction by instruction."""

    def __init__(
        self,
        kernel: ir.Kernel,
        spawned: Sequence[tuple[int, int]],
        windows: Mapping[int, tuple[int, ...]],
    ) -> None:
        super().__init__(kernel, spawned, windows)
        self.placed: set[str] = set()
        self.scalars = _unwritten_scalars(kernel)
        self.refs.update(f"R[{number}]" for number in kernel.arguments)

    def path(self) -> Path:
        if any(self.users.values()) or self.windows or self._leaves_values():
            raise NotReplayable
        buffers = "".join(f"{v.text}, " for group in self.users for v in group)
        ends = [f"m.drop(({buffers}))", "return True"]
        lines = [*self.asked, *self.looks, *self.data, *ends]
        scope = self.source.run(["def path(m, R):", *(f"    {x}" for x in lines)])
        return Path(function=scope["path"], plans=tuple(self.source.plans))

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
            self._datum(thread, instr)
        elif op in INERT:
            self._inert(thread, instr)
        elif op in SPAWN:
            self._spawn(thread, position)
        elif op not in ("ir.jump", "ir.return"):  # the legs say where those go
            raise NotReplayable

    def touch(self, thread: int, instr: ir.Instr) -> None:
        """Regions get their numbers where they are met first, also by a wait."""
        if instr.op in SIZED:
            for access in instr.accesses[1:]:
                target = self.source.target(access, self.r.texts(thread))
                if target not in self.placed:
                    self.placed.add(target)
                    self.data.append(f"m.place({target})")

    def _pure(self, thread: int, instr: ir.Instr) -> None:
        level = self.r.level(thread, instr.ins)
        if level == UNKNOWN:
            raise NotReplayable
        expression = self.source.expression(instr, self.r.texts(thread))
        if level == KNOWN:
            if instr.outs and self._folded(thread, instr, expression):
                return
            level = DATUM  # an array is made anew in each block, as values are
        lines = self.data if level == DATUM else self.asked
        outs = self.r.define(thread, instr.outs, level)
        lines.append(f"{outs} = {expression}" if outs else expression)

    def _folded(self, thread: int, instr: ir.Instr, expression: str) -> bool:
        """Computes scalars that are the same in every block, once and for all."""
        result = eval(expression, self.source.scope)
        results = (result,) if len(instr.outs) == 1 else result
        if not all(isinstance(value, np.generic) for value in results):
            return False
        values = [Value(self.source.constant(value), KNOWN) for value in results]
        self.r.put(thread, instr.outs, values)
        return True

    def _datum(self, thread: int, instr: ir.Instr) -> None:
        if self.r.level(thread, instr.operands()) == UNKNOWN:
            raise NotReplayable
        call = self.source.call(instr, RULES.get(instr.op), self.r.texts(thread))
        if self._is_scalar(thread, instr):
            target = self.source.target(instr.accesses[0], self.r.texts(thread))
            outs = self.r.define(thread, instr.outs, ASKED)
            self.asked.append(f"{outs} = m.peek({target})")
            self.data.append(call)
            return
        targets = [self.source.target(a, self.r.texts(thread)) for a in instr.accesses]
        self.placed.update(targets)
        outs = self.r.define(thread, instr.outs, DATUM)
        self.data.append(f"{outs} = {call}" if outs else call)

    def _is_scalar(self, thread: int, instr: ir.Instr) -> bool:
        """Whether this reads one element that stays the same while the launch runs."""
        if instr.op != "state.get" or self.r.level(thread, instr.operands()) > ASKED:
            return False
        access = instr.accesses[0]
        found = self.r.value(thread, access.ref)
        single = [
            isinstance(step, ir.Index) and all(isinstance(d, ir.At) for d in step.dims)
            for step in access.steps
        ]
        return found.text in self.scalars and single == [True]

    def _inert(self, thread: int, instr: ir.Instr) -> None:
        first = instr.accesses[:1] if instr.op in SIZED else instr.accesses
        steps = [o for access in first for o in (*access.operands(),)[1:]]
        values = () if instr.op == "gpu.await_previous" else instr.ins
        values = [o for o in values if self.r.value(thread, o).text not in self.refs]
        known = self.r.level(thread, (*steps, *values)) == KNOWN
        if not known or instr.params.get("groups"):
            raise NotReplayable
        self.touch(thread, instr)

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


def _unwritten_scalars(kernel: ir.Kernel) -> set[str]:
    """Scalar operands that the tape does nothing with but read them."""
    numbers = set(kernel.arguments[: kernel.num_scalars])
    numbers -= {kernel.arguments[source] for source, _ in kernel.aliases}
    for instr in kernel.tape:
        others = [*instr.operands()]
        if instr.op == "state.get":
            del others[len(instr.ins)]  # the reference itself
        numbers -= {o.number for o in others if isinstance(o, ir.Reg)}
    return {f"R[{number}]" for number in numbers}
