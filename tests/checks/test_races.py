import time

import numpy as np
import pytest
from helpers import TraceBuilder, codes, only
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_strategies import memory_traces, racing_traces, thread_traces

from pallas_debug.checks import Severity, races, run_checks
from pallas_debug.checks.races_pairs import pairs
from pallas_debug.ir import Grid
from pallas_debug.trace import Kind

ACCESSES = (Kind.READ, Kind.WRITE, Kind.UPDATE)


class Block:
    """Two warpgroups of one block with a barrier and shared memory `s`."""

    def __init__(self, shape=(4, 8), **row):
        self.b = TraceBuilder(grid=(2,))
        self.x = self.b.buffer("x", shape, role="input", initial=np.zeros(shape))
        self.s = self.b.buffer("s", shape, **{"space": "smem", "block": 0} | row)
        self.bar = self.b.barrier("bar")
        self.root = self.b.thread("launch")
        self.first, self.second = (self.group(i) for i in range(2))

    def group(self, index, block=0):
        group = self.root.spawn("warpgroup")
        group.block = block
        row = self.b.writer.threads[group.number]
        self.b.writer.threads[group.number] = row._replace(block=block, index=index)
        return group

    def hand_over(self, done=1):
        """The second warpgroup waits for the first."""
        self.first.arrive(self.bar, before=done - 1)
        self.first.phase(self.bar, done=done)
        self.second.wait(self.bar, aux=done)

    def agent(self, thread, op, kind="tma", line=5):
        """An operation issued by an instruction of this op."""
        agent = thread.spawn(kind, op=op, line=line)
        instr = self.b.instr(op=op, line=line)
        row = self.b.writer.threads[agent.number]
        self.b.writer.threads[agent.number] = row._replace(instr=instr)
        return agent

    def report(self):
        return run_checks(self.b.close(), select="PD20")


def test_read_beside_a_write_and_its_twin_with_a_barrier():
    def case(*, ordered):
        t = Block()
        t.first.write(t.s, line=3)
        if ordered:
            t.hand_over()
        t.second.read(t.s, [(1, 2), (0, 8)], line=7)
        return t.report()

    finding = only(case(ordered=False), "PD201")
    assert finding.severity is Severity.ERROR
    assert (finding.loc.line, finding.other.line, finding.buffer) == (7, 3, "s")
    assert finding.details["missing"] == "nothing orders the two"
    assert "wait before line 7 for a barrier" in finding.hint
    assert "after line 3" in finding.hint
    names = [access["region"] for access in finding.details["accesses"]]
    assert names == ["[1:3, 0:8]", "[0:4, 0:8]"]
    assert not case(ordered=True).findings


def test_two_writes_race_and_two_atomics_do_not():
    def case(first, second):
        t = Block()
        getattr(t.first, first)(t.s, line=3)
        getattr(t.second, second)(t.s, line=7)
        return codes(t.report())

    assert case("write", "write") == ["PD202"]
    assert case("update", "write") == case("write", "update") == ["PD202"]
    assert case("update", "read") == case("read", "update") == ["PD201"]
    assert case("update", "update") == case("read", "read") == []


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [
        ({"box": [(0, 2), (0, 8)]}, {"box": [(2, 2), (0, 8)]}, False),
        ({"box": [(0, 3), (0, 8)]}, {"box": [(2, 2), (7, 1)]}, True),
        ({"box": [(0, 4), (0, 4, 2)]}, {"box": [(0, 4), (1, 4, 2)]}, False),
        ({"box": [(0, 4), (0, 4, 2)]}, {"box": [(0, 4), (1, 2, 3)]}, True),
        ({"elements": [1, 9, 17]}, {"box": [(0, 4), (2, 6)]}, False),
        ({"elements": [1, 9, 18]}, {"box": [(0, 4), (2, 6)]}, True),
        ({"mask": np.eye(4, 8, dtype=bool)}, {"elements": [1, 8, 35]}, False),
        ({"mask": np.eye(4, 8, dtype=bool)}, {"elements": [1, 9]}, True),
        ({"box": [(-2, 3), (0, 8)]}, {"box": [(1, 9), (0, 8)]}, False),
        ({"box": [(0, 0), (0, 8)]}, {"box": [(0, 4), (0, 8)]}, False),
    ],
)
def test_only_common_elements_are_a_conflict(one, other, overlap):
    t = Block()
    t.first.write(t.s, **one, line=3)
    t.second.write(t.s, **other, line=7)
    assert codes(t.report()) == (["PD202"] if overlap else [])


