"""The summary in the terminal: what was launched, counted, held and found."""

import numpy as np
import pytest
from helpers import TraceBuilder

from pallas_debug import checks, views
from pallas_debug.checks import Finding, Report, Severity
from pallas_debug.ir import Loc
from pallas_debug.views import overview, text


def two_blocks():
    """Block 0 reads once, block 1 three times and copies; SMEM is reused."""
    b = TraceBuilder(grid=(2,), name="scale")
    x = b.buffer("x", (8,), role="input", initial=np.zeros(8, np.float32))
    out = b.buffer("out", (8,), role="output")
    for block in range(2):
        t = b.thread("warpgroup", block=block)
        first = b.buffer("tile", (64,), space="smem", scope="block", block=block)
        second = b.buffer("tile", (64,), space="smem", scope="block", block=block)
        t.alloc(first)
        for _ in range(1 + 2 * block):
            t.read(x, [(4 * block, 4)])
        t.free(first)
        t.alloc(second)
        if block:
            t.spawn("tma")
        t.write(out, [(4 * block, 4)])
        t.free(second)
    return b.close()


def lines_of(trace):
    return [line.strip() for line in views.summary(trace, Report()).splitlines()]


def test_summary_says_what_was_launched_and_how_it_ended():
    shown = views.summary(two_blocks(), Report())
    assert shown.startswith("launch 0: scale (mosaic_gpu)")
    assert "grid 2, 2 blocks; finished" in shown
    assert shown.endswith("no findings")


def test_counts_have_totals_and_extremes():
    lines = [" ".join(line.split()) for line in lines_of(two_blocks())]
    assert (
        "reads 4 1 in (0,) … 3 in (1,) "
        "1 in warpgroup 0 of block (0,) … 3 in warpgroup 0 of block (1,)" in lines
    )
    assert "writes 2 1 each 1 each" in lines
    assert any(line.startswith("copies 1 0 in (0,) … 1 in (1,)") for line in lines)


def test_memory_has_peaks_per_block_and_joins_equal_buffers():
    lines = [" ".join(line.split()) for line in lines_of(two_blocks())]
    assert "gmem: at most 64 B in all" in lines
    assert "smem: at most 256 B a block" in lines  # freed before the next is allocated
    assert "tile 256 B float32[64] × 4 scratch" in lines


def test_aliased_buffer_is_not_counted_twice():
    b = TraceBuilder(grid=(1,))
    x = b.buffer("x", (8,), role="input", initial=np.zeros(8, np.float32))
    b.buffer("out", (8,), role="output", alias=x)
    assert "gmem: at most 32 B in all" in views.summary(b.close(), Report())


@pytest.mark.parametrize(
    ("kind", "message", "said"),
    [
        ("finished", "", "; finished"),
        ("deadlock", "two threads wait", "; deadlock: two threads wait"),
        ("truncated", "max_events=10", "; truncated: max_events=10"),
    ],
)
def test_outcome_is_in_the_summary(kind, message, said):
    trace = TraceBuilder(grid=(1,)).close(outcome=kind, message=message)
    assert said in views.summary(trace, Report())


def test_trace_without_a_launch_says_so():
    trace = two_blocks()
    empty = type(trace)(columns=trace.columns.prefix(0), regions=trace.regions)
    assert views.summary(empty, Report()).startswith("no kernel was launched")


def found(code="PD101", severity=Severity.ERROR, **more):
    loc = Loc(file="/somewhere/kernels.py", line=7, function="body", text="x = a[i]")
    fields = {"name": "out-of-bounds", "message": "reads rows 4 … 7 of 4", "loc": loc}
    return Finding(code=code, severity=severity, **(fields | more))


def test_finding_shows_place_source_witness_and_way_out():
    one = found(hint="mask the load", threads=(1, 2), events=(3, 9), count=2)
    assert text.finding(one, two_blocks()).splitlines() == [
        "✗ error PD101 out-of-bounds: reads rows 4 … 7 of 4",
        "    kernels.py:7 in body",
        "        7 | x = a[i]",
        "    by warpgroup 0 of block (0,) and 1 more, at event 3, 2 times",
        "    try: mask the load",
    ]


