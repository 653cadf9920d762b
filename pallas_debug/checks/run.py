"""Runs checks over a trace and joins what they say. The trace is not changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from pallas_debug import errors, ir
from pallas_debug.accepted import text
from pallas_debug.checks import causes
from pallas_debug.checks.check import CHECKS, Check
from pallas_debug.checks.finding import Finding, Report, Severity
from pallas_debug.checks.suppression import is_commented
from pallas_debug.trace.trace import Trace

EVIDENCE = 100  # events and threads kept for one finding
CRASHED = "PD999"


def run_checks(
    trace: Trace,
    select: str | Iterable[str] | None = None,
    ignore: str | Iterable[str] | None = None,
) -> Report:
    """The report of all checks, or of the selected ones.

    Args:
      trace: What to judge; a prefix of a trace or one from a file will do.
      select: Codes, names or prefixes of codes (`"PD1"`) of the checks to run.
      ignore: The same, for checks whose findings go to `report.suppressed`. So do
        those of a line with the comment `# pallas-debug: ignore[PD101]`.
    """
    wanted = tuple(CHECKS) if select is None else _codes(select, "select")
    unwanted = frozenset(_codes(ignore, "ignore") if ignore is not None else ())
    findings: list[Finding] = []
    suppressed: list[Finding] = []
    for code in wanted:
        for one in _run(CHECKS.get(code), trace):
            silenced = code in unwanted or is_commented(one)
            (suppressed if silenced else findings).append(one)
    findings = sorted(_related(trace, findings), key=_rank)
    first = {one.threads[0] for one in (*findings, *suppressed) if one.threads}
    return Report(
        findings=tuple(findings),
        suppressed=tuple(suppressed),
        checks=wanted,
        witnesses={number: trace.threads[number].name for number in sorted(first)},
    )


def _codes(words: str | Iterable[str], option: str) -> tuple[str, ...]:
    """The codes that words mean; an unknown word is refused with the nearest."""
    accepted = 'codes or names of checks: ["PD101"]'
    if not isinstance(words, Iterable) or getattr(words, "ndim", 1) != 1:
        raise errors.BadOption(option=option, value=words, accepted=accepted)
    given = words.split(",") if isinstance(words, str) else tuple(words)
    codes: list[str] = []
    for word in (text(option, one, accepted).strip() for one in given):
        found = [
            c for c, one in CHECKS.items() if c.startswith(word) or one.name == word
        ]
        if not word or not found:
            names = [one.name for _, one in CHECKS.items()]
            raise errors.BadOption(
                option=option, value=word, accepted=(*CHECKS, *names)
            )
        codes += [code for code in found if code not in codes]
    return tuple(sorted(codes))


def _run(check: Check, trace: Trace) -> list[Finding]:
    try:
        found = list(check.function(trace))
    except Exception as error:  # a crash of ours hides no other finding
        return [_crashed(check.name, check.code, error)]
    return _joined([_filled(one, check, trace) for one in found])


def _related(trace: Trace, findings: list[Finding]) -> list[Finding]:
    try:
        return causes.related(trace, findings)
    except Exception as error:  # likewise
        return [*findings, _crashed("causes", "", error)]


def _rank(one: Finding) -> int:
    """How bad what a finding follows from is, the worst first."""
    return causes.rank(one.cause or one)


def _crashed(name: str, code: str, error: Exception) -> Finding:
    crash = errors.CheckCrashed(name=name, error=f"{type(error).__name__}: {error}")
    return Finding(
        code=CRASHED,
        name="check-crashed",
        severity=Severity.WARNING,
        message=crash.message,
        hint=crash.next_step,
        details={"check": code},
    )


def _filled(one: Finding, check: Check, trace: Trace) -> Finding:
    return replace(
        one,
        code=one.code or check.code,
        name=one.name or check.name,
        severity=one.severity or check.severity,
        events=one.events[:EVIDENCE] or _first_at(trace, one),
        threads=one.threads[:EVIDENCE],
        calls=one.calls or _calls(trace, one),
    )


def _calls(trace: Trace, one: Finding) -> tuple[ir.Loc, ...]:
    """Where the functions around a verdict's line were called, if that is certain."""
    if one.loc is None:
        return ()
    for event in one.events:
        row = trace.events[event]
        if row.loc == one.loc:
            return row.launch.kernel.calls_of(row.column("instr"))
    if not 0 <= one.launch < len(trace.launches):
        return ()
    kernel = trace.launches[one.launch].kernel
    there = [n for n in range(len(kernel.tape)) if kernel.loc_of(n) == one.loc]
    ways = {kernel.calls_of(number) for number in there}
    return ways.pop() if len(ways) == 1 else ()


def _first_at(trace: Trace, one: Finding) -> tuple[int, ...]:
    """The first event of the line that a verdict about the code alone names, if any."""
    if one.loc is None or not 0 <= one.launch < len(trace.launches):
        return ()
    launch = trace.launches[one.launch]
    part = slice(launch.first_event, launch.last_event)
    there = launch.kernel.at_lines().get((one.loc.file, one.loc.line), [])
    found = np.flatnonzero(np.isin(trace.columns.instr[part], there))[:1]
    return tuple((found + launch.first_event).tolist())


def _joined(findings: list[Finding]) -> list[Finding]:
    """One finding for each line (or two) and buffer, with everybody's evidence."""
    groups: dict[object, Finding] = {}
    for one in findings:
        line = (one.loc.file, one.loc.line) if one.loc else one.message
        other = (one.other.file, one.other.line) if one.other else None
        key = (one.code, one.severity, line, other, one.buffer)
        first = groups.get(key)
        if first is None:
            groups[key] = one
            continue
        threads = tuple(dict.fromkeys(first.threads + one.threads))
        groups[key] = replace(
            first,
            count=first.count + one.count,
            threads=threads[:EVIDENCE],
            events=tuple(sorted({*first.events, *one.events}))[:EVIDENCE],
        )
    return list(groups.values())
