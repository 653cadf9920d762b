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

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pallas_debug import ir
from pallas_debug.ir.flow import leaders, live_at_leaders
from pallas_debug.machine import peers
from pallas_debug.machine.effects import DATA, INERT, SIZED, SPAWN
from pallas_debug.machine.outlook import box_text, fetched, is_plain, look_up, opened
from pallas_debug.machine.places import Plan
from pallas_debug.machine.rules import RULES
from pallas_debug.machine.source import Source, taken

CORE = -1  # the thread that walks the grid; a block's own threads count from 0
KNOWN, ASKED, DATUM, UNKNOWN = range(4)  # what a value follows from

# Who ran (`CORE`, or a number among the block's new threads), from where, to where
# (negative: it waits there, or has ended).
Leg = tuple[int, int, int]


class NotReplayable(Exception):
    """The way depends on data, or an op is not known to replay."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Path:
    """A compiled path.

    Attributes:
      function: `(m, R)`, the entry thread's registers; False if it is not the way.
      plans: The accesses that it uses.
    """

    function: Callable[[Any, list], bool]
    plans: tuple[Plan, ...]


class _Source(Source):
    """The function of a path: accesses of the same form to one buffer share a plan."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._shared: dict[Any, Plan] = {}

    def plan(self, access: ir.Access, operand: Callable[[ir.Operand], str]) -> Plan:
        form = _form(access)
        if form is None:
            return super().plan(access, operand)
        key = (operand(access.ref), form)
        if key not in self._shared:
            self._shared[key] = super().plan(access, operand)
        return self._shared[key]


def _form(access: ir.Access) -> Any:
    """What slices and integers leave of an access when the indices are taken out."""
    form = []
    for step in access.steps:
        if not isinstance(step, ir.Index):
            return None
        for dim in step.dims:
            if isinstance(dim, ir.Gather) or getattr(dim, "size_operand", None):
                return None
            form.append((dim.size, dim.stride) if isinstance(dim, ir.Slice) else ())
        form.append(len(form))
    return tuple(form)


class Value(NamedTuple):
    """A register's value: its name in the function, and what it follows from."""

    text: str
    level: int


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


WAITS = -1


