"""Turns a tape into Python functions, one for each straight run of instructions.

A *segment* begins at a jump target or at an instruction that may wait, and ends before
the next one. Inside it, intermediate values are Python locals; registers that live on
are stored at its end, so that between segments a thread is `(pc, registers)`. With
`single=True` every instruction is a segment: the same code, for stepping.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pallas_debug import ir
from pallas_debug.ir.flow import (
    CONTROL,
    leaders,
    live_at_leaders,
    may_switch,
    used_and_defined,
)
from pallas_debug.machine.options import Options
from pallas_debug.machine.places import Plan
from pallas_debug.machine.replaying.encore import Kept
from pallas_debug.machine.replaying.path import Path
from pallas_debug.machine.replaying.template import Template
from pallas_debug.machine.rules import RULES
from pallas_debug.machine.source import Source, taken

WAIT, END = -1, -2


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A compiled run: `run(m, registers)` gives the next pc, `WAIT` or `END`.

    `sync` says that a scheduler may switch threads before it.
    """

    run: Callable[[Any, list], int]
    start: int
    length: int
    sync: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Program:
    """The segments of a kernel by their first tape position.

    Attributes:
      segments: What a run executes, as much at once as it can.
      single: Every instruction as a segment of its own, to stop anywhere; may be empty.
      lines: File and line of the generated source → tape position, to find the
        instruction that raised.
      coarse: Its segments end only where a thread may have to wait.
      plans: Compiled accesses; their caches hold region numbers of one writer.
      paths: Functions of the ways that blocks went, by the way; None where there is
        none. Kept from run to run.
      ways: Options, template and path of each way that a run with these options found.
      encores: Batches of earlier runs.
    """

    kernel: ir.Kernel
    segments: dict[int, Segment]
    lines: Mapping[tuple[str, int], int]
    plans: tuple[Plan, ...]
    single: dict[int, Segment] = field(default_factory=dict)
    coarse: bool = False
    paths: dict[Any, Path | None] = field(default_factory=dict)
    ways: list[tuple[Options, Template, Path]] = field(default_factory=list)
    encores: Kept = field(default_factory=Kept)
    _writer: list[Any] = field(default_factory=list)

    def bind(self, writer: Any) -> None:
        """Forgets region numbers that another writer gave."""
        if not self._writer or self._writer[0]() is not writer:
            self._writer[:] = [weakref.ref(writer)]  # a trace that is dropped is gone
            paths = [path.plans for path in self.paths.values() if path is not None]
            for plan in itertools.chain(self.plans, *paths):
                if plan.cache:
                    plan.cache.clear()

    def unbind(self) -> None:
        """Forgets the writer's numbers: it was cut."""
        self._writer.clear()

    def distrust(self) -> None:
        """Forgets what was learned of blocks, and never replays one again."""
        self.ways.clear()
        self.encores.batches.clear()
        self.paths.update(dict.fromkeys(self.paths))


def compile_kernel(
    kernel: ir.Kernel, *, single: bool = False, coarse: bool = False
) -> Program:
    """Generates and compiles the functions of a kernel.

    `coarse` segments end only where a thread may have to wait: fewer and longer ones,
    for runs that never switch threads elsewhere.
    """
    return _Compiler(kernel, single, coarse).program()


def with_steps(program: Program) -> Program:
    """The same program, able to stop before any instruction."""
    single = compile_kernel(program.kernel, single=True)
    return replace(
        program,
        segments={**single.segments, **program.segments},
        single=single.segments,
        lines={**program.lines, **single.lines},
        plans=program.plans + single.plans,
        ways=[],
        encores=Kept(),
        _writer=[],
    )


