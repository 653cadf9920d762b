"""The table of rules: what an op means, in the machine's verbs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pallas_debug.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule and how the compiler calls it.

    Attributes:
      function: `(m, [instr,] *targets, *values, **params)`; returns the results.
      waits: It may refuse with `False`, having done nothing; it has no results.
      wants_instr: It is given the instruction first.
      verb: The one verb that the rule consists of, called in its place.
    """

    function: Callable[..., Any]
    waits: bool = False
    wants_instr: bool = False
    verb: str = ""


RULES: Registry[Rule] = Registry("rule")


def rule(
    op: str, *, waits: bool = False, wants_instr: bool = False, verb: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers the meaning of an op; gives the function back unchanged."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        entry = Rule(function=function, waits=waits, wants_instr=wants_instr, verb=verb)
        RULES.add(op, entry)
        return function

    return register
