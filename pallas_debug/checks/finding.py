"""Verdicts with evidence: `Finding`, and the `Report` of a run of checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from textwrap import indent
from types import MappingProxyType
from typing import Any

from pallas_debug import ir
from pallas_debug.accepted import whole
from pallas_debug.checks import places
from pallas_debug.trace import showing

NOTHING: Mapping[str, Any] = MappingProxyType({})


class Severity(StrEnum):
    """How bad it is: wrong or refused, suspicious, or good to know."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, kw_only=True, repr=False)
class Finding:
    """One verdict of one check.

    Attributes:
      message: What happened, with the offending values, in one sentence.
      hint: What to do next.
      code, name, severity: Of the check; filled in by `run_checks` where empty.
      loc: The user's line.
      other: The line of the second access or thread, where two take part.
      calls: Where the functions around the line were called, innermost first, at the
        first occurrence.
      launch: Row of the launches table, -1 if it is about none.
      buffer: Name of the buffer it is about, or empty.
      block: Grid coordinates of the first occurrence.
      threads, events: Who and when: the first occurrences, as numbers of the trace.
      count: How often it occurred.
      details: What a program wants to know beyond the message.
      cause: The finding that this one follows from, so that mending that one ends both.
    """

    message: str
    hint: str = ""
    code: str = ""
    name: str = ""
    severity: Severity | None = None
    loc: ir.Loc | None = None
    other: ir.Loc | None = None
    calls: tuple[ir.Loc, ...] = ()
    launch: int = -1
    buffer: str = ""
    block: tuple[int, ...] | None = None
    threads: tuple[int, ...] = ()
    events: tuple[int, ...] = ()
    count: int = 1
    details: Mapping[str, Any] = field(default_factory=lambda: NOTHING, compare=False)
    cause: Finding | None = None

    @property
    def place(self) -> str:
        """`kernel.py:41`, or empty."""
        return places.place(self.loc)

    @property
    def named(self) -> str:
        """`PD201 at kernel.py:41`."""
        return f"{self.code} at {self.place}" if self.place else self.code

    @property
    def causes(self) -> tuple[Finding, ...]:
        """The findings that it follows from, the nearest first."""
        return (self.cause, *self.cause.causes) if self.cause else ()

    @property
    def called(self) -> str:
        """`called from line 41 in f`, or empty."""
        return ir.called_from(self.loc, self.calls) if self.loc else ""

    @property
    def doc(self) -> str:
        """The documentation page of the check that found it; empty if unknown."""
        from pallas_debug.checks.check import CHECKS

        return CHECKS.get(self.code).doc if self.code in CHECKS else ""

    def __str__(self) -> str:
        lines = [f"{self.code} {self.severity}, {self.name}: {self.message}"]
        if self.loc:
            function = f"{self.loc.function}, " if self.loc.function else ""
            text = self.loc.text.strip().partition("\n")[0]
            where = f"  in {function}{self.place}"
            lines.append(f"{where}:   {text}" if text else where)
        if self.called:
            lines.append(f"  {self.called}")
        if self.cause:
            lines.append(f"  follows from {self.cause.named}")
        elif self.hint:
            lines.append(f"  try: {self.hint}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        at = f" at {self.place}" if self.place else ""
        return f"<{self.code} {self.severity}{at}: {self.message}>"


@dataclass(frozen=True, kw_only=True, repr=False)
class Report:
    """What the checks found: the worst first, in the order of the checks and events.

    Attributes:
      findings: The verdicts.
      suppressed: Verdicts of checks that were to be ignored.
      checks: Codes of the checks that ran.
      witnesses: Names of the threads that the findings name first, by number.
    """

    findings: tuple[Finding, ...] = ()
    suppressed: tuple[Finding, ...] = ()
    checks: tuple[str, ...] = ()
    witnesses: Mapping[int, str] = field(default_factory=dict[int, str], compare=False)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """What is wrong or refused."""
        return self._of(Severity.ERROR)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """What is suspicious."""
        return self._of(Severity.WARNING)

    @property
    def opens_at(self) -> int:
        """The event of the first error that has one, -1 if none has.

        Of those that follow from no other, if one of them has an event.
        """
        first = [one for one in self.roots if one.severity is Severity.ERROR]
        errors = (*first, *self.errors)
        return next((one.events[0] for one in errors if one.events), -1)

    @property
    def roots(self) -> tuple[Finding, ...]:
        """The findings that follow from no other one of this report."""
        here = set(map(id, self.findings))
        return tuple(one for one in self.findings if id(one.cause) not in here)

    def following(self, root: Finding) -> tuple[Finding, ...]:
        """The findings that follow from one."""
        return tuple(one for one in self.findings if one.cause is root)

    def at(self, event: int) -> tuple[Finding, ...]:
        """The findings that point at an event, each after the one it follows from."""
        number = whole("event", event, "the number of an event")
        here = [one for one in self.findings if number in one.events]
        return tuple(sorted(here, key=lambda one: len(one.causes)))

    def _of(self, severity: Severity) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if one.severity is severity)

    @property
    def by_code(self) -> Mapping[str, tuple[Finding, ...]]:
        """The findings of each code that has any."""
        groups: dict[str, list[Finding]] = {}
        for one in self.findings:
            groups.setdefault(one.code, []).append(one)
        return MappingProxyType({code: tuple(some) for code, some in groups.items()})

    def __len__(self) -> int:
        return len(self.findings)

    def __bool__(self) -> bool:
        """A report is a report, also when it found nothing."""
        return True

    @property
    def tally(self) -> str:
        """`2 errors, 1 warning`, or `no findings`; what follows from these aside."""
        roots, parts = self.roots, []
        for severity in Severity:
            count = sum(one.severity is severity for one in roots)
            if count:
                plural = "s" if count > 1 and severity is not Severity.INFO else ""
                parts.append(f"{count} {severity}{plural}")
        more = len(self.findings) - len(roots)
        follow = f", and {more} that follow{'s' * (more == 1)}" if more else ""
        return (", ".join(parts) or "no findings") + follow

    def __str__(self) -> str:
        lines = [self.tally]
        for root in self.roots:
            lines.append(str(root))
            lines += [indent(str(one), "    ") for one in self.following(root)]
        return "\n".join(lines)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str] | None:
        return showing.mimebundle(showing.REPORT, self)

    def _repr_html_(self) -> str | None:
        return showing.html(showing.REPORT, self)

    def __repr__(self) -> str:
        hidden = f", {len(self.suppressed)} suppressed" if self.suppressed else ""
        return f"<Report: {self.tally}{hidden}, {len(self.checks)} checks>"
