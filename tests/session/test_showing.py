"""Traces and reports display well wherever a notebook asks, without an extension."""

import subprocess
import sys

import numpy as np
import pytest
from helpers import TraceBuilder

from pallas_debug import checks, extend, views
from pallas_debug.checks.check import CHECKS
from pallas_debug.session import showing
from pallas_debug.trace import showing as hooks


def judged():
    b = TraceBuilder(grid=(1,), name="k")
    t = b.thread("warpgroup", block=0)
    t.read(b.buffer("x", (4,), initial=np.zeros(4, np.float32)), [(2, 4)])
    trace = b.close()
    return trace, checks.run_checks(trace)


def test_trace_shows_its_summary_and_prints_one_line():
    trace, report = judged()
    shown = trace._repr_mimebundle_(include=None, exclude=None)
    assert shown == {
        "text/plain": views.summary(trace, report),
        "text/html": views.html_summary(trace, report),
    }
    assert trace._repr_html_() == shown["text/html"]
    assert "\n" not in str(trace)
    assert "\n" not in repr(trace)


def test_report_shows_its_findings():
    _, report = judged()
    shown = report._repr_mimebundle_()
    assert shown["text/plain"] == views.findings(report)
    assert shown["text/html"] == report._repr_html_() == views.html_findings(report)
    assert "PD101" in shown["text/html"]
    assert "\n" not in repr(report)


def test_report_names_threads_as_the_summary_of_its_trace_does():
    trace, report = judged()
    said = [line for line in views.findings(report).splitlines() if "  by " in line]
    assert said
    assert set(said) <= set(views.findings(report, trace=trace).splitlines())
    assert all("by warpgroup 0 of block (0,)" in line for line in said)


def test_report_is_made_once_until_a_check_is_added():
    trace, report = judged()
    assert showing.judged(trace) is showing.judged(trace) == report

    @extend.check("PD998", "mine")
    def mine(trace):
        yield checks.Finding(message="mine")

    try:
        assert [f.code for f in showing.judged(trace).findings] == ["PD101", "PD998"]
    finally:
        CHECKS.remove("PD998")


def test_ipython_shows_the_summary_without_the_extension():
    pytest.importorskip("IPython")
    from IPython.core.formatters import DisplayFormatter

    trace, report = judged()
    data, _ = DisplayFormatter().format(trace)
    assert data["text/plain"] == views.summary(trace, report)
    assert data["text/html"] == views.html_summary(trace, report)


def test_trace_that_nobody_shows_is_its_repr(monkeypatch):
    trace, report = judged()
    for kind in (hooks.TRACE, hooks.REPORT):
        monkeypatch.delitem(hooks.SHOWS._entries, kind)
    assert trace._repr_mimebundle_() is trace._repr_html_() is None
    assert report._repr_mimebundle_() is report._repr_html_() is None


def test_trace_layer_alone_loads_no_view():
    script = (
        "import sys\nfrom pallas_debug.trace import Trace\n"
        "assert not [m for m in sys.modules if m.startswith('pallas_debug.views')]"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
