import time

import numpy as np
import pytest
from helpers import TraceBuilder, codes, only
from hypothesis import given, settings
from trace_strategies import memory_traces

from pallas_debug import ir
from pallas_debug.checks import run_checks
from pallas_debug.trace import Kind, memory


def case(steps, shape=(4, 8), **row):
    """The report on a buffer `s` that `steps(t, s)` uses."""
    b = TraceBuilder(grid=(2,))
    t = b.thread(block=1)
    s = b.buffer("s", shape, space="smem", **row)
    t.alloc(s)
    steps(t, s)
    return run_checks(b.close(), select="PD102")


def test_read_before_any_write_and_its_fixed_twin():
    finding = only(case(lambda t, s: t.read(s, line=9)), "PD102")
    assert (
        finding.message == "reads `s`[0:4, 0:8], all of it never written; in block (1,)"
    )
    assert (finding.loc.line, finding.buffer, finding.block) == (9, "s", (1,))
    assert not case(lambda t, s: (t.write(s), t.read(s, line=9))).findings


def test_hint_says_whether_to_wait_to_initialize_or_to_write():
    def hint(*, backend="tpu", grid=(2,), copied=False, reads_itself=True):
        b = TraceBuilder(grid=grid, backend=backend)
        t = b.thread("core", block=0)
        s = b.buffer("s", (4, 8), space="vmem")
        t.alloc(s)
        copy = t.spawn("dma", line=5) if copied else None
        access = ir.Access(ref=ir.Reg(0))
        t.read(s, line=9, outs=(1,), accesses=(access,))
        if copy is not None:
            copy.write(s, line=5)
        ins = (ir.Reg(1),) if reads_itself else ()
        t.write(s, op="state.set", line=9, ins=ins, accesses=(access,))
        finding = only(run_checks(b.close(), select="PD102"), "PD102")
        return finding.hint

    assert "first where its first use is, e.g. under `@pl.when(i == 0)`" in hint()
    plain = "write `s` before this line"
    assert hint(reads_itself=False) == plain
    assert hint(grid=(1,)) == plain
    assert hint(backend="mosaic_gpu") == plain  # its blocks share no scratch
    assert hint(copied=True) == "wait for the copy of line 5 before this line"


def test_only_the_unwritten_elements_are_named():
    def steps(t, s):
        t.write(s, [(0, 4), (2, 3)])
        t.read(s, [(1, 2), (0, 8)], line=9)

    finding = only(case(steps), "PD102")
    assert finding.details["elements"] == (((1, 3),), ((0, 2), (5, 8)))
    assert finding.details["missing"] == 10
    assert "`s`[1:3, 0:8], 10 elements of 32 never written" in finding.message


def test_masked_and_element_accesses_count_what_they_touch():
    mask = np.eye(4, 8, dtype=bool)

    def bad(t, s):
        t.write(s, mask=mask)
        t.read(s, elements=[0, 9, 10])

    def good(t, s):
        t.write(s, mask=mask)
        t.read(s, elements=[0, 9, 18])
        t.read(s, mask=mask)

    assert only(case(bad), "PD102").details["missing"] == 1
    assert not case(good).findings


def test_update_reads_first_and_writes_then():
    report = case(lambda t, s: (t.update(s, line=4), t.update(s, line=5)))
    assert [finding.loc.line for finding in report.findings] == [4]


def test_padding_is_no_finding_and_neither_is_a_write_back():
    def padded(t, s):
        t.write(s, [(0, 3), (0, 8)])
        t.pad(s, [(3, 1), (0, 8)])
        t.read(s)

    assert not case(padded).findings
    assert not case(lambda t, s: t.read(s, op="window.flush")).findings


def test_a_new_life_is_uninitialized_again():
    report = case(lambda t, s: (t.write(s), t.alloc(s), t.read(s, line=9)))
    assert codes(report) == ["PD102"]


def test_arguments_and_aliases_are_initialized():
    b = TraceBuilder()
    t = b.thread()
    x = b.buffer("x", (4,), initial=np.zeros(4, np.float32))
    o = b.buffer("o", (4,), alias=x, role="output")
    t.alloc(x)
    t.alloc(o)
    t.read(o)
    assert not run_checks(b.close()).findings


def test_partly_outside_reads_are_judged_by_the_part_inside():
    def steps(t, s):
        t.write(s, [(2, 2), (0, 8)])
        t.read(s, [(2, 9), (0, 8)])

    assert not case(steps).findings


def test_every_line_and_buffer_once():
    def steps(t, s):
        for line in (4, 5, 4, 4):
            t.read(s, [(line - 4, 1), (0, 8)], line=line)

    report = case(steps)
    assert [(f.loc.line, f.count) for f in report.findings] == [(4, 3), (5, 1)]


@settings(deadline=None, max_examples=60)
@given(memory_traces())
def test_check_agrees_with_the_fold(trace):
    """A read is found exactly where the folded memory is not set (and no padding)."""
    if (trace.columns.kind == Kind.PAD).any():
        return
    expected = set()
    for event in trace.events:
        if event.kind in (Kind.READ, Kind.UPDATE):
            mask = memory(trace, event.buffer, event.seq).initialized
            flat = event.region.flat(event.buffer.shape)
            if not mask.reshape(-1)[flat].all():
                expected.add(event.seq)
    report = run_checks(trace, select="PD102")
    assert {seq for finding in report.findings for seq in finding.events} == expected


@pytest.mark.parametrize("whole", [True, False])
def test_many_events_are_quick(whole):
    b = TraceBuilder(grid=(1,))
    t = b.thread(block=0)
    tiles = [b.buffer(f"s{i}", (64, 64), space="smem") for i in range(50)]
    for tile in tiles:
        t.alloc(tile)
        if whole:
            t.write(tile)
        else:
            t.write(tile, [(0, 63), (0, 64)])
            t.write(tile, [(63, 1), (0, 64)])
        for i in range(600):
            t.read(tile, [(i % 64, 1), (0, 64)])
    trace = b.close()
    begin = time.perf_counter()
    assert not run_checks(trace, select="PD102").findings
    assert time.perf_counter() - begin < 1


def test_product_that_adds_to_nothing_is_told_to_begin():
    b = TraceBuilder(grid=(1,))
    acc = b.buffer("acc", (4,), space="tmem", block=0)
    t = b.thread("warpgroup", block=0)
    agent = t.spawn("tcgen05", line=7)
    agent.read(acc, op="gpu.tcgen05_multiply", line=7)
    agent.write(acc, op="gpu.tcgen05_multiply", line=7)
    hint = only(run_checks(b.close(), select="PD102"), "PD102").hint
    assert hint == "begin `acc` with `accumulate=False`, or write it before this line"
