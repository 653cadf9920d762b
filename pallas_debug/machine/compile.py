"""Turns a tape into Python functions, one for each straight run of instructions.

A *segment* begins at a jump target or at an instruction that may wait, and ends before
the next one. Inside it, intermediate values are Python locals; registers that live on
are stored at its end, so that between segments a thread is `(pc, registers)`. With
`single=True` every instruction is a segment: the same code, for stepping.
"""

from __future__ import annotations

import itertools
import linecache
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.ir.flow import (
    CONTROL,
    leaders,
    live_at_leaders,
    used_and_defined,
)
from pallas_debug.machine.places import Plan
from pallas_debug.machine.rules import RULES

WAIT, END = -1, -2
_numbers = itertools.count()


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A compiled run: `run(m, registers)` gives the next pc, `WAIT` or `END`."""

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
    """

    kernel: ir.Kernel
    segments: dict[int, Segment]
    lines: Mapping[tuple[str, int], int]
    plans: tuple[Plan, ...]
    single: dict[int, Segment] = field(default_factory=dict)
    coarse: bool = False
    _writer: list[Any] = field(default_factory=list)

    def bind(self, writer: Any) -> None:
        """Forgets region numbers that another writer gave."""
        if not self._writer or self._writer[0] is not writer:
            self._writer[:] = [writer]
            for plan in self.plans:
                plan.cache.clear()


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
        self.scope: dict[str, Any] = {"np": np}
        self.names: dict[int, str] = {}
        self.keep: list[Any] = []
        self.plans: list[Plan] = []
        self.text: list[str] = []
        self.lines: dict[tuple[str, int], int] = {}
        self.filename = f"<pallas_debug {kernel.name} {next(_numbers)}>"

    def program(self) -> Program:
        ends = [*self.starts[1:], len(self.tape)]
        for start, end in zip(self.starts, ends, strict=True):
            self._segment(start, end)
        filename = self.filename
        source = "\n".join(self.text) + "\n"
        linecache.cache[filename] = (
            len(source), None, source.splitlines(keepends=True), filename
        )  # fmt: skip
        exec(compile(source, filename, "exec"), self.scope)
        segments = {
            start: Segment(
                run=self.scope[f"seg_{start}"],
                start=start,
                length=end - start,
                sync=self.tape[start].sync,
            )
            for start, end in zip(self.starts, ends, strict=True)
        }
        return Program(
            kernel=self.kernel,
            segments=segments,
            lines=self.lines,
            plans=tuple(self.plans),
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
            self.lines[self.filename, len(self.text)] = position

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
            index = self._operand(instr.ins[0])
            targets = instr.targets
            if len(targets) == 2:
                return [f"return {targets[1]} if int({index}) >= 1 else {targets[0]}"]
            last = len(targets) - 1
            return [f"return {targets!r}[min(max(int({index}), 0), {last})]"]
        outs = "".join(f"r{n}, " for n in instr.outs)
        lines = [f"m.pc = {position}", f"ids = m.grid_next({len(instr.outs)})"]
        lines.append(f"if ids is None: return {instr.targets[0]}")
        if instr.outs:
            lines.append(f"{outs}= ids")
        return lines

    def _statement(self, position: int, instr: ir.Instr) -> list[str]:
        outs = ", ".join(f"r{n}" for n in instr.outs)
        if instr.pure is not None:
            expression = self._expression(instr)
            return [f"{outs} = {expression}" if outs else expression]
        rule = RULES.get(instr.op)
        if rule is None:
            call = f"m.unsupported({position})"
            lines = [f"m.pc = {position}"]
            return [*lines, f"{outs}, = {call}" if outs else call]
        assert instr.sync or not rule.waits, f"{instr.op} waits inside a segment"
        arguments = [self._target(a) for a in instr.accesses]
        arguments += [self._operand(o) for o in instr.ins]
        params = {k: v for k, v in instr.params.items() if k != "avals"}
        if params:
            arguments.append(f"**{self._constant(params)}")
        if rule.wants_instr:
            arguments.insert(0, self._constant(instr))
        if rule.verb:
            call = f"m.{rule.verb}({', '.join(arguments)})"
        else:
            name = self._constant(rule.function)
            call = f"{name}({', '.join(['m', *arguments])})"
        lines = [f"m.pc = {position}"]
        if rule.waits:
            lines.append(f"if {call} is False: return {WAIT}")
        elif outs:
            lines.append(f"{outs} = {call}")
        else:
            lines.append(call)
        return lines

    def _expression(self, instr: ir.Instr) -> str:
        pure = instr.pure
        assert pure is not None
        names = {
            key: self._constant(value) for key, value in pure.env.items() if key != "np"
        }
        expression = _rename(pure.expr, names)
        return expression.format(*(self._operand(o) for o in instr.ins))

    def _operand(self, operand: ir.Operand) -> str:
        if isinstance(operand, ir.Reg):
            return f"r{operand.number}"
        return self._constant(operand.value)

    def _target(self, access: ir.Access) -> str:
        plan = Plan(access)
        self.plans.append(plan)
        dyn = "".join(f"{self._operand(o)}, " for o in plan.constants)
        ref, name = self._operand(access.ref), self._constant(plan)
        for step in access.steps:
            if isinstance(step, ir.Peer):
                ids = "".join(f", {self._operand(i)}" for i in step.ids)
                ref = f"m.peer({ref}, {self._constant(step.axes)}{ids})"
        return f"({ref}, {name}, ({dyn}))"

    def _constant(self, value: Any) -> str:
        """A name for a Python object in the generated module."""
        name = self.names.get(id(value))
        if name is None:
            name = self.names[id(value)] = f"c{len(self.names)}"
            self.scope[name] = value
            self.keep.append(value)
        return name


def _can_wait(instr: ir.Instr) -> bool:
    rule = RULES.get(instr.op)
    return rule is not None and rule.waits


def _rename(expression: str, names: dict[str, str]) -> str:
    """Replaces free names of an expression by the module's own."""
    if not names:
        return expression
    # Neither an attribute nor the keyword of a call (`axis=axis`).
    names_of = "|".join(map(re.escape, names))
    pattern = rf"(?<![\w.])({names_of})(?!\w|\s*=(?!=))"
    return re.sub(pattern, lambda match: names[match.group(1)], expression)