class _Builder:
    def __init__(
        self,
        kernel: ir.Kernel,
        spawned: Sequence[tuple[int, int]],
        windows: Mapping[int, tuple[int, ...]],
    ) -> None:
        self.kernel = kernel
        self.spawned = spawned
        self.windows = dict(windows)
        self.source = _Source(f"{kernel.name} path")
        self.placed: set[str] = set()
        self.asked: list[str] = []
        self.looks: list[str] = []  # at windows: they cost most, so they come last
        self.data: list[str] = []
        self.names = (f"v{n}" for n in itertools.count())
        self.registers: dict[int, dict[int, Value]] = {}
        self.born = sum(instr < 0 for _, instr in spawned)
        self.allocs: dict[tuple[int, ...], tuple[Value, ...]] = {}
        self.counts: dict[tuple[int, int], int] = {}
        self.users: dict[tuple[Value, ...], int] = {}
        self.scalars = _unwritten_scalars(kernel)

    def path(self) -> Path:
        if any(self.users.values()) or self.windows or self._leaves_values():
            raise NotReplayable
        buffers = "".join(f"{v.text}, " for group in self.users for v in group)
        lines = [
            *self.asked,
            *self.looks,
            *self.data,
            f"m.drop(({buffers}))",
            "return True",
        ]
        scope = self.source.run(["def path(m, R):", *(f"    {x}" for x in lines)])
        return Path(function=scope["path"], plans=tuple(self.source.plans))

    def _leaves_values(self) -> bool:
        """Whether the core's next grid point may need a register that this one set."""
        tape, own = self.kernel.tape, self.registers.get(CORE)
        entries = [p for p, instr in enumerate(tape) if instr.op == "grid.next"]
        if own is None or not entries:
            return False
        live = live_at_leaders(tape, leaders(tape, entry=self.kernel.entry))
        needed = live[entries[0]] - set(tape[entries[0]].outs)
        return any(own[n].text != f"R[{n}]" for n in needed & own.keys())

    def add(self, thread: int, position: int, following: int) -> None:
        """One instruction that was executed."""
        instr = self.kernel.tape[position]
        op, family = instr.op, instr.op.replace(".", "_")
        if any(isinstance(s, ir.Peer) for a in instr.accesses for s in a.steps):
            raise NotReplayable
        special = getattr(self, f"_{family}", None)
        if special is not None:
            special(thread, position, following)
        elif instr.pure is not None:
            self._pure(thread, instr)
        elif op in DATA:
            self._datum(thread, instr)
        elif op in INERT:
            self._inert(thread, instr)
        elif op in SPAWN:
            self._spawn(thread, position)
        else:
            raise NotReplayable

    def touch(self, thread: int, instr: ir.Instr) -> None:
        """Regions get their numbers where they are met first, also by a wait."""
        if instr.op in SIZED:
            for access in instr.accesses[1:]:
                target = self.source.target(access, self._texts(thread))
                if target not in self.placed:
                    self.placed.add(target)
                    self.data.append(f"m.place({target})")

    def _value(self, thread: int, operand: ir.Operand) -> Value:
        if isinstance(operand, ir.Const):
            return Value(self.source.constant(operand.value), KNOWN)
        number = operand.number
        own = self.registers.setdefault(thread, {})
        if number not in own:
            enters = thread == CORE or self.spawned[thread][1] < 0
            own[number] = Value(f"R[{number}]", ASKED if enters else UNKNOWN)
        return own[number]

    def _texts(self, thread: int) -> Callable[[ir.Operand], str]:
        return lambda operand: self._value(thread, operand).text

    def _level(self, thread: int, operands: Any) -> int:
        return max((self._value(thread, o).level for o in operands), default=KNOWN)

    def _define(self, thread: int, outs: Sequence[int], level: int) -> str:
        """New names for results; the left side of their assignment."""
        values = [Value(next(self.names), level) for _ in outs]
        self.registers.setdefault(thread, {}).update(zip(outs, values, strict=True))
        return ", ".join(value.text for value in values)

    def _pure(self, thread: int, instr: ir.Instr) -> None:
        level = self._level(thread, instr.ins)
        if level == UNKNOWN:
            raise NotReplayable
        expression = self.source.expression(instr, self._texts(thread))
        if level == KNOWN:
            if self._folded(thread, instr, expression):
                return
            level = DATUM  # an array is made anew in each block, as values are
        lines = self.data if level == DATUM else self.asked
        outs = self._define(thread, instr.outs, level)
        lines.append(f"{outs} = {expression}" if outs else expression)

    def _folded(self, thread: int, instr: ir.Instr, expression: str) -> bool:
        """Computes scalars that are the same in every block, once and for all."""
        result = eval(expression, self.source.scope)
        results = (result,) if len(instr.outs) == 1 else result
        if not all(isinstance(value, np.generic) for value in results):
            return False
        values = [Value(self.source.constant(value), KNOWN) for value in results]
        self.registers.setdefault(thread, {}).update(
            zip(instr.outs, values, strict=True)
        )
        return True

    def _datum(self, thread: int, instr: ir.Instr) -> None:
        if self._level(thread, instr.operands()) == UNKNOWN:
            raise NotReplayable
        call = self.source.call(instr, RULES.get(instr.op), self._texts(thread))
        level = DATUM
        if self._is_scalar(thread, instr):
            target = self.source.target(instr.accesses[0], self._texts(thread))
            outs = self._define(thread, instr.outs, ASKED)
            self.asked.append(f"{outs} = m.peek({target})")
            self.data.append(call)
            return
        targets = [self.source.target(a, self._texts(thread)) for a in instr.accesses]
        self.placed.update(targets)
        outs = self._define(thread, instr.outs, level)
        self.data.append(f"{outs} = {call}" if outs else call)

    def _is_scalar(self, thread: int, instr: ir.Instr) -> bool:
        """Whether this reads one element that stays the same while the launch runs."""
        if instr.op != "state.get" or self._level(thread, instr.operands()) > ASKED:
            return False
        access = instr.accesses[0]
        found = self._value(thread, access.ref)
        single = [
            isinstance(step, ir.Index) and all(isinstance(d, ir.At) for d in step.dims)
            for step in access.steps
        ]
        return found.text in self.scalars and single == [True]

    def _inert(self, thread: int, instr: ir.Instr) -> None:
        first = instr.accesses[:1] if instr.op in SIZED else instr.accesses
        steps = [o for access in first for o in (*access.operands(),)[1:]]
        values = () if instr.op == "gpu.await_previous" else instr.ins
        if self._level(thread, (*steps, *values)) > KNOWN or instr.params.get("groups"):
            raise NotReplayable
        self.touch(thread, instr)

    def _spawn(self, thread: int, position: int) -> None:
        instr = self.kernel.tape[position]
        here = (thread, position)
        started = self.born < len(self.spawned) and self.spawned[self.born] == here
        predicate = instr.params.get("predicate")
        if predicate is not None and not isinstance(predicate, bool):
            self._ask(thread, instr.ins[predicate], "bool({0}) is not {1}", started)
        if started:
            values = [self._value(thread, operand) for operand in instr.ins]
            self.registers[self.born] = dict(enumerate(values))
            self.born += 1

    def _ask(self, thread: int, operand: ir.Operand, test: str, answer: Any) -> None:
        """Another way is taken where the test is true."""
        value = self._value(thread, operand)
        if value.level > ASKED:
            raise NotReplayable
        if value.level == ASKED:
            self.asked.append(f"if {test.format(value.text, answer)}: return False")

    def _ir_move(self, thread: int, position: int, following: int) -> None:
        instr = self.kernel.tape[position]
        values = [self._value(thread, operand) for operand in instr.ins]
        self.registers.setdefault(thread, {}).update(
            zip(instr.outs, values, strict=True)
        )

    def _ir_jump(self, thread: int, position: int, following: int) -> None:
        """The legs say where it goes."""

    _ir_return = _ir_jump

    def _ir_branch(self, thread: int, position: int, following: int) -> None:
        instr = self.kernel.tape[position]
        test = f"({taken(instr, '{0}')}) != {{1}}"
        self._ask(thread, instr.ins[0], test, following)

    def _grid_next(self, thread: int, position: int, following: int) -> None:
        outs = self.kernel.tape[position].outs
        if outs:
            self.asked.append(f"{self._define(thread, outs, ASKED)}, = m.at")

    def _grid_id(self, thread: int, position: int, following: int) -> None:
        instr, grid = self.kernel.tape[position], self.kernel.grid
        axis = instr.params["axis"]
        outs = self._define(thread, instr.outs, ASKED)
        axes = [f"#{number}" for number in range(len(grid.shape))]
        for names in (axes, grid.names):
            if axis in names and thread != CORE:
                self.asked.append(f"{outs} = m.at[{names.index(axis)}]")
                return
        self.asked.append(f"{outs} = m.ids[{axis!r}]")

    def _grid_size(self, thread: int, position: int, following: int) -> None:
        instr = self.kernel.tape[position]
        outs = self._define(thread, instr.outs, ASKED)
        size = f"m.launch.grid[{instr.params['axis']}]"
        self.asked.append(f"{outs} = np.int32({size})")

    def _grid_thread(self, thread: int, position: int, following: int) -> None:
        if thread != CORE and self.spawned[thread][1] >= 0:
            raise NotReplayable
        index = self.source.constant(np.int32(max(thread, 0)))
        (out,) = self.kernel.tape[position].outs
        self.registers.setdefault(thread, {})[out] = Value(index, KNOWN)

    def _window_view(self, thread: int, position: int, following: int) -> None:
        instr = self.kernel.tape[position]
        if self._level(thread, instr.ins) > ASKED:
            raise NotReplayable
        call = self.source.call(instr, RULES.get(instr.op), self._texts(thread))
        self.asked.append(f"{self._define(thread, instr.outs, ASKED)} = {call}")

    def _window_fetch(self, thread: int, position: int, following: int) -> None:
        instr = self.kernel.tape[position]
        kinds = self.windows.pop(position, None)
        if (
            kinds is None  # a second time
            or not is_plain(instr)
            or self._level(thread, instr.ins) > ASKED
        ):
            raise NotReplayable
        array, *indices = map(self._texts(thread), instr.ins)
        params, found = self.source.constant(instr.params), next(self.names)
        look, act = (
            self.source.constant(look_up),
            self.source.constant(fetched if instr.op == "window.fetch" else opened),
        )
        box = box_text(instr.params["dims"], indices)
        self.looks.append(f"{found} = {look}(m, {array}, {box}, {params})")
        self.looks.append(f"if {found}[0] != {kinds!r}: return False")
        out = self._define(thread, instr.outs, DATUM)
        self.data.append(f"{out} = {act}(m, {array}, {found}, {params})")

    _window_output = _window_fetch

    def _scope_alloc(self, thread: int, position: int, following: int) -> None:
        instr = self.kernel.tape[position]
        users, decls = instr.params["users"], instr.params["decls"]
        count = self.counts.get((thread, position), 0)
        self.counts[thread, position] = count + 1
        key = (position, count) if users > 1 else (position, count, thread)
        if key not in self.allocs:
            if thread != CORE:
                self.data.append(f"m.tid = m.first + {thread}")
            self.allocs[key] = group = tuple(
                Value(next(self.names), DATUM) for _ in decls
            )
            new = self.source.constant(peers.new)
            for value, decl in zip(group, decls, strict=True):
                self.data.append(
                    f"{value.text} = {new}(m, {self.source.constant(decl)})"
                )
            self.users[group] = users
        group = self.allocs[key]
        self.registers.setdefault(thread, {}).update(
            zip(instr.outs, group, strict=True)
        )

    def _scope_free(self, thread: int, position: int, following: int) -> None:
        instr = self.kernel.tape[position]
        group = tuple(self._value(thread, operand) for operand in instr.ins)
        if not self.users.get(group):
            raise NotReplayable
        self.users[group] -= 1


def _unwritten_scalars(kernel: ir.Kernel) -> set[str]:
    """Scalar operands that the tape does nothing with but read them."""
    numbers = set(kernel.arguments[: kernel.num_scalars])
    for instr in kernel.tape:
        others = [*instr.operands()]
        if instr.op == "state.get":
            del others[len(instr.ins)]  # the reference itself
        numbers -= {o.number for o in others if isinstance(o, ir.Reg)}
    return {f"R[{number}]" for number in numbers}