class _Compiler:
    def __init__(self, kernel: ir.Kernel, single: bool, coarse: bool) -> None:
        self.kernel = kernel
        self.tape = kernel.tape
        self.coarse = coarse
        if coarse:
            self.starts = leaders(self.tape, entry=kernel.entry, begins=_can_wait)
        else:
            self.starts = leaders(self.tape, entry=kernel.entry, single=single)
        self.live = live_at_leaders(self.tape, self.starts)
        self.source = Source(kernel.name)
        self.text: list[str] = []
        self.lines: dict[tuple[str, int], int] = {}

    def program(self) -> Program:
        ends = [*self.starts[1:], len(self.tape)]
        for start, end in zip(self.starts, ends, strict=True):
            self._segment(start, end)
        scope = self.source.run(self.text)
        segments = {
            start: Segment(
                run=scope[f"seg_{start}"],
                start=start,
                length=end - start,
                sync=may_switch(self.tape, start),
            )
            for start, end in zip(self.starts, ends, strict=True)
        }
        return Program(
            kernel=self.kernel,
            segments=segments,
            lines=self.lines,
            plans=tuple(self.source.plans),
            coarse=self.coarse,
        )

    def _segment(self, start: int, end: int) -> None:
        self.text.append(f"def seg_{start}(m, R):")
        defined: set[int] = set()
        body: list[tuple[int, str]] = []
        needed, _ = used_and_defined(self.tape[start:end])
        for number in sorted(needed):
            body.append((start, f"r{number} = R[{number}]"))
        closed = False
        for position in range(start, end):
            instr = self.tape[position]
            if instr.op in CONTROL:
                body += [(position, s) for s in self._store(defined, end, instr)]
                body += [(position, s) for s in self._control(position, instr)]
                closed = instr.op != "grid.next"
                defined.update(instr.outs)
                if instr.op == "grid.next":
                    new = set(instr.outs)
                    body += [(position, s) for s in self._store(new, end, instr)]
            else:
                body += [(position, s) for s in self._statement(position, instr)]
                defined.update(instr.outs)
        if not closed:
            if self.tape[end - 1].op not in CONTROL:
                body += [(end - 1, s) for s in self._store(defined, end, None)]
            body.append((end - 1, f"return {end}"))
        for position, statement in body:
            self.text.append("    " + statement)
            self.lines[self.source.filename, len(self.text)] = position

    def _store(self, defined: set[int], end: int, last: ir.Instr | None) -> list[str]:
        """Stores the registers that a following segment needs."""
        follow = set[int]()
        if last is not None:
            for target in last.targets:
                follow |= self.live.get(target, set())
        if (last is None or last.op == "grid.next") and end < len(self.tape):
            follow |= self.live.get(end, set())
        return [f"R[{n}] = r{n}" for n in sorted(defined & follow)]

    def _control(self, position: int, instr: ir.Instr) -> list[str]:
        if instr.op == "ir.jump":
            return [f"return {instr.targets[0]}"]
        if instr.op == "ir.return":
            return [f"return {END}"]
        if instr.op == "ir.branch":
            return [f"return {taken(instr, self._operand(instr.ins[0]))}"]
        outs = "".join(f"r{n}, " for n in instr.outs)
        lines = [f"m.pc = {position}", f"ids = m.grid_next({len(instr.outs)})"]
        lines.append(f"if ids is None: return {instr.targets[0]}")
        if instr.outs:
            lines.append(f"{outs}= ids")
        return lines

    def _statement(self, position: int, instr: ir.Instr) -> list[str]:
        source = self.source
        outs = ", ".join(f"r{n}" for n in instr.outs)
        if instr.pure is not None:
            expression = source.expression(instr, self._operand)
            return [f"{outs} = {expression}" if outs else expression]
        if instr.op not in RULES:
            call = f"m.unsupported({position})"
            lines = [f"m.pc = {position}"]
            return [*lines, f"{outs}, = {call}" if outs else call]
        rule = RULES.get(instr.op)
        assert instr.sync or not rule.waits, f"{instr.op} waits inside a segment"
        call = source.call(instr, rule, self._operand)
        lines = [f"m.pc = {position}"]
        if rule.waits:
            lines.append(f"if {call} is False: return {WAIT}")
        elif outs:
            lines.append(f"{outs} = {call}")
        else:
            lines.append(call)
        return lines

    def _operand(self, operand: ir.Operand) -> str:
        if isinstance(operand, ir.Reg):
            return f"r{operand.number}"
        return self.source.constant(operand.value)


def _can_wait(tape: ir.Tape, position: int) -> bool:
    op = tape[position].op
    return op in RULES and RULES.get(op).waits
