"""Turns a tape into Python functions, one for each straight run of instructions.

A *segment* begins at a jump target or at an instruction that may wait, and ends before
the next one. Inside it, intermediate values are Python locals; registers that live on
are stored at its end, so that between segments a thread is `(pc, registers)`. With
`single=True` every instruction is a segment: the same code, for stepping.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.machine.places import Plan
from pallas_debug.machine.rules import RULES
from pallas_debug.machine.step import Target

WAIT, END = -1, -2
CONTROL = ("ir.jump", "ir.branch", "ir.return", "grid.next")


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
      lines: Line of the generated source → tape position, to find the instruction
        that raised.
      plans: Compiled accesses; their caches hold region numbers of one writer.
    """

    kernel: ir.Kernel
    segments: dict[int, Segment]
    filename: str
    lines: dict[int, int]
    plans: tuple[Plan, ...]

    def bind(self) -> None:
        """Forgets region numbers of an earlier run."""
        for plan in self.plans:
            plan.cache.clear()


def compile_kernel(kernel: ir.Kernel, *, single: bool = False) -> Program:
    """Generates and compiles the functions of a kernel."""
    return _Compiler(kernel, single).program()


def leaders(tape: ir.Tape, *, single: bool = False) -> list[int]:
    """Tape positions at which a segment begins, sorted."""
    if single:
        return list(range(len(tape)))
    found = {0}
    for position, instr in enumerate(tape):
        found.update(instr.targets)
        if instr.sync:
            found.add(position)
        if instr.op in CONTROL:
            found.add(position + 1)
    return sorted(p for p in found if p < len(tape))


def live_at_leaders(tape: ir.Tape, starts: Sequence[int]) -> dict[int, set[int]]:
    """Registers whose value is needed at each leader (backwards data flow)."""
    ends = {s: (starts[i + 1] if i + 1 < len(starts) else len(tape))
            for i, s in enumerate(starts)}  # fmt: skip
    use: dict[int, set[int]] = {}
    define: dict[int, set[int]] = {}
    follow: dict[int, list[int]] = {}
    for start in starts:
        used, defined = set[int](), set[int]()
        for instr in tape[start : ends[start]]:
            used.update(r for r in instr.reads() if r not in defined)
            defined.update(instr.outs)
        use[start], define[start] = used, defined
        last = tape[ends[start] - 1]
        next_ones = list(last.targets) if last.op in CONTROL else []
        if last.op not in ("ir.jump", "ir.branch", "ir.return"):
            next_ones.append(ends[start])
        follow[start] = [n for n in next_ones if n < len(tape)]
    live = {s: set(use[s]) for s in starts}
    changed = True
    while changed:
        changed = False
        for start in reversed(starts):
            out = set().union(*(live[n] for n in follow[start]))
            new = use[start] | (out - define[start])
            if new != live[start]:
                live[start], changed = new, True
    return live


class _Compiler:
    def __init__(self, kernel: ir.Kernel, single: bool) -> None:
        self.kernel = kernel
        self.tape = kernel.tape
        self.starts = leaders(self.tape, single=single)
        self.live = live_at_leaders(self.tape, self.starts)
        self.scope: dict[str, Any] = {"np": np, "Target": Target}
        self.names: dict[int, str] = {}
        self.keep: list[Any] = []
        self.plans: list[Plan] = []
        self.text: list[str] = []
        self.lines: dict[int, int] = {}

    def program(self) -> Program:
        ends = [*self.starts[1:], len(self.tape)]
        for start, end in zip(self.starts, ends, strict=True):
            self._segment(start, end)
        filename = f"<pallas_debug {self.kernel.name} {id(self):x}>"
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
            filename=filename,
            lines=self.lines,
            plans=tuple(self.plans),
        )

    def _segment(self, start: int, end: int) -> None:
        self.text.append(f"def seg_{start}(m, R):")
        defined: set[int] = set()
        body: list[tuple[int, str]] = []
        for number in sorted(self._needed(start, end)):
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
            self.lines[len(self.text)] = position

    def _needed(self, start: int, end: int) -> set[int]:
        needed, defined = set[int](), set[int]()
        for instr in self.tape[start:end]:
            needed.update(r for r in instr.reads() if r not in defined)
            defined.update(instr.outs)
        return needed

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
            return [f"{outs} = {self._expression(instr)}"]
        rule = RULES.get(instr.op)
        if rule is None:
            return [f"m.pc = {position}", f"m.unsupported({position})"]
        arguments = [self._target(a) for a in instr.accesses]
        arguments += [self._operand(o) for o in instr.ins]
        if instr.params:
            arguments.append(f"**{self._constant(dict(instr.params))}")
        if rule.wants_instr:
            arguments.insert(0, self._constant(instr))
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
            key: self._constant(value)
            for key, value in pure.env.items()
            if key != "np"
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
        return f"Target({ref}, {name}, ({dyn}))"

    def _constant(self, value: Any) -> str:
        """A name for a Python object in the generated module."""
        name = self.names.get(id(value))
        if name is None:
            name = self.names[id(value)] = f"c{len(self.names)}"
            self.scope[name] = value
            self.keep.append(value)
        return name


def _rename(expression: str, names: dict[str, str]) -> str:
    """Replaces free names of an expression by the module's own."""
    if not names:
        return expression
    import re

    pattern = r"(?<![\w.])(" + "|".join(map(re.escape, names)) + r")(?!\w)"
    return re.sub(pattern, lambda match: names[match.group(1)], expression)
