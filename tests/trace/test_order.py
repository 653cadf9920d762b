import time

import numpy as np
from helpers import TraceBuilder
from hypothesis import given, settings
from trace_strategies import thread_traces

from pallas_debug.trace import Kind


def is_sure(release, wait, others, reach, needed):
    """Whether a wait cannot go on without a release, whatever else came in time."""
    independent = [
        o for o in others if o is not release and not reach[release.seq, o.seq]
    ]
    return sum(amount_of(other) for other in independent) < needed


def amount_of(release):
    return release.aux if release.kind is Kind.SIGNAL else 1


def started(trace, event):
    """When an event became possible: a copy's when the copy was started."""
    if not event.thread.is_agent:
        return event.seq
    spawns = [e for e in trace.events if e.kind is Kind.SPAWN]
    mine = [e.seq for e in spawns if e.column("object") == event.thread.number]
    return mine[0] if mine else event.seq


def reachable(after):
    """Which event comes after which, by the edges so far."""
    reach = np.zeros((len(after), len(after)), bool)
    for seq in reversed(range(len(after))):
        for other in after[seq]:
            reach[seq, other] = True
            reach[seq] |= reach[other]
    return reach


def wait_edges(trace, after):
    """Adds, for each wait, the releases that it or one before it is sure of."""
    places, sure, needed = {}, {}, {}
    for event in trace.events:
        if event.kind in (Kind.SIGNAL, Kind.ARRIVE, Kind.WAIT):
            key = event.buffer, event.region.text
            places.setdefault(key, []).append(event)
            sure.setdefault(key, set())
    for wait in (e for e in trace.events if e.kind is Kind.WAIT):
        key = wait.buffer, wait.region.text
        is_barrier = wait.buffer.row.arrivals > 0
        if is_barrier:
            total = max(needed.get(key, 0), wait.aux * wait.buffer.row.arrivals)
        else:
            total = needed.get(key, 0) + wait.aux
        needed[key] = total
        releases = [e for e in places[key] if e.kind is not Kind.WAIT]
        begun = [e for e in releases if started(trace, e) < wait.seq]
        reach = reachable(after)
        for one in (e for e in begun if e.seq < wait.seq):
            if is_sure(one, wait, begun, reach, total):
                sure[key].add(one.seq)
        for seq in sure[key]:
            if not is_barrier or trace.events[seq].aux < wait.aux:
                after[seq].add(wait.seq)


def slow_order(trace):
    """Reachability over program order and the edges that the kinds of events mean."""
    count = len(trace)
    after = [set() for _ in range(count)]
    last = {}
    for seq, event in enumerate(trace.events):
        thread = event.thread.number
        if thread in last:
            after[last[thread]].add(seq)
        last[thread] = seq
    events = list(trace.events)
    for a, b in ((a, b) for a in events for b in events if a.seq < b.seq):
        first = b.thread.number == a.column("object")
        if a.kind is Kind.SPAWN and first:
            after[a.seq].add(b.seq)
        joined = b.kind is Kind.JOIN and a.thread.number == b.column("object")
        if joined and (b.aux == 0 or a.kind is Kind.READ):
            after[a.seq].add(b.seq)
    wait_edges(trace, after)
    return reachable(after)


@settings(deadline=None, max_examples=40)
@given(thread_traces())
def test_order_equals_reachability(trace):
    slow, count = slow_order(trace), len(trace)
    a, b = np.meshgrid(np.arange(count), np.arange(count), indexing="ij")
    np.testing.assert_array_equal(trace.order.before(a, b), slow)
    np.testing.assert_array_equal(
        trace.order.concurrent(a, b), ~slow & ~slow.T & (a != b)
    )


@settings(deadline=None, max_examples=40)
@given(thread_traces())
def test_clock_says_the_same_as_before(trace):
    order, ticks = trace.order, trace.columns.clock
    for b in range(len(trace)):
        clock = order.clock(b)
        for a in range(len(trace)):
            known = clock.get(int(trace.columns.thread[a]), -1)
            assert order.before(a, b) == (a != b and known >= ticks[a])


@settings(deadline=None, max_examples=40)
@given(thread_traces())
def test_edges_go_forward_and_are_ordered(trace):
    edges = trace.order.edges()
    assert (edges.src < edges.dst).all()
    assert np.asarray(trace.order.before(edges.src, edges.dst)).all()
    assert (trace.columns.thread[edges.src] != trace.columns.thread[edges.dst]).all()


def test_launches_are_in_sequence_and_blocks_are_not():
    b = TraceBuilder(grid=(2,))
    x = b.buffer("x", (2,))
    first = b.root.spawn("warpgroup")
    i = first.write(x)
    second = b.root.spawn("warpgroup")
    j = second.write(x)
    c = b.next_launch(grid=(1,))
    k = c.thread().read(x)
    trace = c.close()
    assert trace.order.concurrent(i, j)
    assert trace.order.before(i, k)
    assert not trace.order.before(k, i)


def test_an_arrival_of_a_later_phase_is_not_ordered_with_an_earlier_wait():
    b = TraceBuilder()
    bar = b.barrier("bar")
    a, w = b.root.spawn("warpgroup"), b.root.spawn("warpgroup")
    one = a.arrive(bar)
    a.phase(bar)
    two = a.arrive(bar, before=1)
    a.phase(bar, done=2)
    early = w.wait(bar, aux=1)
    late = w.wait(bar, aux=2)
    order = b.close().order
    assert order.before(one, early)
    assert order.concurrent(two, early)
    assert order.before(two, late)


def test_many_agents_cost_little():
    b = TraceBuilder(grid=(1,))
    x, s, bar = b.buffer("x", (8,)), b.buffer("s", (8,)), b.barrier("bar")
    groups = [b.root.spawn("warpgroup") for _ in range(3)]
    loads = []
    for i in range(4000):
        agent = groups[0].spawn()
        agent.read(x)
        loads.append(agent.write(s))
        agent.arrive(bar, before=i)
        agent.phase(bar, done=i + 1)
        agent.end()
        for group in groups:
            group.wait(bar, aux=i + 1)
    last = groups[2].read(s)
    trace = b.close()
    begin = time.perf_counter()
    assert trace.order.before(np.array(loads), last).all()
    assert not trace.order.before(last, loads[0])
    assert time.perf_counter() - begin < 2
