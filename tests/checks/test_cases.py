"""Faulty kernels from public reports: each gets its verdict, its fixed twin none.

`CODES` says which check must fire on a case; what else it must say stands in the case's
own `EXPECT`. A fixed twin has no error and gives what `reference()` says.
"""

import importlib

import jax
import numpy as np
import pytest

import pallas_debug as pldb
from pallas_debug.checks import Severity

CODES = {
    "h01_bias_block_past_the_end": "PD101",
    "h02_half_written_output": "PD103",
    "h03_reduce_over_outer_axis": "PD104",
    "h04_matmul_ragged_k": "PD106",
    "h05_negative_prefetched_block": "PD101",
    "h06_store_then_tma_without_commit": "PD203",
    "h07_barrier_short_of_arrivals": "PD210",
    "h08_dma_source_overwritten": "PD201",
    "h09_fully_masked_rows": "PD401",
    "h10_repeated_index_atomic": "PD108",
}
OPTIONS = {"h03_reduce_over_outer_axis": pldb.Options(chip="v5e")}


def load(case):
    return importlib.import_module(f"cases.{case}")


@pytest.fixture(autouse=True)
def promotion():
    """The reporters let types promote as plain JAX does."""
    with jax.numpy_dtype_promotion("standard"):
        yield


def judged(case, which):
    fn, args = getattr(load(case), which)()
    trace = pldb.trace(fn, *args, options=OPTIONS.get(case))
    return trace, pldb.check(trace)


@pytest.mark.parametrize("case", CODES)
def test_faulty_kernel_gets_its_verdict_at_the_line_and_block(case):
    expect = load(case).EXPECT
    _, report = judged(case, "build")
    found = report.by_code.get(CODES[case], ())
    assert found, f"no {CODES[case]} among {report}"
    first = found[0]
    assert expect["line_contains"] in first.loc.text
    assert first.block == expect.get("first_block", ())
    assert first.buffer == (expect["buffer"] or "")


@pytest.mark.parametrize("case", CODES)
def test_fixed_twin_has_no_error_and_the_right_result(case):
    module = load(case)
    trace, report = judged(case, "fixed")
    assert not report.errors, str(report)
    got = np.asarray(trace.outputs, np.float64)
    if module.EXPECT.get("compare") == "out[:6]":
        got = got[:6]
    tolerance = module.EXPECT["tolerance"]
    np.testing.assert_allclose(got, module.reference(), rtol=tolerance, atol=tolerance)


def test_half_written_output_names_the_elements():
    _, report = judged("h02_half_written_output", "build")
    (finding,) = report.by_code["PD103"]
    assert finding.details["elements"] == (((0, 4), (12, 16)),)
    assert finding.details["missing"] == 8


def test_revisited_block_is_an_error_on_a_tpu_and_nothing_elsewhere():
    fn, args = load("h03_reduce_over_outer_axis").build()
    assert not pldb.check(fn, *args).findings
    _, report = judged("h03_reduce_over_outer_axis", "build")
    (finding,) = report.by_code["PD104"]
    assert finding.severity is Severity.ERROR
    assert finding.details["output_block"] == (0, 0)


def test_ragged_matmul_names_both_operands():
    _, report = judged("h04_matmul_ragged_k", "build")
    found = {one.buffer: one.details["elements"] for one in report.by_code["PD106"]}
    assert found == {"x_ref": ((0, 8), (8, 16)), "w_ref": ((8, 16), (0, 128))}


def test_negative_block_names_the_scalar_behind_it():
    _, report = judged("h05_negative_prefetched_block", "build")
    (finding,) = report.by_code["PD101"]
    assert finding.details["caused_by"] == (("last_ref", "[1]", -1),)
    assert "`last_ref`[1] is -1" in finding.message


def test_masked_rows_show_the_way_from_the_subtraction_to_the_output():
    _, report = judged("h09_fully_masked_rows", "build")
    finding = report.by_code["PD401"][0]
    assert finding.details["op"] == "lax.sub"
    assert finding.details["turn"] == 0
    assert finding.details["operands"] == (-np.inf, -np.inf)
    assert finding.details["elements"][0] == (6, 8)
    path = [step["text"] for step in finding.details["path"]]
    assert (path[0], path[-1]) == ("sub", "write o_ref[0:8, 0:128]")


def test_repeated_index_is_information_and_every_lane_counts():
    module = load("h10_repeated_index_atomic")
    trace, report = judged("h10_repeated_index_atomic", "build")
    (finding,) = report.findings
    assert finding.severity is Severity.INFO
    assert finding.details["index"] == module.EXPECT["index"]
    np.testing.assert_array_equal(trace.outputs, module.EXPECT["hardware_output"])


@pytest.mark.parametrize(
    "case", ["h06_store_then_tma_without_commit", "h08_dma_source_overwritten"]
)
def test_race_names_both_lines_and_both_clocks(case):
    expect = load(case).EXPECT
    _, report = judged(case, "build")
    (finding,) = report.errors
    assert expect["other_line_contains"] in finding.other.text
    main, other = finding.details["accesses"]
    assert (main["line"], other["line"]) == (finding.loc.line, finding.other.line)
    clocks = finding.details["clocks"]
    # Neither knows the other's access: that is what a race is.
    if finding.code == "PD201":
        assert clocks[0].get(other["thread"], -1) < other["tick"]
        assert clocks[1].get(main["thread"], -1) < main["tick"]


def test_deadlock_has_its_graph():
    expect = load("h07_barrier_short_of_arrivals").EXPECT
    _, report = judged("h07_barrier_short_of_arrivals", "build")
    (finding,) = report.by_code["PD210"]
    assert finding.details["arrivals"] == expect["arrivals"]
    nodes = {node["thread"]: node for node in finding.details["graph"]["nodes"]}
    (edge,) = finding.details["graph"]["edges"]
    assert "warpgroup 1" in nodes[edge["from"]]["name"]
    assert "warpgroup 0" in nodes[edge["to"]]["name"]
    assert (edge["object"], edge["state"]) == ("ready[0]", "ended")
