"""Registers while a path is followed: what stands for each value, what it follows from."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from pallas_debug import ir
from pallas_debug.machine.places import Plan
from pallas_debug.machine.source import Source

CORE = -1  # the thread that walks the grid; a block's own threads count from 0
KNOWN, ASKED, DATUM, UNKNOWN = range(4)  # from constants, coordinates, memory, or what


class Value(NamedTuple):
    """A register's value: its name in the function, and what it follows from."""

    text: str
    level: int


class Registers:
    """The registers of all threads of a block.

    Attributes:
      own: By thread and number.
      entering: The threads that begin with the registers that the function is given.
      given: Those that the path looks at.
    """

    def __init__(self, source: Source, entering: Iterable[int]) -> None:
        self.source = source
        self.entering = frozenset(entering)
        self.own: dict[int, dict[int, Value]] = {}
        self.given: set[int] = set()
        self._names = (f"v{n}" for n in itertools.count())

    def name(self) -> str:
        """A name that nothing has."""
        return next(self._names)

    def value(self, thread: int, operand: ir.Operand) -> Value:
        """What an operand is to a thread."""
        if isinstance(operand, ir.Const):
            return Value(self.source.constant(operand.value), KNOWN)
        own, number = self.own.setdefault(thread, {}), operand.number
        if number not in own:
            level = ASKED if thread in self.entering else UNKNOWN
            own[number] = Value(f"R[{number}]", level)
            self.given.add(number)
        return own[number]

    def texts(self, thread: int) -> Callable[[ir.Operand], str]:
        """The names of a thread's operands."""
        return lambda operand: self.value(thread, operand).text

    def level(self, thread: int, operands: Iterable[ir.Operand]) -> int:
        """What the value of an operation follows from."""
        return max((self.value(thread, o).level for o in operands), default=KNOWN)

    def put(self, thread: int, outs: Sequence[int], values: Sequence[Value]) -> None:
        """Sets registers."""
        self.own.setdefault(thread, {}).update(zip(outs, values, strict=True))

    def define(self, thread: int, outs: Sequence[int], level: int) -> str:
        """New names for results; the left side of their assignment."""
        values = [Value(self.name(), level) for _ in outs]
        self.put(thread, outs, values)
        return ", ".join(value.text for value in values)


class PathSource(Source):
    """The function of a path: accesses of the same form to one buffer share a plan."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._shared: dict[Any, Plan] = {}

    def plan(self, access: ir.Access, operand: Callable[[ir.Operand], str]) -> Plan:
        shape = form(access)
        if shape is None:
            return super().plan(access, operand)
        key = (operand(access.ref), shape)
        if key not in self._shared:
            self._shared[key] = super().plan(access, operand)
        return self._shared[key]


def form(access: ir.Access) -> Any:
    """What slices and integers leave of an access when the indices are taken out."""
    found: list[Any] = []
    for step in access.steps:
        if not isinstance(step, ir.Index):
            return None
        for dim in step.dims:
            if isinstance(dim, ir.Gather) or getattr(dim, "size_operand", None):
                return None
            found.append((dim.size, dim.stride) if isinstance(dim, ir.Slice) else ())
        found.append(len(found))
    return tuple(found)
