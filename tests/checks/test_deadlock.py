from helpers import TraceBuilder, only

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
    assert finding.details["graph"] == (
        {"thread": 2, "object": 0, "element": 0, "other": 1, "state": "ended"},
    )
    assert finding.events == (0,)
    assert "num_arrivals of `ready` (2)" in finding.hint


def test_enough_arrivals_are_no_deadlock():
    trace = short_of_arrivals(arrivals=1, outcome="finished")
    assert not run_checks(trace).findings


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
