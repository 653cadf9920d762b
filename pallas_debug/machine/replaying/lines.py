"""A path's function while it grows: what its lines may use, and what they note."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.machine.memory import BOX, Memory
from pallas_debug.machine.quick import scalar
from pallas_debug.machine.replaying.rows import SCOPE
from pallas_debug.machine.replaying.values import (
    ASKED,
    CORE,
    PathSource,
    Registers,
)
from pallas_debug.machine.replaying.wide import Owed, Wide, names_in
from pallas_debug.machine.rules.grid_windows import Held

# What the lines of a block find: `m` is the machine, `R` the entry thread's registers.
PRELUDE = (
    "M, N, note = m.state.memory, m.notes, m.noted.extend",
    "cue = m.cues.append",
    "keep, made = m.keep, m.made",
    "buffers, region, pay, pays = m.writer.buffers, m.writer.region, m.pay, m.pays",
    "tid, device, launch = m.tid, m.device, m.launch_number",
)


class Book(str):
    """A line for the trace alone: without it the same is done to values."""

    __slots__ = ()


class Noted(str):
    """A line that notes and numbers by itself what follows from the coordinates."""

    __slots__ = ()


class Paid(Book):
    """A line that numbers values."""

    names: Sequence[str]
    values: Sequence[str]

    @classmethod
    def of(cls, names: Sequence[str], values: Sequence[str]) -> Paid:
        several = f"pays(({', '.join(values)}))"
        line = cls(
            f"{', '.join(names)} = {several if names[1:] else f'pay({values[0]})'}"
        )
        line.names, line.values = names, values
        return line


class NotReplayable(Exception):
    """The way depends on data, or an op is not known to replay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a path is compiled from, beside its legs; as `compile_path` takes them."""

    kernel: ir.Kernel
    spawned: Sequence[tuple[int, int]]
    windows: Mapping[int, tuple[int, ...]]
    values: str


class Lines:
    """A path's function while it grows.

    Attributes:
      values: Which values are recorded (`Options.values`).
      first: Lines that run once for many blocks.
      asked: Lines that follow from the coordinates: they change nothing.
      looks: Questions about windows: they cost most, so they come after those.
      data: Lines that act.
      spawned: Parent and instruction of each of the block's new threads.
      born: How many of them there are so far.
      arguments: Names of the launch's own buffers.
      refs: Names of all buffers: an op may be told any.
      plain: Those that the lines may look up in memory themselves, by name.
      wide: The function of many blocks, while it grows.
      wholes: Regions of whole windows: they must have numbers before any block.
      known: How much of a cue is for doing the same again; its values' numbers follow.
      steady: Whether what is noted follows from the coordinates alone.
    """

    def __init__(self, given: Given) -> None:
        self.kernel = kernel = given.kernel
        self.spawned = spawned = given.spawned
        self.windows = dict(given.windows)
        self.values = given.values
        self.source = PathSource(f"{kernel.name} path")
        # `new` is what a named tuple's own constructor comes down to.
        names = {"Memory": Memory, "Held": Held, "Array": np.ndarray}
        names |= {"scalar": scalar, "new": tuple.__new__, "wide": np.broadcast_to}
        self.source.scope |= names | SCOPE
        self.first: list[str] = [*PRELUDE]
        self.asked: list[str] = []
        self.looks: list[str] = []
        self.data: list[str] = []
        self.wholes: list[tuple[int, ...]] = []
        self.wide = Wide()
        self.known = 0
        self.steady = True
        if kernel.aliases:  # what is written to one array is read from another
            self.wide.fail()
        self._once: dict[str, str] = {}
        self._found: list[str] = []
        self._noted: list[str] = []
        self._paid: list[tuple[str, str]] = []
        own = [thread for thread, (_, instr) in enumerate(spawned) if instr < 0]
        self.born = len(own)
        self.r = Registers(self.source, own or [CORE])
        self.arguments = {
            f"R[{number}]": decl
            for number, decl in zip(kernel.arguments, kernel.buffers, strict=True)
        }
        self.refs = set(self.arguments)
        self.plain = self.arguments | _allocated(kernel)

    def ask(self, thread: int, operand: ir.Operand, test: str, answer: Any) -> None:
        """Another way is taken where the test is true."""
        value = self.r.value(thread, operand)
        if value.level > ASKED:
            raise NotReplayable
        if value.level == ASKED:
            self.asked.append(f"if {test.format(value.text, answer)}: return False")

    def once(self, expression: str) -> str:
        """A name for what is the same in every block of a batch."""
        if expression not in self._once:
            name = self._once[expression] = self.r.name()
            self.first.append(f"{name} = {expression}")
        return self._once[expression]

    def when_met(self, expression: str) -> str:
        """A name for what the first block finds for those of its batch."""
        name = self.r.name()
        self._found.append(name)
        self.first.append(f"{name} = None")
        self.data.append(Book(f"if {name} is None: {name} = {expression}"))
        return name

    def memory(self, ref: str) -> str:
        """The memory of a buffer that is plain."""
        return self.once(f"M[{ref}]") if ref.startswith("R[") else f"M[{ref}]"

    def note(self, *cells: Any) -> None:
        """Block, object, region and payload of events."""
        self._noted += map(str, cells)

    def noting(self, line: str) -> None:
        """A line that notes events itself."""
        self.steady &= isinstance(line, (Book, Noted))
        self.write_notes()
        self.data.append(line)

    def write_notes(self) -> None:
        """What was noted so far stands before what follows, and so do its values."""
        if self._paid:
            names, values = zip(*self._paid, strict=True)
            self.data.append(Paid.of(names, values))
            self._paid.clear()
        if self._noted:
            self.data.append(Book(f"note(({', '.join(self._noted)}))"))
            self._noted.clear()

    def payload(self, value: str) -> str:
        """A name for the number of a value that is recorded."""
        name = self.r.name()
        self._paid.append((name, value))
        return name

    def read_payload(self, value: str) -> str:
        """The number of a value that was read."""
        return self.payload(value) if self.values == "all" else "-1"

    def written_payload(self, value: str) -> str:
        """The number of a value that was written."""
        return "-1" if self.values == "none" else self.payload(value)

    def new_buffer(self, decl: ir.Buffer, role: str, thread: int) -> str:
        """Gives a new buffer its number and its row in the table."""
        number, constant = self.r.name(), self.source.constant
        tid = "tid" if thread == CORE else f"first + {thread}"
        row = ", ".join(
            [
                *map(constant, (decl.name, decl.space, decl.shape, decl.dtype)),
                *(repr(decl.scope), repr(role), tid, "bid", "device", "launch"),
                *("-1", "-1", "0", constant(decl.loc)),
            ]
        )
        self.data.append(Book(f"{number} = len(buffers)"))
        self.data.append(Book(f"buffers.append(({row}))"))
        return number

    def allocate(self, decl: ir.Buffer, role: str, thread: int) -> str:
        """A new buffer that nobody has written to."""
        unset = self.once(f"m.unset({self.source.constant(decl)})")
        number = self.new_buffer(decl, role, thread)
        content = f"Memory({number}, {unset}, {self.source.constant(decl)})"
        self.data.append(f"M[{number}] = {content}")
        self.note("bid", number, -1, -1)
        return number

    def function(self) -> Any:
        """The compiled function: `(m, R)` to those of a block (`path.Functions`)."""
        self.write_notes()
        shared = f"nonlocal {', '.join(self._found)}" if self._found else ""
        asked = [*self.asked, *self.looks]
        again = self._again()
        known = self._cued(asked, again)
        if self.steady:
            paid = [line.names for line in self.data if isinstance(line, Paid)]
            told = [name for names in paid for name in names]
            self.known = len(known)
            self.data.append(Book(f"cue(({', '.join([*known, *told])}, ))"))
        body = [*([shared] if shared else []), *asked, *self.data, "return True"]
        inner = ["blocks = again = all_again = None", "def block(at, bid, first):"]
        inner += (f"    {line}" for line in body)
        if self.steady:
            inner.append("def again(cues, owed, settle):")
            inner.append(f"    for {', '.join(known)}, in cues:")
            inner += (f"        {line}" for line in [*again, "pass"])
            inner.append("    return len(cues)")
        if self.wide.lines is not None:
            inner += self.wide.function(asked, self.data, shared, len(self.spawned))
            inner += self.wide.again(known, again) if self.steady else []
        lines = [*self.first, *inner, "return block, blocks, again, all_again"]
        text = ["def path(m, R):", *(f"    {line}" for line in lines)]
        return self.source.run(text)["path"]

    def _again(self) -> list[str]:
        """What remains of a block whose rows are known."""
        lines = list[str]()
        for line in self.data:
            if isinstance(line, Paid):
                lines.append(Owed.of(line.values))
            elif isinstance(line, Noted):  # it numbers its own values
                lines += ["settle()", line]
            elif not isinstance(line, Book):
                lines.append(line)
        return lines

    def _cued(self, asked: Sequence[str], again: Sequence[str]) -> list[str]:
        """Names of what a block needs to know to do the same to values again."""
        book = [line for line in self.data if isinstance(line, Book)]
        used = set(names_in([*again, *(self.wide.lines or []), *self.wide.ends]))
        known = [line.partition(" = ")[0] for line in [*asked, *book] if " = " in line]
        names = dict.fromkeys(name for name in names_in(known) if name in used)
        return ["bid", *names]


def row_of_all(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The region of a whole buffer."""
    return (BOX, *(number for size in shape for number in (0, size, 1)))


def _allocated(kernel: ir.Kernel) -> dict[str, ir.Buffer]:
    """Buffers that a core allocates before its first grid point, by name."""
    found, others = dict[int, ir.Buffer](), set[int]()
    for instr in kernel.tape:
        decls = instr.params["decls"] if instr.op == "scope.alloc" else ()
        for place, number in enumerate(instr.outs):
            if decls and not decls[place].is_sync and number not in found:
                found[number] = decls[place]
            else:
                others.add(number)
    return {f"R[{n}]": decl for n, decl in found.items() if n not in others}
