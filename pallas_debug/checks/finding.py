"""Verdicts with evidence: `Finding`, and the `Report` of a run of checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

from pallas_debug import ir
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
      launch: Row of the launches table, -1 if it is about none.
      buffer: Name of the buffer it is about, or empty.
      block: Grid coordinates of the first occurrence.
      threads, events: Who and when: the first occurrences, as numbers of the trace.
      count: How often it occurred.
      details: What a program wants to know beyond the message.
    """

    message: str
    hint: str = ""
    code: str = ""
    name: str = ""
    severity: Severity | None = None
    loc: ir.Loc | None = None
    other: ir.Loc | None = None
    launch: int = -1
    buffer: str = ""
    block: tuple[int, ...] | None = None
    threads: tuple[int, ...] = ()
    events: tuple[int, ...] = ()
    count: int = 1
    details: Mapping[str, Any] = field(default_factory=lambda: NOTHING, compare=False)

    @property
    def place(self) -> str:
        """`kernel.py:41`, or empty."""
        return f"{PurePath(self.loc.file).name}:{self.loc.line}" if self.loc else ""

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
            where = f"  in {function}{PurePath(self.loc.file).name}:{self.loc.line}"
            lines.append(f"{where}:   {text}" if text else where)
        if self.hint:
            lines.append(f"  try: {self.hint}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        at = f" at {self.place}" if self.place else ""
        return f"<{self.code} {self.severity}{at}: {self.message}>"


@dataclass(frozen=True, kw_only=True, repr=False)
class Report:
    """What the checks found, in the order of the checks and of the events.

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
        """The event of the first error that has one, -1 if none has."""
        return next((one.events[0] for one in self.errors if one.events), -1)

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
        """`2 errors, 1 warning`, or `no findings`."""
        parts = []
        for severity in Severity:
            count = len(self._of(severity))
            if count:
                plural = "s" if count > 1 and severity is not Severity.INFO else ""
                parts.append(f"{count} {severity}{plural}")
        return ", ".join(parts) or "no findings"

    def __str__(self) -> str:
        return "\n".join([self.tally, *map(str, self.findings)])

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str] | None:
        return showing.mimebundle(showing.REPORT, self)

    def _repr_html_(self) -> str | None:
        return showing.html(showing.REPORT, self)

    def __repr__(self) -> str:
        hidden = f", {len(self.suppressed)} suppressed" if self.suppressed else ""
        return f"<Report: {self.tally}{hidden}, {len(self.checks)} checks>"
