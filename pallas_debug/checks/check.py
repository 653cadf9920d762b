"""The table of checks and the decorator that adds to it.

A check is a pure function from a trace to findings, alone in its module; the module's
docstring is its documentation page, there is no second text.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.registry import Registry
from pallas_debug.trace.trace import Trace

Judge = Callable[[Trace], Iterable[Finding]]


@dataclass(frozen=True, kw_only=True)
class Check:
    """A registered check: stable code, kebab-case name, default severity, function."""

    code: str
    name: str
    severity: Severity
    function: Judge

    @property
    def doc(self) -> str:
        """The documentation page: the docstring of the function or of its module."""
        module = sys.modules.get(self.function.__module__)
        own = inspect.getdoc(self.function) or ""
        page = inspect.getdoc(module) or ""
        return own if "## " in own else page or own


CHECKS: Registry[Check] = Registry("check")


def check(
    code: str, name: str, *, severity: Severity = Severity.ERROR
) -> Callable[[Judge], Judge]:
    """Registers a check under its code; gives the function back unchanged."""

    def register(function: Judge) -> Judge:
        CHECKS.add(
            code, Check(code=code, name=name, severity=severity, function=function)
        )
        return function

    return register
