"""Python's names for registers: which variable of the user's an instruction sets.

A tape has numbers where the user wrote names. They are found again from the places: an
instruction that computes the whole of an assigned expression sets the variable. What is
not certain stays nameless.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pallas_debug.ir import assignments
from pallas_debug.ir.flow import agent_entries, reachable
from pallas_debug.ir.kernel import Kernel
from pallas_debug.ir.listing import result_names
from pallas_debug.ir.loc import Loc
from pallas_debug.ir.tape import Instr, Reg

Statement = tuple[str, int]  # a file, and a statement of it
NOWHERE: Statement = ("", -1)


@dataclass(frozen=True, kw_only=True)
class Binding:
    """A variable that a register holds once an instruction has run.

    Attributes:
      name: As the user wrote it; `carry[1]` for a part without a name.
      register: Of the kernel's own threads; of an agent, if it was handed to one.
      instr: What sets it; -1 for an argument.
      function: Where the name belongs; empty for references.
      within, beyond: A scope that the thread must be in, or must have left; -1: any.
      is_ref: Whether the register holds a buffer's number.
    """

    name: str
    register: int
    instr: int
    function: str = ""
    within: int = -1
    beyond: int = -1
    is_ref: bool = False


def names(kernel: Kernel) -> list[str]:
    """For each instruction the variables that its results have, or an empty text."""
    found: dict[int, dict[int, str]] = {}
    for one in bindings(kernel):
        if one.instr >= 0:
            found.setdefault(one.instr, {}).setdefault(one.register, one.name)
    return [
        ", ".join(known[r] for r in instr.outs if r in known)
        if (known := found.get(position))
        else ""
        for position, instr in enumerate(kernel.tape)
    ]


def bindings(kernel: Kernel) -> tuple[Binding, ...]:
    """Every variable that can be found, in the order of the tape."""
    main = sorted(reachable(kernel.tape, kernel.entry)) if kernel.tape else []
    places = [_Place(loc) for loc in kernel.locs]
    found = [*_references(kernel, set(main))]
    heads = _loop_heads(kernel, main)
    for position, scope in heads.items():
        found += _carried(kernel, position, scope, places)
    for position in _assigning(kernel, main, places):
        if position not in heads:
            found += _results(kernel, position, places)
    return tuple(sorted(found, key=lambda one: one.instr))


def handed(kernel: Kernel) -> dict[int, tuple[Binding, ...]]:
    """For each instruction of agents and warps the references they were started with.

    They have registers of their own: the kernel's names do not belong to them.
    """
    known = {one.register: one.name for one in bindings(kernel) if one.is_ref}
    found: dict[int, tuple[Binding, ...]] = {}
    for entry, starter in agent_entries(kernel.tape).items():
        slots = starter.params.get("slots", range(len(starter.ins)))
        given = tuple(
            Binding(name=known[one.number], register=slot, instr=-1, is_ref=True)
            for slot, one in zip(slots, starter.ins, strict=True)
            if isinstance(one, Reg) and one.number in known
        )
        if "slots" in starter.params:  # a warp: numbered with the kernel's
            known |= {one.register: one.name for one in given}
        found |= dict.fromkeys(reachable(kernel.tape, entry), given)
    return found


class _Place:
    """A place of the kernel in its file, if the file still says what was traced."""

    def __init__(self, loc: Loc) -> None:
        self.loc = loc
        self.at = (loc.line, loc.column)
        self.file = assignments.assignments(loc.file)
        count = len(loc.text.splitlines())
        now = self.file.lines[loc.line - 1 : loc.line - 1 + count]
        known = textwrap.dedent("".join(now)).rstrip() == loc.text
        self.targets = self.file.targets.get(self.at, ()) if known else ()
        self.loop = self.file.loops.get(self.at) if known else None
        number = self.file.statement(self.at) if known else -1
        self.statement: Statement = (loc.file, number) if number >= 0 else NOWHERE


def _references(kernel: Kernel, main: set[int]) -> Iterator[Binding]:
    """References by their declared names; a window on one has its name, too."""
    declared = dict(result_names(kernel)[0])
    for position in sorted(main):
        instr = kernel.tape[position]
        source = instr.ins[0] if instr.op == "window.view" else None
        if isinstance(source, Reg) and source.number in declared:
            declared[instr.outs[0]] = declared[source.number]
    arguments = set(kernel.arguments)
    for register in arguments & set(declared):
        yield Binding(name=declared[register], register=register, instr=-1, is_ref=True)
    for position in sorted(main):
        for register in kernel.tape[position].outs:
            if register in declared and register not in arguments:
                yield Binding(
                    name=declared[register],
                    register=register,
                    instr=position,
                    is_ref=True,
                )


def _loop_heads(kernel: Kernel, main: Sequence[int]) -> dict[int, int]:
    """Where the carries of loops get their first values, and each loop's scope."""
    heads: dict[int, int] = {}
    seen: set[int] = set()
    for position in main:
        instr = kernel.tape[position]
        if instr.scope in seen:
            continue
        seen.add(instr.scope)
        kind = kernel.scopes[instr.scope].kind
        if kind in ("scan", "while") and instr.op == "ir.move":
            heads[position] = instr.scope
    return heads


