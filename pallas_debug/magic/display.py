"""How a notebook shows a trace and a report: as the views' text and script-free HTML.

The trace layer knows no view, so the rich display is given to IPython here, by name and
without importing the classes.
"""

from __future__ import annotations

from typing import Any

import pallas_debug
from pallas_debug import views

_TRACE = ("pallas_debug.trace.trace", "Trace")
_REPORT = ("pallas_debug.checks.finding", "Report")


def _plain_trace(trace: Any, printer: Any, cycle: bool) -> None:
    printer.text(views.summary(trace, pallas_debug.check(trace)))


def _html_trace(trace: Any) -> str:
    return views.html_summary(trace, pallas_debug.check(trace))


def _plain_report(report: Any, printer: Any, cycle: bool) -> None:
    printer.text(views.findings(report))


def add_formatters(shell: Any) -> None:
    """Teaches the shell's formatters our two types."""
    formatters = shell.display_formatter.formatters
    formatters["text/plain"].for_type_by_name(*_TRACE, _plain_trace)
    formatters["text/plain"].for_type_by_name(*_REPORT, _plain_report)
    formatters["text/html"].for_type_by_name(*_TRACE, _html_trace)


def remove_formatters(shell: Any) -> None:
    """Forgets them again."""
    formatters = shell.display_formatter.formatters
    for kind, home in (
        ("text/plain", _TRACE),
        ("text/plain", _REPORT),
        ("text/html", _TRACE),
    ):
        formatters[kind].pop(".".join(home), None)
