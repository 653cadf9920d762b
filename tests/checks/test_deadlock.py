from helpers import TraceBuilder, codes, only

from pallas_debug import ir
from pallas_debug.checks import Severity, run_checks


def access(register):
    return (ir.Access(ref=ir.Reg(register)),)


def short_of_arrivals(arrivals=2, outcome="deadlock"):
    """Two warpgroups, one arrival; the barrier was sized for `arrivals`."""
    b = TraceBuilder(grid=())
    bar = b.barrier("ready", arrivals=arrivals)
    a, w = b.thread(block=0, index=0), b.thread(block=0, index=1)
    waits = {"op": "gpu.barrier_wait", "line": 30, "accesses": access(5)}
    w.blocked(bar, **waits)
    arrives = {"op": "gpu.barrier_arrive", "line": 26, "accesses": access(5)}
    a.arrive(bar, **arrives)
    if outcome == "finished":
        a.phase(bar, **arrives)
        w.wait(bar, **waits)
    a.end(line=40)
    b.instr("gpu.barrier_arrive", 28, accesses=access(5))  # never executed
    b.instr("gpu.barrier_arrive", 29, accesses=access(6))  # another barrier
    waiting = [(w.number, b.instr(**waits), bar, 0, 1)]
    return b.close(outcome=outcome, waiting=waiting if outcome == "deadlock" else ())


def test_barrier_short_of_arrivals():
    finding = only(run_checks(short_of_arrivals()), "PD210")
    assert finding.severity is Severity.ERROR
    assert (finding.buffer, finding.loc.line, finding.block) == ("ready", 30, ())
    assert finding.message == (
        "warpgroup 1 of block () waits for phase 1 of barrier `ready`[0]: 1 of 2 arrivals "
        "came; signalled by line 26 (once), line 28 (never executed)"
    )
    assert finding.details["arrivals"] == {"seen": 1, "needed": 2}
    assert finding.details["phases"] == {"seen": 0, "needed": 1}
    assert finding.details["sources"][0]["threads"] == (1,)
    graph = finding.details["graph"]
    assert [(n["thread"], n["state"], n["line"]) for n in graph["nodes"]] == [
        (2, "waits", 30),
        (1, "ended", 0),
    ]
    edge = {"from": 2, "to": 1, "line": 26, "state": "ended", "number": 0}
    edge["file"] = finding.loc.file
    assert graph["edges"] == [edge | {"object": "ready[0]", "element": 0}]
    assert finding.details["circle"] == []
    assert finding.events == (0,)
    assert finding.hint == (
        "num_arrivals of `ready` is 2, and 1 arrives: make it 1, or let the other thread "
        "arrive"
    )


def test_enough_arrivals_are_no_deadlock():
    trace = short_of_arrivals(arrivals=1, outcome="finished")
    assert not run_checks(trace).findings


def copy_for_one(arrivals):
    """A thread waits for its own copy, which is the only one to arrive."""
    b = TraceBuilder(grid=())
    bar = b.barrier("bar", arrivals=arrivals)
    t = b.thread(block=0)
    copies = {"op": "gpu.copy_gmem_to_smem", "line": 8, "ins": (ir.Reg(5),)}
    waits = {"op": "gpu.barrier_wait", "line": 9, "accesses": access(5)}
    agent = t.spawn("tma", **copies)
    row = b.writer.threads[agent.number]
    b.writer.threads[agent.number] = row._replace(instr=b.instr(**copies))
    agent.arrive(bar, **copies)
    if arrivals == 1:
        agent.phase(bar, **copies)
        t.wait(bar, **waits)
        return b.close()
    t.blocked(bar, **waits)
    waiting = [(t.number, b.instr(**waits), bar, 0, 1)]
    return b.close(outcome="deadlock", waiting=waiting)


def test_a_barrier_for_more_arrivals_than_there_are():
    finding = only(run_checks(copy_for_one(2)), "PD210")
    assert "make it 1, or let the other thread arrive" in finding.hint
    many = only(run_checks(copy_for_one(4)), "PD210")
    assert many.hint == (
        "num_arrivals of `bar` is 4, and 1 arrives: make it 1, or let the other 3 "
        "threads arrive"
    )
    assert "PD210" not in codes(run_checks(copy_for_one(1)))


def test_semaphore_without_enough_units():
    b = TraceBuilder(backend="tpu")
    sem = b.semaphore("sem")
    t = b.thread("core")
    t.signal(sem, aux=3, line=4)
    t.wait(sem, aux=2, line=5)
    t.blocked(sem, aux=2, line=6)
    instr = b.instr(line=6)
    trace = b.close(outcome="deadlock", waiting=[(t.number, instr, sem, 0, 2)])
    finding = only(run_checks(trace), "PD210")
    assert "waits for 2 units of semaphore `sem`[0], which has 1" in finding.message
    assert finding.details["units"] == {"seen": 1, "needed": 2}


def test_nothing_signals_and_many_wait():
    b = TraceBuilder(grid=(4,))
    waiting = []
    for block in range(4):
        bar = b.barrier("bar", block=block)
        t = b.thread(block=block)
        t.blocked(bar, line=9)
        waiting.append((t.number, b.instr(line=9), bar, 0, 1))
    finding = only(run_checks(b.close(outcome="deadlock", waiting=waiting)), "PD210")
    assert "nothing in the kernel signals it; 4 threads wait here" in finding.message
    assert (finding.count, len(finding.threads)) == (4, 4)


