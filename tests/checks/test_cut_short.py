"""PD902 and PD903 point at the loop that a kernel did not leave, if there is one."""

import dataclasses

import pytest
from helpers import TraceBuilder, only

from pallas_debug import ir
from pallas_debug.checks import run_checks
from pallas_debug.checks.cut_short import silent_loop

KERNEL, OUTER, INNER, CALL = range(4)
SCOPES = (
    ir.Scope(kind="kernel", name="kernel", parent=-1),
    ir.Scope(kind="while", name="while", parent=KERNEL, loc=0),
    ir.Scope(kind="scan", name="scan", parent=OUTER, loc=1),
    ir.Scope(kind="call", name="helper", parent=INNER),
)


def builder(**kernel):
    b = TraceBuilder(scopes=SCOPES, **kernel)
    assert (b.line(10), b.line(20)) == (0, 1)  # the lines of the loops
    return b


def cut(b, code="PD902"):
    outcome = {"PD902": "truncated", "PD903": "interrupted"}[code]
    return only(run_checks(b.close(outcome=outcome, message="limit")), code)


@pytest.mark.parametrize("code", ["PD902", "PD903"])
def test_the_innermost_loop_with_all_of_the_last_events_is_named(code):
    b = builder()
    t = b.thread(block=0)
    t.print("before", line=1, scope=KERNEL)
    for _ in range(20):
        t.print("a", line=11, scope=INNER)
        t.print("b", line=21, scope=CALL)
    finding = cut(b, code)
    assert finding.loc.line == 20
    assert "warpgroup 0 of block () was in this loop" in finding.message
    assert finding.threads == (t.number,)
    assert "its condition" in finding.hint


def test_the_outer_loop_is_named_where_events_come_from_both():
    b = builder()
    t = b.thread(block=0)
    for _ in range(20):
        t.print("a", line=11, scope=OUTER)
        t.print("b", line=21, scope=INNER)
    assert cut(b).loc.line == 10


def test_one_of_several_threads_is_enough():
    b = builder()
    spinning, other = b.thread(block=0), b.thread(block=1)
    for _ in range(20):
        spinning.print("a", line=11, scope=OUTER)
        other.print("b", line=30, scope=KERNEL)
        other.print("b", line=31, scope=KERNEL)
    finding = cut(b)
    assert finding.loc is None or finding.loc.line != 10  # the other did more
    for _ in range(60):
        spinning.print("a", line=11, scope=OUTER)
    assert cut(b).loc.line == 10


def test_blocks_that_each_leave_the_loop_are_no_endless_loop():
    b = builder(grid=(20,))
    for block in range(20):
        t = b.thread(block=block)
        for _ in range(4):
            t.print("a", line=11, scope=OUTER)
    finding = cut(b)
    assert finding.loc is None
    assert "this loop" not in finding.message


def test_grid_points_of_one_thread_are_no_endless_loop_either():
    b = builder(grid=(20,))
    t = b.thread("core")
    for block in range(20):
        t.grid(block, scope=KERNEL)
        for _ in range(4):
            t.print("a", line=11, scope=OUTER)
    assert "this loop" not in cut(b).message


def test_straight_code_is_no_loop():
    b = builder()
    t = b.thread(block=0)
    for line in range(100, 160):
        t.print("a", line=line, scope=OUTER)
    assert "this loop" not in cut(b).message


def silent(loops):
    """A tape of loops without events, after one that has an event."""
    instrs = [ir.Instr(op="state.get", loc=0, scope=OUTER, sync=True)]
    instrs.append(ir.Instr(op="ir.jump", loc=0, scope=OUTER, targets=(0,)))
    for scope in loops:
        top = len(instrs)
        instrs.append(ir.Instr(op="lax.add", loc=1, scope=scope))
        instrs.append(ir.Instr(op="ir.jump", loc=1, scope=scope, targets=(top,)))
    locs = tuple(ir.Loc(file="k.py", line=n, function="f", text="") for n in (10, 20))
    return ir.Kernel(
        name="k", backend="generic", tape=tuple(instrs), locs=locs, scopes=SCOPES
    )


def test_a_loop_without_events_is_named_if_it_is_the_only_one():
    assert silent_loop(silent([])) is None
    assert silent_loop(silent([INNER])).line == 20
    assert silent_loop(silent([INNER, OUTER])).line == 10  # the inner is in it
    other = ir.Scope(kind="while", name="while", parent=KERNEL, loc=0)
    two = dataclasses.replace(silent([INNER, len(SCOPES)]), scopes=(*SCOPES, other))
    assert silent_loop(two) is None
