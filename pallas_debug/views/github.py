"""Findings as workflow commands, which GitHub Actions shows beside the lines."""

from __future__ import annotations

from typing import Any

from pallas_debug.trace import Trace
from pallas_debug.views.sarif import address, said
from pallas_debug.views.view import view as exported

LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


@exported("github", suffix=".github.txt")
def github(trace: Trace, report: Any) -> str:
    """One command for each finding."""
    return "\n".join(map(_command, report.findings))


def _command(one: Any) -> str:
    values = {"title": f"{one.code} {one.name}"}
    if one.loc:
        values = {"file": address(one.loc.file), "line": str(one.loc.line), **values}
    text = said(one)
    pairs = ",".join(f"{k}={_escaped(v, ':,')}" for k, v in values.items())
    return f"::{LEVELS.get(str(one.severity), 'notice')} {pairs}::{_escaped(text, '')}"


def _escaped(text: str, also: str) -> str:
    """Percent-escapes what would end the command or a value in it."""
    for letter in "%\r\n" + also:
        text = text.replace(letter, f"%{ord(letter):02X}")
    return text