def test_aliased_arguments_are_one_memory():
    b = TraceBuilder(grid=(2,))
    x = b.buffer("x", (8,), role="input", initial=np.zeros(8))
    o = b.buffer("o", (8,), role="output", alias=x)
    for block, (buffer, verb) in enumerate([(x, "read"), (o, "write")]):
        thread = b.root.spawn("block")
        thread.block = block
        getattr(thread, verb)(buffer, line=3 + block)
    assert codes(run_checks(b.close(), select="PD20")) == ["PD201"]


def test_blocks_are_in_no_order_and_launches_are():
    b = TraceBuilder(grid=(3,))
    o = b.buffer("o", (3,), role="output")
    for block in range(3):
        thread = b.thread(block=block)
        thread.write(o, [(0, 1)], line=3)
        thread.write(o, [(block, 1)], line=4)
    report = run_checks(b.close(), select="PD20")
    pairs_of_lines = {(f.loc.line, f.other.line): f.count for f in report.findings}
    assert set(map(frozenset, pairs_of_lines)) == {frozenset({3}), frozenset({3, 4})}
    assert "blocks of a grid run in any order" in report.findings[0].hint
    c = TraceBuilder(grid=(1,))
    x = c.buffer("x", (1,))
    c.root.spawn("warpgroup").write(x)
    d = c.next_launch(grid=(1,))
    d.root.spawn("warpgroup").read(x)
    assert not run_checks(d.close(), select="PD20").findings


def test_pair_of_lines_is_reported_once_with_its_count():
    t = Block()
    for row in range(4):
        t.first.write(t.s, [(row, 1), (0, 8)], line=3)
    for row in range(4):
        t.second.read(t.s, [(row, 1), (0, 8)], line=7)
    finding = only(t.report(), "PD201")
    assert (finding.count, "4 times" in finding.message) == (4, True)


def commits(*, writer="", helper="", issuer=""):
    """A store by one warpgroup, a copy out by the other; who commits, and when."""
    t = Block()
    third = t.group(2)
    other = t.b.barrier("other")
    t.first.write(t.s, line=3)
    if writer == "before":
        t.first.fence(line=4)
    if helper:
        t.first.arrive(other)
        t.first.phase(other)
        third.wait(other)
        third.fence(line=4)
        third.arrive(t.bar)
        third.phase(t.bar)
        t.second.wait(t.bar)
    else:
        t.hand_over()
    if writer == "after":
        t.first.fence(line=4)
    if issuer:
        t.second.fence(line=4)
    copy = t.agent(t.second, "gpu.copy_smem_to_gmem", line=7)
    copy.read(t.s, op="gpu.tma_read", line=7)
    return t.report()


@pytest.mark.parametrize(
    ("who", "silent"),
    [
        ({}, False),
        ({"writer": "before"}, True),
        ({"writer": "after"}, False),  # too late: the copy has been let go
        ({"issuer": "before"}, True),
        ({"helper": "before"}, True),
    ],
)
def test_store_before_a_copy_needs_a_commit_on_the_way(who, silent):
    report = commits(**who)
    if silent:
        assert not report.findings
        return
    finding = only(report, "PD203")
    assert (finding.loc.line, finding.other.line) == (7, 3)
    assert "call `plgpu.commit_smem()` after line 3 and before line 7" in finding.hint


def test_read_before_a_copy_into_the_slot_is_only_information():
    def case(*, fence):
        t = Block()
        t.first.read(t.s, line=3)
        if fence:
            t.first.fence(line=4)
        t.hand_over()
        t.agent(t.second, "gpu.copy_gmem_to_smem").write(t.s, line=7)
        return t.report()

    assert only(case(fence=False), "PD204").severity is Severity.INFO
    assert not case(fence=True).findings


