"""Findings that the user's own comment or a baseline file says to leave alone.

A comment on the guilty line is enough: `# pallas-debug: ignore[PD101]`, several codes or
prefixes with commas, or `# pallas-debug: ignore` for all. A baseline is a list of
fingerprints: what was known then is not reported again until its line changes.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from pallas_debug import errors
from pallas_debug.checks.finding import Finding, Report

_COMMENT = re.compile(r"#\s*pallas-debug:\s*ignore(?:\[([^\]]*)\])?")
BASELINE = "pallas_debug baseline"


def is_commented(one: Finding) -> bool:
    """Whether a comment on the finding's line, or on its second one, silences it."""
    return any(
        loc is not None and _silences(loc.excerpt, one.code)
        for loc in (one.loc, one.other)
    )


def _silences(text: str, code: str) -> bool:
    for found in _COMMENT.finditer(text):
        words = [word.strip() for word in (found[1] or "").split(",")]
        if found[1] is None or any(word and code.startswith(word) for word in words):
            return True
    return False


def fingerprint(one: Finding) -> dict[str, str]:
    """What a finding is known by, whatever its line number: code, place, text, buffer."""
    loc = one.loc
    return {
        "code": one.code,
        "file": PurePath(loc.file).name if loc else "",
        "function": loc.function if loc else "",
        "line": loc.excerpt.strip().partition("\n")[0] if loc else one.message,
        "buffer": one.buffer,
    }


def write_baseline(report: Report, path: str | os.PathLike[str]) -> None:
    """Writes the report's findings, and what it already knew, as a baseline."""
    known = [fingerprint(one) for one in (*report.findings, *report.suppressed)]
    unique = [dict(pairs) for pairs in sorted({tuple(k.items()) for k in known})]
    text = json.dumps({"what": BASELINE, "format": 1, "findings": unique}, indent=1)
    Path(path).write_text(text + "\n", encoding="utf-8")


def read_baseline(path: str | os.PathLike[str]) -> tuple[dict[str, str], ...]:
    """The fingerprints of a baseline file.

    Raises:
      BadBaseline: It cannot be read or is something else.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise errors.BadBaseline(path=os.fspath(path), reason=str(error)) from None
    if not isinstance(data, dict) or data.get("what") != BASELINE:  # pyright: ignore[reportUnknownMemberType]
        raise errors.BadBaseline(path=os.fspath(path), reason="it is another file")
    found: Any = data.get("findings")
    return tuple({str(k): str(v) for k, v in one.items()} for one in found)


def without(report: Report, known: Iterable[dict[str, str]]) -> Report:
    """The report with the findings of a baseline among the suppressed ones."""
    fingerprints = list(known)
    old: list[Finding] = []
    new: list[Finding] = []
    for one in report.findings:
        (old if fingerprint(one) in fingerprints else new).append(one)
    suppressed = (*report.suppressed, *old)
    return replace(report, findings=tuple(new), suppressed=suppressed)
