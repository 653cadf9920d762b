"""Assertions of the kernel itself: which failed, where, with which words."""

import pytest
from helpers import TraceBuilder, only

from pallas_debug.checks import Severity, run_checks
from pallas_debug.trace import Kind, dumps, loads


def recorded(held):
    """Two blocks that check at one line; the fixed twin's checks hold."""
    b = TraceBuilder(grid=(2,))
    for block in range(2):
        t = b.thread("block", block=block)
        if held:
            t.emit(Kind.ASSERT, aux=1, line=7)
        else:
            t.asserted(f"x[{block}] must be positive", line=7)
    return b.close()


@pytest.mark.parametrize("path", [lambda t: t, lambda t: loads(dumps(t))])
def test_failed_checks_are_named_with_the_first_message(path):
    trace = path(recorded(held=False))
    finding = only(run_checks(trace), "PD501")
    assert finding.severity is Severity.ERROR
    assert (finding.loc.line, finding.count, finding.events) == (7, 2, (0, 1))
    assert finding.message.startswith(
        '`pl.debug_check` failed: "x[0] must be positive"; first in block (0,), 2 times'
    )
    assert "JAX" in finding.hint


def test_checks_that_hold_are_no_finding():
    assert not run_checks(recorded(held=True)).findings


def test_old_files_have_failures_without_a_message():
    b = TraceBuilder()
    b.thread().emit(Kind.ASSERT, aux=0, line=3)
    assert only(run_checks(b.close()), "PD501").message == "`pl.debug_check` failed"
