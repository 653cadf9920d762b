"""Reads and writes in the function of a path, without the detour over a rule.

The common case as lines: a box inside of a buffer that the path knows by its number. In
all others, also when that is found out in a block, the rule itself is called.
"""

from __future__ import annotations

import re
from typing import Any

from pallas_debug import ir
from pallas_debug.machine.memory import dtype_of
from pallas_debug.machine.places import dynamic_slots
from pallas_debug.machine.replaying.effects import PLACED, READS, WRITES
from pallas_debug.machine.replaying.lines import Given, Noted, NotReplayable
from pallas_debug.machine.replaying.spots import Spot, Spots
from pallas_debug.machine.replaying.values import ASKED, DATUM, UNKNOWN
from pallas_debug.machine.replaying.wide import OF_TWO, SIGNS, Act
from pallas_debug.machine.rules import RULES


class Accesses(Spots):
    """The lines of ops that read and write values.

    Attributes:
      scalars: Names of operands that stay the same while the launch runs.
    """

    def __init__(self, given: Given) -> None:
        super().__init__(given)
        self.scalars = _unwritten_scalars(given.kernel)
        self._recorded: list[str] = []

    def datum(self, thread: int, instr: ir.Instr) -> None:
        """An op of `effects.DATA`."""
        if self.r.level(thread, instr.operands()) == UNKNOWN:
            raise NotReplayable
        texts = self.r.texts(thread)
        rule = RULES.get(instr.op)
        call = self.source.call(instr, rule, texts)
        if self._is_scalar(thread, instr):
            target = self.source.target(instr.accesses[0], texts)
            outs = self.r.define(thread, instr.outs, ASKED)
            self.asked.append(f"{outs} = m.peek({target})")
            self.noting(call)
        elif self._is_plain(instr, thread) and instr.op in READS:
            value = self.r.define(thread, instr.outs, DATUM)
            self._read(instr.accesses[0], thread, value, call)
        elif self._is_plain(instr, thread) and instr.op in WRITES:
            self._write(instr, thread, call)
        else:
            for access in instr.accesses:
                self.placed.setdefault(self.source.target(access, texts))
            outs = self.r.define(thread, instr.outs, DATUM)
            self.wide.fail()
            places = [o for a in instr.accesses for o in dynamic_slots(a)]
            known = instr.op in PLACED and self.r.level(thread, places) <= ASKED
            line = f"{outs} = {call}" if outs else call
            self.noting(Noted(line) if known else line)

    def _is_plain(self, instr: ir.Instr, thread: int) -> bool:
        params = instr.params
        adds = params.get("add") or params.get("reduction") is not None
        alone = len(instr.accesses) == 1 and not adds
        return alone and self.is_box(instr.accesses[0], thread)

    def _read(self, access: ir.Access, thread: int, value: str, call: str) -> None:
        spot, data = self.spot(access, thread), self.r.name()
        lines = [
            f"{data} = {self.memory(spot.ref)}.data",
            f"{value} = {data}[{spot.index}]",
        ]
        kept = self.values == "all"
        if spot.is_sure:
            lines.append(f"if {data}.flags.writeable: {value} = {value}.copy()")
            lines += [f"{value} = keep({value})"] if kept else []
            self.data += map(Act, lines)
            self.wide.read(self.box(spot), self.is_all(spot), value)
            self.note("bid", spot.ref, spot.region, self.read_payload(value))
            return
        lines += [
            f"if {data}.flags.writeable and type({value}) is Array:",
            f"    {value} = {value}.copy()",
        ]
        lines += [f"if type({value}) is Array: {value} = keep({value})"] if kept else []
        payload = f"pay({value})" if kept else "-1"
        self._or_else(spot, [], lines, payload, f"{value} = {call}")

    def _write(self, instr: ir.Instr, thread: int, call: str) -> None:
        access, value = instr.accesses[0], self.r.value(thread, instr.ins[0]).text
        spot = self.spot(access, thread)
        memory, kept, held = self.r.name(), self.r.name(), self.r.name()
        if self.values != "none":
            self._recorded.append(value)
        sure = spot.is_sure
        lines = [f"{memory} = {self.memory(spot.ref)}"]
        keep = f"{value} if {value}.base is not None else keep({value})"
        lines += [f"{kept} = {value if self.values == 'none' else keep}"]
        odd = f"type({value}) is not Array or {value}.shape != {spot.shape}"
        if sure:
            lines.insert(0, f"if {odd}: {value} = wide({value}, {spot.shape})")
        lines += self._store(spot, sure, memory, kept, held)
        if sure:
            self.data += map(Act, lines)
            dtype = self.source.constant(dtype_of(self.plain[spot.ref].dtype))
            whole = self.is_all(spot)
            self.wide.write(self.box(spot), whole, value, kept, dtype)
            self.note("bid", spot.ref, spot.region, self.written_payload(kept))
            return
        payload = "-1" if self.values == "none" else f"pay({kept})"
        fits = [f"type({value}) is Array", f"{value}.shape == {spot.shape}"]
        self._or_else(spot, fits, lines, payload, call)

    def _store(
        self, spot: Spot, sure: bool, memory: str, kept: str, held: str
    ) -> list[str]:
        """Lines that make a value the contents of a box, or of the whole buffer."""
        store = [
            f"if not {memory}.data.flags.writeable: {memory}.own()",
            f"{memory}.data[{spot.index}] = {kept}",
        ]
        whole = not sure or self.is_all(spot)
        if spot.ref in self.arguments or not whole:  # which stay where they are
            return store
        if not sure:
            return [f"if not {memory}.takes({kept}):", *(f"    {x}" for x in store)]
        # `Memory.takes` in line.
        dtype = self.source.constant(dtype_of(self.plain[spot.ref].dtype))
        return [
            f"if {kept}.dtype is {dtype} and {kept}.flags.c_contiguous:",
            f"    {memory}.data = {held} = {kept}.view()",
            f"    {held}.flags.writeable = False",
            "else:",
            *(f"    {line}" for line in store),
        ]

    def _or_else(
        self, spot: Spot, fits: list[str], lines: list[str], payload: str, call: str
    ) -> None:
        """An access where that is found out in the block; else its rule is called."""
        self.wide.fail()
        self.steady = False
        self.write_notes()
        tests = [spot.inside, *fits] if spot.inside is not None else fits
        lines = [*lines, f"note((bid, {spot.ref}, {spot.region}, {payload}))"]
        if not tests:
            self.data += lines
            return
        self.data.append(f"if {' and '.join(tests)}:")
        self.data += (f"    {line}" for line in lines)
        self.data.append(f"else: {call}")

    def function(self) -> Any:
        """Values that are recorded are computed where they stay, now that all is known."""
        for value in self._recorded:
            self._compute_in_place(value)
        return super().function()

    def _compute_in_place(self, value: str) -> None:
        """A sum, difference or product that is kept need not be copied to its place."""
        start = f"{value} = "
        for number, line in enumerate(self.data):
            defines = line.startswith(start)
            found = OF_TWO.fullmatch(line.removeprefix(start)) if defines else None
            if found is not None and self._goes_to_one_place(value, start):
                left, sign, right = found.groups()
                operation = f"np.{SIGNS[sign]}"
                self.data[number] = Act(f"{start}made({operation}, {left}, {right})")
                self.wide.in_place(value, operation, left, right)
                return

    def _goes_to_one_place(self, name: str, start: str) -> bool:
        """Whether a value is written once, and else only reckoned with."""
        kept = f"keep({name})"
        uses = [line for line in self.data if re.search(rf"\b{name}\b", line)]
        others = [
            line
            for line in uses
            if kept not in line
            and not line.startswith((start, f"if type({name}) "))
            and not OF_TWO.fullmatch(line.partition(" = ")[2])
            and " = made(" not in line
        ]
        return not others and sum(kept in line for line in uses) == 1

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
