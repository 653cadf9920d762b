"""The checks about ourselves: what a recording lacks."""

from dataclasses import replace

import numpy as np
import pytest
from helpers import TraceBuilder, codes, only

from pallas_debug import errors, ir
from pallas_debug.checks import Severity, run_checks


@pytest.mark.parametrize(
    ("outcome", "code"), [("truncated", "PD902"), ("interrupted", "PD903")]
)
def test_an_early_end_is_said(outcome, code):
    b = TraceBuilder(name="matmul")
    b.thread().print("a")
    trace = b.close(outcome=outcome, message="max_events=1 reached")
    finding = only(run_checks(trace), code)
    assert finding.severity is Severity.WARNING
    assert "matmul" in finding.message
    assert "max_events=1 reached after 1 events" in finding.message
    assert not run_checks(b.close()).findings


def test_a_prefix_is_no_early_end():
    b = TraceBuilder()
    t = b.thread()
    t.print("a")
    t.print("b")
    trace = b.close(outcome="truncated", message="limit")
    assert codes(run_checks(trace)) == ["PD902"]
    assert not run_checks(trace[:1]).findings


def test_skipped_ops_are_named_with_their_line():
    b = TraceBuilder(grid=(2,))
    for block in range(2):
        b.thread("block", block=block).stub(op="gpu.inline_mgpu", line=5)
    finding = only(run_checks(b.close()), "PD901")
    assert finding.severity is Severity.WARNING
    assert (finding.loc.line, finding.count) == (5, 2)
    assert finding.message.startswith(
        "no rule for `gpu.inline_mgpu`; it was skipped, its results are unset"
    )
    assert 'rule("gpu.inline_mgpu")' in finding.hint


def test_a_stop_at_an_unknown_op_is_an_error_at_its_line():
    b = TraceBuilder()
    b.instr("tpu.x", 2)
    b.thread().print("a", line=3, op="pallas.print")
    b.instr("tpu.x", 4)
    text = str(errors.UnsupportedOp(op="tpu.x", loc=b.made_kernel().loc_of(2)))
    trace = b.close(outcome="unsupported", message=text)
    finding = only(run_checks(trace), "PD901")
    assert finding.severity is Severity.ERROR
    assert finding.loc.line == 4
    expected = "the recording of kernel stopped: no rule for `tpu.x`"
    assert finding.message == expected
    assert 'rule("tpu.x")' in finding.hint


FORM = ("a view", "index it")


def test_a_stop_at_an_unknown_use_of_an_op_says_the_way_out():
    b = TraceBuilder()
    b.thread().print("a", line=3, op="pallas.print")
    b.instr(f"{ir.UNSUPPORTED}state.get", 4, params={"form": FORM})
    text = str(errors.UnsupportedForm(op="state.get", form=FORM[0], way=FORM[1]))
    finding = only(run_checks(b.close(outcome="unsupported", message=text)), "PD901")
    assert finding.message.endswith("stopped: `state.get` is not supported with a view")
    assert (finding.hint, finding.loc.line) == ("index it", 4)


def test_a_skipped_use_of_an_op_says_the_way_out():
    b = TraceBuilder()
    form = {"op": f"{ir.UNSUPPORTED}state.get", "params": {"form": FORM}}
    b.thread().stub(line=4, **form)
    finding = only(run_checks(b.close()), "PD901")
    assert finding.message.startswith(
        "`state.get` is not supported with a view; it was"
    )
    assert finding.hint == "index it"


def test_values_that_were_not_kept():
    def trace(second):
        b = TraceBuilder()
        t = b.thread()
        x = b.buffer("x", (2,), initial=np.zeros(2, np.float32))
        t.write(x, value=np.zeros(2, np.float32), line=3)
        t.write(x, value=second, line=4)
        t.read(x, line=5)  # reads are not recorded by default
        return b.close()

    finding = only(run_checks(trace(None)), "PD904")
    assert finding.severity is Severity.INFO
    assert (finding.events, finding.loc.line) == ((1,), 4)
    assert not run_checks(trace(np.ones(2, np.float32))).findings


def test_all_values_dropped_are_said_where_they_were_asked_for():
    b = TraceBuilder()
    t = b.thread()
    x = b.buffer("x", (2,), initial=np.zeros(2, np.float32))
    t.write(x, line=3)
    trace = b.close()
    asked = replace(trace, meta={"options": {"values": "writes"}})
    assert only(run_checks(asked), "PD904").count == 1
    unasked = replace(trace, meta={"options": {"values": "none"}})
    assert not run_checks(unasked, select="PD904").findings