def _carried(
    kernel: Kernel, position: int, scope: int, places: Sequence[_Place]
) -> Iterator[Binding]:
    """Inside a loop the carry has the body's names, behind it those it is given to."""
    instr = kernel.tape[position]
    if instr.loc < 0:
        return
    place = places[instr.loc]
    loop, registers = place.loop, list(instr.outs)
    if loop is None:
        return

    def bound(register: int, name: str, **where: Any) -> Binding:
        return Binding(name=name, register=register, instr=position, **where)

    if loop.index:
        yield bound(registers.pop(0), loop.index, function=loop.function, within=scope)
        if kernel.scopes[scope].kind == "while":
            registers = registers[1:]  # the counter's limit
    inner = _parts(loop.carry, loop.parts, len(registers))
    for register, name in zip(registers, inner, strict=True):
        if name:
            yield bound(register, name, function=loop.function, within=scope)
    single = place.targets[0] if len(place.targets) == 1 else ""
    outer = _parts(single, place.targets, len(registers))
    for register, name in zip(registers, outer, strict=True):
        if name:
            yield bound(register, name, function=place.loc.function, beyond=scope)


def _parts(whole: str, parts: Sequence[str], count: int) -> Sequence[str]:
    """Names of the leaves of a value that has a name as a whole, or in parts."""
    if len(parts) == count:
        return parts
    if count == 1:
        return [whole]
    return [f"{whole}[{i}]" if whole else "" for i in range(count)]


def _assigning(
    kernel: Kernel, main: Sequence[int], places: Sequence[_Place]
) -> Iterator[int]:
    """Instructions that compute the whole of an assigned expression.

    Parts of an expression may begin where it begins, so the last one counts: of each
    time that the statement was traced, in a loop that Python unrolled.
    """

    def statement(position: int) -> Statement:
        loc = kernel.tape[position].loc
        return places[loc].statement if loc >= 0 else NOWHERE

    for key, run in groupby(main, statement):
        if key == NOWHERE:
            continue
        positions = list(run)
        at = {p: places[kernel.tape[p].loc] for p in positions}
        signs = [(kernel.tape[p].op, at[p].at) for p in positions]
        for part in _repeats(positions, signs):
            found = [p for p in part if at[p].targets and not _drives(kernel, p)]
            yield from sorted({at[p].at: p for p in found}.values())


def _drives(kernel: Kernel, position: int) -> bool:
    """Whether an instruction belongs to a loop itself: it counts, or moves the carry."""
    instr = kernel.tape[position]
    scope = kernel.scopes[instr.scope]
    return scope.kind in ("scan", "while") and scope.loc == instr.loc


def _repeats(positions: list[int], signs: list[Any]) -> Iterator[list[int]]:
    """A run of instructions cut where it begins anew."""
    count = len(signs)
    again = [i for i in range(1, count // 2 + 1) if signs[i] == signs[0]]
    for period in again:
        if count % period == 0 and signs == signs[:period] * (count // period):
            break
    else:
        period = count
    for start in range(0, count, period):
        yield positions[start : start + period]


def _results(
    kernel: Kernel, position: int, places: Sequence[_Place]
) -> Iterator[Binding]:
    instr: Instr = kernel.tape[position]
    place = places[instr.loc]
    if len(place.targets) != len(instr.outs):
        return
    for register, name in zip(instr.outs, place.targets, strict=True):
        if name:
            yield Binding(
                name=name,
                register=register,
                instr=position,
                function=place.loc.function,
            )