def test_copy_in_flight_and_the_waits_that_end_it():
    def case(*, wait, reads, verb):
        t = Block()
        out = t.b.buffer("o", (4, 8), role="output")
        t.first.fence()
        copy = t.agent(t.first, "gpu.copy_smem_to_gmem")
        copy.read(t.s, line=5)
        copy.write(out, line=5)
        if wait:
            t.first.join(copy, reads=reads)
        getattr(t.first, verb)(t.s if verb == "write" else out, line=8)
        return t.report()

    late = only(case(wait=False, reads=False, verb="write"), "PD201")
    assert (late.loc.line, late.other.line) == (8, 5)
    assert "`wait_read_only=True` is enough" in late.hint
    assert not case(wait=True, reads=True, verb="write").findings
    half = only(case(wait=True, reads=True, verb="read"), "PD201")
    assert "not read-only" in half.hint
    assert not case(wait=True, reads=False, verb="read").findings


@pytest.mark.parametrize("schedule", ["copy first", "read first"])
@pytest.mark.parametrize(
    ("brought", "again", "hint"),
    [
        (True, False, "start the copy of line 6 after the read at line 8"),
        (True, True, "wait for barrier `bar`, where the copy arrives, before line 8"),
        (False, False, "wait for barrier `bar`, where the copy arrives, before line 8"),
    ],
)
def test_early_refill_of_a_slot_is_not_a_missing_wait(brought, again, hint, schedule):
    t = Block()
    if brought:
        copy = t.agent(t.first, "gpu.copy_gmem_to_smem", line=4)
        copy.write(t.s, line=4)
        t.first.join(copy)
        if again:  # what came has been read: this read is for the next copy
            t.first.read(t.s, line=8)
    copy = t.agent(t.first, "gpu.copy_gmem_to_smem", line=6)
    accesses = [
        lambda: (copy.write(t.s, line=6), copy.arrive(t.bar)),
        lambda: t.first.read(t.s, line=8),
    ]
    for access in accesses if schedule == "copy first" else accesses[::-1]:
        access()
    found = {f.hint for f in t.report().findings if f.code == "PD201"}
    assert found == {hint}


def test_no_wait_for_a_copy_puts_blocks_in_order():
    def hint(block):
        t = Block()
        out = t.b.buffer("o", (4, 8), role="output")
        t.second = t.group(1, block)
        for group in (t.first, t.second):
            t.agent(group, "gpu.copy_smem_to_gmem").write(out, line=5)
        return only(t.report(), "PD202").hint

    assert "let each write a part of its own" in hint(1)
    assert "on the thread that started the copy" in hint(0)


def parallel(semantics, role, *, op="state.set", reads=()):
    """A core uses the same window, array or scratch in two grid points.

    It writes in each, or reads what it has by then in `reads`.
    """
    b = TraceBuilder(
        backend="tpu", grid=(2, 2), kernel_grid=Grid(shape=(2, 2), semantics=semantics)
    )
    core = b.root.spawn("core")
    memory = b.buffer("o_ref", (8,), role=role, space="vmem")
    for point in range(2):  # (0, 0) and (0, 1)
        core.grid(point)
        if point in reads:
            core.read(memory, line=4)
        else:
            core.write(memory, op=op, line=3)
    return run_checks(b.close(), select="PD20")


def test_grid_points_of_a_parallel_dimension_share_no_output():
    finding = only(parallel(("arbitrary", "parallel"), "window"), "PD202")
    assert 'call it "arbitrary"' in finding.hint
    assert codes(parallel(("arbitrary", "parallel"), "output")) == ["PD202"]
    # The dimension along which they differ is ordered, or the memory is the core's own.
    assert not parallel(("parallel", "arbitrary"), "window").findings
    assert not parallel((), "window").findings
    assert not parallel(("arbitrary", "parallel"), "scratch").findings
    # What one point leaves in scratch, another core's point does not find.
    carried = only(parallel(("arbitrary", "parallel"), "scratch", reads=(1,)), "PD201")
    assert 'call it "arbitrary", or set `o_ref` in each' in carried.hint
    assert not parallel(("parallel", "arbitrary"), "scratch", reads=(1,)).findings
    assert not parallel(("arbitrary", "parallel"), "scratch", reads=(0,)).findings
    moved = parallel(("arbitrary", "parallel"), "window", op="window.fetch")
    assert not moved.findings


