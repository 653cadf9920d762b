"""Each verb: what it does to the state, and the event that it leaves."""

import numpy as np
import pytest
import tapes
from tapes import Tape

from pallas_debug.trace import Kind, ThreadRow, close

F32 = np.float32


def kinds(trace, thread=None):
    """Names of the events, in order, allocation and spawning aside."""
    columns = trace.columns
    mine = np.ones(len(trace), bool) if thread is None else columns.thread == thread
    names = [Kind(int(kind)).name for kind in columns.kind[mine]]
    return [name for name in names if name not in ("ALLOC", "FREE", "SPAWN", "END")]


def aux(trace, kind):
    return trace.columns.aux[trace.columns.kind == kind].tolist()


def test_barrier_completes_a_phase_after_its_arrivals():
    t = Tape(threads=2)
    with t.alloc(tapes.barrier("b", arrivals=2), users=2) as b, t.loop(np.int32(2)):
        t.op("test.arrive", b)
        t.op("test.wait", b)
    trace = t.trace()
    assert aux(trace, Kind.ARRIVE) == [0, 0, 1, 1]
    assert aux(trace, Kind.PHASE) == [1, 2]
    assert sorted(aux(trace, Kind.WAIT)) == [1, 1, 2, 2]


def test_barrier_remembers_the_phase_of_each_waiter():
    """A thread that is late passes one phase a wait, not all at once."""
    t = Tape()
    with t.alloc(tapes.barrier("b")) as b:
        t.op("test.arrive", b, 0, 3)
        t.op("test.wait", b)
        t.op("test.wait", b)
    trace = t.trace()
    assert aux(trace, Kind.PHASE) == [1, 2, 3]
    assert aux(trace, Kind.WAIT) == [1, 2]
    assert kinds(trace).count("BLOCK") == 0


def test_barriers_of_an_array_are_independent():
    t = Tape()
    with t.alloc(tapes.barrier("b", count=3)) as b:
        t.op("test.arrive", b, 2)
        t.op("test.wait", b, 2)
        t.op("test.wait", b, 1)
    run = t.run()
    assert run.record.outcome.kind == "deadlock"
    ((thread, instr, number, element, needed),) = run.record.outcome.waiting
    assert (thread, number, element, needed) == (1, 0, 1, 1)
    assert run.launch.kernel.tape[instr].op == "test.wait"


def test_sleeping_thread_says_so_once():
    t = Tape(threads=2)
    k = t.thread_id()
    with t.alloc(tapes.semaphore("s"), users=2) as s:
        with t.when(t.pure(lambda a: a == 0, k)):
            t.op("test.take", s, 0, 3)
        with t.when(t.pure(lambda a: a == 1, k)), t.loop(np.int32(3)):
            t.op("test.signal", s)
    trace = t.trace(policy=lambda enabled, current: min(enabled))
    assert kinds(trace).count("BLOCK") == 1
    assert aux(trace, Kind.BLOCK) == [3]
    assert aux(trace, Kind.SIGNAL) == [1, 1, 1]
    assert aux(trace, Kind.WAIT) == [3]


def test_semaphore_is_taken_from():
    t = Tape()
    with t.alloc(tapes.semaphore("s", 2)) as s:
        t.op("test.signal", s, 1, 5)
        t.op("test.take", s, 1, 2)
        t.op("test.take", s, 1, 4)
    run = t.run()
    assert run.record.outcome.waiting[0][2:] == (0, 1, 4)
    assert run.m.state.semaphores[0].count == [0, 3]


@pytest.mark.parametrize("verb", ["test.signal", "test.take"])
def test_semaphore_outside_its_array_is_nobodys(verb):
    t = Tape()
    with t.alloc(tapes.semaphore("s", 2)) as s:
        t.op(verb, s, 5, 1)
    kind = t.run().record.outcome.kind
    assert kind == ("finished" if verb == "test.signal" else "deadlock")


def copies(t, x, y, count, *, wait=None):
    """`count` copies x[i] → y[i], each its own commit group."""

    def copy(t, x, y, i):
        value = t.get(x, [i])
        t.op("test.reads_done")
        t.set(y, [i], value)

    with t.loop(np.int32(count)) as i:
        t.start(copy, x, y, i, family="store")
        t.op("test.commit", family="store")
        if wait is not None:
            t.op("test.join", family="store", **wait)


def test_join_waits_for_all_groups():
    t = Tape()
    x, y = t.input("x", (3,)), t.output("y", (3,))
    copies(t, x, y, 3)
    t.op("test.join", family="store")
    run = t.run(np.array([1, 2, 3], F32), policy=lambda enabled, current: min(enabled))
    assert run.results()[0].tolist() == [1, 2, 3]
    trace = close(run.writer)
    assert aux(trace, Kind.COMMIT) == [0, 1, 2]
    joins = trace.events.where(kind="join")
    assert trace.columns.object[joins].tolist() == [2, 3, 4]
    ends = trace.events.where(kind="end", thread="dma")
    assert max(ends) < min(joins)


def test_join_leaves_the_latest_groups_pending():
    t = Tape()
    x, y = t.input("x", (4,)), t.output("y", (4,))
    copies(t, x, y, 4, wait={"pending": 1})
    trace = t.trace(np.zeros(4, F32), policy=lambda enabled, current: min(enabled))
    joins = trace.events.where(kind="join")
    assert trace.columns.object[joins].tolist() == [2, 3, 4]


