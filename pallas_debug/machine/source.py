"""Text of generated Python: what a rule's call or a pure operation looks like.

Shared by whoever generates functions from a tape; knows neither segments nor threads.
"""

from __future__ import annotations

import itertools
import linecache
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.machine.places import Plan, dynamic_slots
from pallas_debug.machine.rules.registry import Rule

Operand = Callable[[ir.Operand], str]  # the text that stands for an operand
_numbers = itertools.count()


class Source:
    """A module that is being generated.

    Attributes:
      filename: What tracebacks and profilers call it.
      scope: Its global names.
      plans: The accesses that its text uses.
    """

    def __init__(self, name: str) -> None:
        self.filename = f"<pallas_debug {name} {next(_numbers)}>"
        self.scope: dict[str, Any] = {"np": np}
        self.plans: list[Plan] = []
        self._names: dict[int, str] = {}
        self._keep: list[Any] = []

    def run(self, lines: Sequence[str]) -> dict[str, Any]:
        """Compiles and executes the text; gives the module's names."""
        text = "\n".join(lines) + "\n"
        linecache.cache[self.filename] = (
            len(text), None, text.splitlines(keepends=True), self.filename
        )  # fmt: skip
        exec(compile(text, self.filename, "exec"), self.scope)
        return self.scope

    def constant(self, value: Any) -> str:
        """A name for a Python object."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"c{len(self._names)}"
            self.scope[name] = value
            self._keep.append(value)
        return name

    def expression(self, instr: ir.Instr, operand: Operand) -> str:
        """A pure instruction."""
        pure = instr.pure
        assert pure is not None
        names = {
            key: self.constant(value) for key, value in pure.env.items() if key != "np"
        }
        expression = _rename(pure.expr, names)
        return expression.format(*(operand(o) for o in instr.ins))

    def call(self, instr: ir.Instr, rule: Rule, operand: Operand) -> str:
        """The call of an instruction's rule on the machine `m`."""
        arguments = [self.target(a, operand) for a in instr.accesses]
        arguments += [operand(o) for o in instr.ins]
        params = {k: v for k, v in instr.params.items() if k != "avals"}
        if params:
            arguments.append(f"**{self.constant(params)}")
        if rule.wants_instr:
            arguments.insert(0, self.constant(instr))
        if rule.verb:
            return f"m.{rule.verb}({', '.join(arguments)})"
        name = self.constant(rule.function)
        return f"{name}({', '.join(['m', *arguments])})"

    def plan(self, access: ir.Access, operand: Operand) -> Plan:
        """The compiled access; its cache holds the places of one buffer shape."""
        plan = Plan(access)
        self.plans.append(plan)
        return plan

    def target(self, access: ir.Access, operand: Operand) -> str:
        """An access as a rule gets it."""
        ref, name, dyn = self.pieces(access, operand)
        for step in access.steps:
            if isinstance(step, ir.Peer):
                ids = "".join(f", {operand(i)}" for i in step.ids)
                ref = f"m.peer({ref}, {self.constant(step.axes)}{ids})"
        return f"({ref}, {name}, {dyn})"

    def pieces(self, access: ir.Access, operand: Operand) -> tuple[str, str, str]:
        """Its reference, its plan and the values of its traced indices."""
        plan = self.constant(self.plan(access, operand))
        dyn = "".join(f"{operand(o)}, " for o in dynamic_slots(access))
        return operand(access.ref), plan, f"({dyn})"


def taken(instr: ir.Instr, index: str) -> str:
    """Where a branch goes on."""
    targets = instr.targets
    if len(targets) == 2:
        return f"{targets[1]} if int({index}) >= 1 else {targets[0]}"
    return f"{targets!r}[min(max(int({index}), 0), {len(targets) - 1})]"


def _rename(expression: str, names: dict[str, str]) -> str:
    """Replaces free names of an expression by the module's own."""
    if not names:
        return expression
    # Neither an attribute nor the keyword of a call (`axis=axis`).
    names_of = "|".join(map(re.escape, names))
    pattern = rf"(?<![\w.])({names_of})(?!\w|\s*=(?!=))"
    return re.sub(pattern, lambda match: names[match.group(1)], expression)