def touched(trace, seq):
    event = trace[seq]
    owner = (
        event.buffer.row.alias if event.buffer.row.alias >= 0 else event.buffer.number
    )
    return {(owner, int(n)) for n in event.region.flat(event.buffer.shape)}


def slow_races(trace):
    """All conflicting pairs that the rules of memory do not order."""
    access = [e.seq for e in trace.events if e.kind in ACCESSES]
    found = set()
    for i, a in enumerate(access):
        for b in access[i + 1 :]:
            kinds = {trace[a].kind, trace[b].kind}
            if kinds in ({Kind.READ}, {Kind.UPDATE}):
                continue
            if touched(trace, a) & touched(trace, b):
                standing = races.proxies(trace).standing(np.array([a]), np.array([b]))
                if standing[0]:
                    found.add((a, b))
    return found


@settings(deadline=None, max_examples=60)
@given(racing_traces())
def test_some_race_is_found_exactly_where_there_is_one(trace):
    slow = slow_races(trace)
    fast = {
        (a, b)
        for race in races.races(trace)
        for a, b in zip(race.events[::2], race.events[1::2], strict=True)
    }
    assert fast <= slow
    assert bool(fast) == bool(slow)


def ring(turns, *, broken):
    """A producer's copies and two consumers, 18 events a turn."""
    t = Block(shape=(64, 64))
    full, free = t.b.barrier("full"), t.b.barrier("free", arrivals=2)
    out = t.b.buffer("o", (64, 64), role="output")
    groups = [t.second, t.group(2)]
    for turn in range(turns):
        if turn:
            t.first.wait(free, aux=turn)
        copy = t.agent(t.first, "gpu.copy_gmem_to_smem")
        copy.read(t.x, line=5)
        copy.write(t.s, line=5)
        copy.arrive(full, before=turn)
        copy.phase(full, done=turn + 1)
        copy.end()
        for half, group in enumerate(groups):
            group.wait(full, aux=turn + 1)
            group.read(t.s, [(32 * half, 32), (0, 64)], line=8)
            group.fence()
            group.write(out, [(32 * half, 32), (0, 64)], line=9)
            if not (broken and half and turn == 7):
                group.arrive(free, before=turn)
            else:
                t.first.arrive(free, before=turn)
        groups[1].phase(free, done=turn + 1)
    return t.b.close()


def test_hundred_thousand_events_are_judged_in_a_second():
    trace = ring(6000, broken=False)
    assert len(trace) > 90_000
    begin = time.process_time()
    assert not run_checks(trace, select="PD20").findings
    assert time.process_time() - begin < 1.5
    finding = only(run_checks(ring(20, broken=True), select="PD20"), "PD201")
    assert (finding.count, finding.buffer) == (1, "s")


def test_every_tile_of_a_large_grid_is_a_cell():
    b = TraceBuilder(grid=(64, 64))
    o = b.buffer("o", (512, 512), role="output")
    for i in range(64):
        for j in range(64):
            thread = b.root.spawn("warpgroup")
            thread.write(o, [(8 * i, 8), (8 * j, 8)], line=3)
            thread.read(o, [(8 * i, 8), (8 * j, 8)], line=4)
    trace = b.close()
    assert len(pairs(trace).a) == 64 * 64
    assert not run_checks(trace, select="PD20").findings


@settings(deadline=None, max_examples=60)
@given(st.one_of(thread_traces(), memory_traces(), racing_traces()), st.data())
def test_checks_of_order_judge_every_prefix_and_never_crash(trace, data):
    cut = data.draw(st.integers(0, len(trace)))
    for part in (trace, trace[:cut]):
        report = run_checks(part, select="PD2")
        assert "PD999" not in codes(report)
        assert report.findings == run_checks(part, select="PD2").findings


def test_prefix_of_a_trace_has_no_race_that_the_whole_does_not_have():
    trace = ring(20, broken=True)
    whole = {race.events[:2] for race in races.races(trace)}
    found = [
        {race.events[:2] for race in races.races(trace[:n])}
        for n in range(0, len(trace), 37)
    ]
    assert all(part <= whole for part in found)
    assert found[-1]
