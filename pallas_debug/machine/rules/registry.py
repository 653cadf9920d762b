"""The table of rules: what an op means, in the machine's verbs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


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


RULES: dict[str, Rule] = {}


def rule(
    op: str, *, waits: bool = False, wants_instr: bool = False, verb: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers the meaning of an op; a second registration raises."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if op in RULES:
            first, second = RULES[op].function.__module__, function.__module__
            raise ValueError(f"two rules for `{op}`: in {first} and in {second}")
        RULES[op] = Rule(
            function=function, waits=waits, wants_instr=wants_instr, verb=verb
        )
        return function

    return register