def test_predicted_refusal_is_marked_and_the_mark_explained():
    report = Report(findings=(found("PD301", name="scalar-arguments"),))
    shown = views.findings(report)
    assert "⊘ error PD301" in shown
    assert shown.endswith(text.LEGEND)
    assert text.LEGEND not in views.findings(Report(findings=(found(),)))


def test_family_keeps_refusals_only():
    report = Report(findings=(found("PD101"), found("PD303")))
    shown = views.findings(report, views.REFUSALS)
    assert "PD303" in shown
    assert "PD101" not in shown
    assert views.findings(Report(findings=(found(),)), "PD3") == "no findings of PD3xx"


def test_long_reports_are_cut_and_say_so():
    report = Report(findings=tuple(found() for _ in range(text.MOST_FINDINGS + 5)))
    assert "… and 5 more; report.findings has them all" in views.findings(report)


def test_sizes_have_the_unit_that_a_person_would_choose():
    sizes = [text.size(n) for n in (0, 1000, 1024, 65536, 3 << 19, 5 << 30, 5 << 40)]
    assert sizes == [
        "0 B",
        "1000 B",
        "1 KiB",
        "64 KiB",
        "1.5 MiB",
        "5 GiB",
        "5,120 GiB",
    ]


def test_views_are_pure():
    trace = two_blocks()
    report = checks.run_checks(trace)
    first = views.summary(trace, report), views.html_summary(trace, report)
    assert (views.summary(trace, report), views.html_summary(trace, report)) == first


def test_what_copies_did_is_told_apart_from_what_threads_did():
    b = TraceBuilder(grid=(2,))
    out = b.buffer("out", (8,), role="output")
    for block in range(2):
        t = b.thread("warpgroup", block=block)
        copy = t.spawn("tma")
        copy.write(out, [(4 * block, 4)])
        copy.end()
    lines = [" ".join(line.split()) for line in lines_of(b.close())]
    assert "writes 2 1 each 0 each + 2 async" in lines


def test_columns_that_say_nothing_are_left_out():
    b = TraceBuilder()
    b.thread("warpgroup", block=0).write(b.buffer("out", (8,), role="output"))
    shown = views.summary(b.close(), Report())
    assert "total" in shown
    assert "per block" not in shown
    assert "per thread" not in shown


def printing(count):
    b = TraceBuilder(grid=(2,))
    t = b.thread("warpgroup", block=1)
    for number in range(count):
        t.print(f"row {number} <0>")
    return b.close()


def test_printed_texts_are_shown_with_their_block():
    assert "(1,)  row 0 <0>" in lines_of(printing(1))


def test_many_printed_texts_are_cut_and_the_rest_is_counted():
    lines = lines_of(printing(overview.MOST_PRINTED + 3))
    assert sum(line.startswith("(1,)  row") for line in lines) == overview.MOST_PRINTED
    assert "… and 3 more; trace.events has them all" in lines


def test_blocks_without_a_record_are_told():
    assert "grid 2, 2 blocks, 1 of them recorded; finished" in lines_of(printing(1))


def launches(names):
    b = TraceBuilder(name=names[0])
    for name in [*names[1:], ""]:
        b.thread("warpgroup", block=0).write(b.buffer("out", (8,), role="output"))
        b = b.next_launch(name=name) if name else b
    return b.close()


def test_launches_that_look_alike_are_shown_once():
    shown = views.summary(launches(["step", "step", "other", "step"]), Report())
    assert shown.startswith("launch 0 and 2 more like it: step (mosaic_gpu)")
    assert "\nlaunch 2: other (" in shown
    assert shown.count(": step (") == 1


def test_many_launches_that_differ_are_cut():
    names = [f"step{number}" for number in range(text.MOST_LAUNCHES + 4)]
    shown = views.summary(launches(names), Report())
    assert shown.count(": step") == text.MOST_LAUNCHES
    assert "… and 4 more that differ; trace.launches has them all" in shown


@pytest.mark.parametrize("outcome", ["finished", "skipped"])
def test_legend_says_that_the_kernel_ran_only_if_it_did(outcome):
    trace = TraceBuilder(grid=(1,)).close(outcome=outcome)
    report = Report(findings=(found("PD304", launch=0),))
    shown = views.summary(trace, report)
    assert text.LEGEND in shown
    assert (text.RAN in shown) == (outcome == "finished")
    assert (text.RAN in views.html_summary(trace, report)) == (outcome == "finished")