def test_join_counts_an_empty_group():
    """Committing nothing closes a group, too: the one before is no longer the latest."""
    t = Tape()
    x, y = t.input("x", (1,)), t.output("y", (1,))
    copies(t, x, y, 1)
    t.op("test.commit", family="store")
    t.op("test.join", family="store", pending=1)
    trace = t.trace(np.zeros(1, F32), policy=lambda enabled, current: min(enabled))
    assert len(trace.events.where(kind="join")) == 1


def test_join_ignores_other_families_and_open_groups():
    t = Tape()
    x, y = t.input("x", (1,)), t.output("y", (1,))
    copies(t, x, y, 1)
    t.op("test.commit", family="other")
    t.op("test.join", family="other")
    t.start(lambda t: t.op("test.fence"), family="store")
    t.op("test.join", family="store")
    trace = t.trace(np.zeros(1, F32), policy=lambda enabled, current: min(enabled))
    joins = trace.events.where(kind="join")
    assert trace.columns.object[joins].tolist() == [2]


def test_join_of_reads_returns_before_the_writes():
    t = Tape()
    x, y = t.input("x", (1,)), t.output("y", (1,))

    def copy(t, x, y, s):
        value = t.get(x, [0])
        t.op("test.reads_done")
        t.op("test.take", s)
        t.set(y, [0], value)

    with t.alloc(tapes.semaphore("s")) as s:
        t.start(copy, x, y, s, family="store")
        t.op("test.commit", family="store")
        t.op("test.join", family="store", reads=True)
        t.op("test.join", family="store", reads=True)
        t.op("test.signal", s)
        t.op("test.join", family="store")
    trace = t.trace(np.zeros(1, F32))
    assert aux(trace, Kind.JOIN) == [1, 0]  # the reads once, then the whole
    (write,) = trace.events.where(kind="write")
    first, last = trace.events.where(kind="join")
    assert first < write < last


def test_await_agent_of_any_thread():
    t = Tape()
    y = t.output("y", (1,))
    t.start(lambda t, y: t.set(y, [0], F32(4)), y)
    t.op("test.await", np.int32(2))
    t.op("test.await", np.int32(2))
    trace = t.trace()
    assert kinds(trace, 1) == ["BLOCK", "JOIN", "JOIN"]


def test_agent_registers_are_its_own():
    t = Tape()
    y = t.output("y", (2,))
    value = t.pure(lambda: F32(1))

    def agent(t, y, value):
        twice = t.pure(lambda a: a * F32(2), value)
        t.set(y, [1], twice)

    t.start(agent, y, value)
    t.set(y, [0], value)
    run = t.run()
    assert run.results()[0].tolist() == [1, 2]
    row = ThreadRow._make(run.writer.threads[2])
    assert (row.kind, row.parent, row.index) == ("dma", 1, -1)
    assert run.launch.kernel.tape[row.instr].op == "test.spawn"


def test_prints_checks_and_fences_are_facts():
    t = Tape()
    t.op("test.log", np.int32(3), np.float32(0.5))
    t.op("test.asserted", np.bool_(False))
    t.op("test.asserted", np.bool_(True))
    t.op("test.fence")
    trace = t.trace()
    assert kinds(trace) == ["PRINT", "ASSERT", "ASSERT", "FENCE"]
    assert trace.texts == ("3 0.5", "text")
    assert aux(trace, Kind.ASSERT) == [-2, 1]


def unknown(t, *avals, results=1):
    return t.emit("magic.unknown", results=results, params={"avals": avals}, sync=True)


def test_unsupported_op_stops_with_its_line():
    t = Tape()
    y = t.output("y", ())
    t.set(y, (), F32(1))
    unknown(t, ((), "float32"))
    t.set(y, (), F32(2))
    run = t.run()
    outcome = run.record.outcome
    assert outcome.kind == "unsupported"
    assert "no rule for `magic.unknown`" in outcome.message
    assert "kernel.py:2" in outcome.message
    assert run.results()[0] == 1
    assert len(close(run.writer)) > 0


def test_unsupported_op_is_skipped_with_unset_results():
    t = Tape()
    y = t.output("y", (2,))
    a, b, c = unknown(t, ((2,), "float32"), ((), "int8"), results=3)
    t.set(y, (), a)
    t.set(y, [0], t.pure(lambda b, c: F32(b if c is None else 0), b, c))
    run = t.run(unsupported="stub")
    assert run.record.outcome.kind == "finished"
    y = run.results()[0]
    assert y[0] == 127
    assert np.isnan(y[1])
    assert kinds(close(run.writer)).count("STUB") == 1


def test_error_in_a_pure_op_is_an_outcome_at_its_line():
    t = Tape()
    y = t.output("y", ())
    t.set(y, (), F32(1))
    t.pure(lambda: 1 // 0)
    t.set(y, (), F32(2))
    run = t.run()
    outcome = run.record.outcome
    assert outcome.kind == "unsupported"
    assert "`lax.f` raised ZeroDivisionError" in outcome.message
    assert "kernel.py:2" in outcome.message
    assert run.results()[0] == 1


def test_error_in_a_rule_is_an_outcome_at_its_line():
    t = Tape()
    t.op("test.fence")
    t.op("test.arrive", np.int32(99))
    outcome = t.run().record.outcome
    assert "`test.arrive` raised KeyError" in outcome.message
    assert "kernel.py:2" in outcome.message


def test_error_can_be_shown_whole(monkeypatch):
    monkeypatch.setenv("PALLAS_DEBUG_FULL_TRACEBACK", "1")
    t = Tape()
    t.pure(lambda: 1 // 0)
    with pytest.raises(Exception, match="raised ZeroDivisionError") as caught:
        t.run()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
