"""Where a view opens."""

import numpy as np
from helpers import TraceBuilder

from pallas_debug import views
from pallas_debug.checks import Finding, Report, Severity, run_checks
from pallas_debug.trace import Writer, close


def recorded(*, outside):
    b = TraceBuilder(grid=(1,))
    x = b.buffer("x", (4,), role="input", initial=np.zeros(4, np.float32))
    t = b.thread(block=0)
    t.read(x, line=3)
    t.read(x, [(2, 4 if outside else 2)], line=4)
    return b.close()


def test_opens_at_the_first_error():
    trace = recorded(outside=True)
    event = views.opens_at(trace, run_checks(trace))
    assert trace.events[event].loc.line == 4


def test_opens_at_a_warning_where_there_is_no_error_but_not_for_a_remark():
    trace = recorded(outside=False)
    said = {
        severity: views.opens_at(
            trace,
            Report(findings=(Finding(message="m", severity=severity, events=(5,)),)),
        )
        for severity in Severity
    }
    assert said[Severity.ERROR] == said[Severity.WARNING] == 5
    assert said[Severity.INFO] == views.opens_at(trace)


def test_opens_at_the_kernel_s_own_work_not_at_the_blocks_that_are_fetched():
    b = TraceBuilder(grid=(1,))
    x = b.buffer("x", (4,), role="input", initial=np.zeros(4, np.float32))
    t = b.thread(block=0)
    t.read(x, line=9, op="window.fetch")
    read = t.read(x, line=3)
    assert views.opens_at(b.close()) == read


def test_opens_where_the_kernel_begins_if_nothing_is_wrong():
    trace = recorded(outside=False)
    event = views.opens_at(trace, run_checks(trace))
    assert trace.events[event].loc.line == 3
    assert views.opens_at(trace) == event
    assert {trace.threads[t].kind for t in trace.columns.thread[:event]} <= {"launch"}


def test_an_empty_trace_opens_before_the_first_event():
    assert views.opens_at(close(Writer())) == -1