def test_waiting_for_an_agent_that_waits_itself():
    b = TraceBuilder(grid=(1,))
    bar = b.barrier("bar")
    t = b.thread(block=0)
    agent = t.spawn("wgmma", line=3)
    agent.blocked(bar, line=3)
    t.blocked(-1, aux=agent.number, line=4)
    waiting = [
        (t.number, b.instr(line=4), -1, agent.number, 0),
        (agent.number, b.instr(line=3), bar, 0, 1),
    ]
    report = run_checks(b.close(outcome="deadlock", waiting=waiting))
    assert [finding.buffer for finding in report.findings] == ["", "bar"]
    assert "waits for wgmma" in report.findings[0].message


def two_that_wait_for_each_other(*, crossed):
    """Warpgroups 0 and 1 on one tape: each waits before it signals, or one after."""
    b = TraceBuilder(grid=(1,))
    ping, pong = b.barrier("ping"), b.barrier("pong")
    a, w = b.thread(block=0, index=0), b.thread(block=0, index=1)
    first = {"op": "gpu.barrier_wait", "line": 10, "accesses": access(1)}
    signal = {"op": "gpu.barrier_arrive", "line": 11, "accesses": access(2)}
    b.instr(**first)
    b.instr(**signal)
    b.instr("ir.return", 12)
    second = {"op": "gpu.barrier_wait", "line": 20, "accesses": access(2)}
    b.instr(**second)
    b.instr("gpu.barrier_arrive", 21, accesses=access(1))
    b.instr("ir.return", 22)
    if not crossed:
        w.arrive(ping, op="gpu.barrier_arrive", line=21, accesses=access(1))
        w.phase(ping, op="gpu.barrier_arrive", line=21, accesses=access(1))
        a.wait(ping, **first)
        return b.close()
    a.blocked(ping, **first)
    w.blocked(pong, **second)
    waiting = [
        (a.number, b.instr(**first), ping, 0, 1),
        (w.number, b.instr(**second), pong, 0, 1),
    ]
    return b.close(outcome="deadlock", waiting=waiting)


def test_graph_of_a_cycle_names_the_lines_that_would_signal():
    report = run_checks(two_that_wait_for_each_other(crossed=True))
    graph = report.by_code["PD210"][0].details["graph"]
    edges = [(e["from"], e["to"], e["object"], e["line"]) for e in graph["edges"]]
    assert edges == [(1, 2, "ping[0]", 21), (2, 1, "pong[0]", 11)]
    assert {node["state"] for node in graph["nodes"]} == {"waits"}
    first, second = report.by_code["PD210"]
    assert first.details["circle"] == [1, 2]
    assert "wait for each other: warpgroup 1 of block (0,)" in first.hint
    assert "would signal at line 21" in first.hint
    assert second.details["circle"] == [2, 1]
    fixed = run_checks(two_that_wait_for_each_other(crossed=False))
    assert "PD210" not in codes(fixed)


def test_graph_goes_to_the_agent_that_is_waited_for():
    b = TraceBuilder(grid=(1,))
    t = b.thread(block=0)
    agent = t.spawn("wgmma", line=3)
    t.blocked(-1, aux=agent.number, line=4)
    waiting = [(t.number, b.instr(line=4), -1, agent.number, 0)]
    finding = only(run_checks(b.close(outcome="deadlock", waiting=waiting)), "PD210")
    (edge,) = finding.details["graph"]["edges"]
    assert (edge["from"], edge["to"], edge["number"]) == (t.number, agent.number, -1)


def test_wait_before_the_only_arrival_on_the_same_thread():
    b = TraceBuilder(grid=(1,))
    bar = b.barrier("bar")
    t = b.thread(block=0)
    waits = {"op": "gpu.barrier_wait", "line": 4, "accesses": access(1)}
    t.blocked(bar, **waits)
    b.instr("gpu.barrier_arrive", 5, accesses=access(1))
    waiting = [(t.number, b.instr(**waits), bar, 0, 1)]
    finding = only(run_checks(b.close(outcome="deadlock", waiting=waiting)), "PD210")
    assert finding.details["circle"] == [t.number]
    assert finding.hint.startswith("signal before this wait: line 5")


def test_signals_of_other_elements_are_not_those_waited_for():
    b = TraceBuilder(backend="tpu")
    row = {"space": "semaphore", "role": "sync"}
    sem = b.buffer("sem", (2, 2), "dma_semaphore", **row)
    t = b.thread("core")
    t.signal(sem, 0, aux=3, line=4)
    t.signal(sem, 1, aux=3, line=4)
    t.blocked(sem, 2, aux=2, line=6)
    instr = b.instr(line=6)
    trace = b.close(outcome="deadlock", waiting=[(t.number, instr, sem, 2, 2)])
    finding = only(run_checks(trace), "PD210")
    assert "`sem`[1, 0], which has 0" in finding.message
    assert "line 4 (only [0, 0], [0, 1])" in finding.message
    assert finding.hint.startswith("signal `sem`[1, 0], or wait for an element")
