"""What notebooks show of traces and reports: the views, entered where the trace looks.

Importing this module registers the displays; nothing is drawn before it is asked for.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pallas_debug.accepted import file_path, keywords
from pallas_debug.checks import Report, run_checks
from pallas_debug.checks.check import CHECKS
from pallas_debug.session.focusing import report_of
from pallas_debug.trace import Trace, showing

PAGE_OPTIONS = ("state", "title", "values_bytes", "address")


def judged(trace: Trace) -> Report:
    """The report of all checks about a trace, made once."""
    kept = trace.caches.get("report")
    if kept is None or kept[0] != CHECKS.edits:
        kept = trace.caches["report"] = CHECKS.edits, run_checks(trace)
    return kept[1]


INSTEAD = "shown instead"  # among a trace's caches: what shows it, if that was chosen


def show_instead(trace: Trace, made: Any) -> None:
    """Lets another object show the trace wherever it shows itself in a notebook."""
    trace.caches[INSTEAD] = made


@showing.SHOWS.register(showing.TRACE)
def trace_bundle(trace: Trace) -> Any:
    """What was chosen to show a trace, else its summary: text, HTML without a script."""
    from pallas_debug import views

    if INSTEAD in trace.caches:
        return trace.caches[INSTEAD]._repr_mimebundle_()
    report = judged(trace)
    return {
        "text/plain": views.summary(trace, report),
        "text/html": views.html_summary(trace, report),
    }


@showing.SHOWS.register(showing.REPORT)
def report_bundle(report: Report) -> dict[str, str]:
    """The findings of a report."""
    from pallas_debug import views

    return {
        "text/plain": views.findings(report),
        "text/html": views.html_findings(report),
    }


@showing.SHOWS.register(showing.PAGE)
def trace_page(
    trace: Trace, path: str | os.PathLike[str] | None, **options: Any
) -> str | None:
    """The viewer as a page: its text, or written to a file."""
    from pallas_debug import views

    keywords("to_html", options, ("report", *PAGE_OPTIONS))
    name = None if path is None else file_path(path)
    report = report_of(options.pop("report", None)) or judged(trace)
    text = views.page(trace, report, **options)
    if name is None:
        return text
    Path(name).write_text(text, encoding="utf-8")
    return None


@showing.SHOWS.register(showing.VIEWER)
def trace_viewer(trace: Trace, **options: Any) -> Any:
    """The viewer as a notebook widget, with a session behind it."""
    from pallas_debug.session.session import Session

    keywords("viewer", options, ("report", "title", "values_bytes"))
    report = report_of(options.pop("report", None)) or judged(trace)
    return Session(trace, report).widget(**options)
