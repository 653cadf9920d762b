"""State at any step: checkpoints are a cache, the choices are the truth."""

import itertools

import kernels
import numpy as np
import pytest
import tapes
from tapes import Tape

from pallas_debug.machine import Options, advance
from pallas_debug.session import timeline as timelines
from pallas_debug.session.timeline import Timeline
from pallas_debug.trace import Writer, close, fold

F32 = np.float32


def long(turns=200):
    """Two threads that add and pass a token; the sum says the step."""
    t = Tape(threads=2)
    x, y = t.input("x", (1000,)), t.output("y", (2,))
    k = t.thread_id()
    t.set(y, [k], F32(0))
    with t.alloc(tapes.semaphore("s"), users=2) as s, t.loop(np.int32(turns)):
        t.set(y, [k], t.pure(lambda a: a + F32(1), t.get(y, [k])))
        t.op("test.signal", s)
        t.op("test.take", s)
    del x
    return t.launch(np.zeros(1000, F32))


def made(launch, **options):
    run = tapes.run(launch, **options)
    return run, Timeline(launch, Options(**options), run.writer.choices)


def contents(state):
    return {number: m.data.tobytes() for number, m in state.memory.items()}


@pytest.mark.parametrize("policy", ["round-robin", "random"])
def test_state_at_a_step_does_not_depend_on_the_way_there(policy):
    run, timeline = made(long(20), policy=policy)
    steps = run.record.steps
    forwards = [contents(timeline.at(step)) for step in range(0, steps, 7)]
    fresh = made(long(20), policy=policy)[1]
    backwards = [contents(fresh.at(s)) for s in reversed(range(0, steps, 7))]
    assert forwards == backwards[::-1]


def test_state_past_the_end_is_the_last():
    run, timeline = made(long(5))
    state = timeline.at(10**9)
    assert state.step == run.record.steps
    assert contents(state) == contents(run.m.state)


def test_state_is_the_callers():
    _, timeline = made(long(5))
    state = timeline.at(50)
    before = contents(state)
    state.memory[1].data[:] = 99
    state.threads.clear()
    again = timeline.at(50)
    assert contents(again) == before
    assert again.threads


def test_stepping_back_is_cheap(monkeypatch):
    """One step back from a far cursor executes dozens of instructions, not thousands."""
    _, timeline = made(long(1500))
    timeline.at(9000)
    executed = []
    real = timelines.advance

    def counted(run, *, until):
        before = run.m.state.step
        ended = real(run, until=until)
        executed.append(run.m.state.step - before)
        return ended

    monkeypatch.setattr(timelines, "advance", counted)
    for step in range(8999, 8979, -1):
        timeline.at(step)
    assert sum(executed) < 20 * 32


def test_checkpoints_are_dense_near_the_cursor_and_bounded():
    _, timeline = made(long(1500))
    timeline.at(9000)
    steps = timeline.checkpoints
    assert steps[0] == 0
    assert steps[-1] == 9000
    gaps = [b - a for a, b in itertools.pairwise(steps)]
    assert gaps[-1] <= 32
    assert max(gaps) <= timelines.SPARSE_STEPS
    assert len(steps) < 10


def test_checkpoints_keep_to_their_budget():
    launch = long(1500)
    run = tapes.run(launch, values="none")
    options = Options(values="none")
    timeline = Timeline(launch, options, run.writer.choices, budget_bytes=15_000)
    for step in (9000, 100, 5000, 4999, 8000, 1, 7777):
        state = timeline.at(step)
        assert state.step == step
        assert timeline.size_bytes <= 15_000
    assert timeline.checkpoints[0] == 0
    assert len(timeline.checkpoints) > 1


def test_no_budget_is_slow_but_right():
    launch = long(20)
    run = tapes.run(launch)
    timeline = Timeline(launch, Options(), run.writer.choices, budget_bytes=0)
    full = Timeline(launch, Options(), run.writer.choices)
    for step in (100, 50, 120):
        assert contents(timeline.at(step)) == contents(full.at(step))
    assert timeline.checkpoints == (0,)


def test_forgetting_changes_only_speed():
    _, timeline = made(long(20), policy="random")
    before = contents(timeline.at(77))
    timeline.forget()
    assert timeline.checkpoints == (0,)
    assert contents(timeline.at(77)) == before


def test_registers_are_those_that_are_still_needed():
    t = Tape()
    y = t.output("y", ())
    dead = t.pure(lambda: F32(1))
    kept = t.pure(lambda: F32(2))
    t.pure(lambda a: a, dead)
    t.set(y, (), kept)
    _, timeline = made(t.launch())
    assert timeline.registers(0, 1) == {y.number: 0}
    assert timeline.registers(1, 1) == {y.number: 0, dead.number: 1}
    assert timeline.registers(2, 1) == {y.number: 0, dead.number: 1, kept.number: 2}
    assert timeline.registers(3, 1) == {y.number: 0, kept.number: 2}
    assert timeline.registers(4, 1) == {}
    assert timeline.registers(0, 99) == {}


def test_registers_do_not_depend_on_where_segments_end():
    launch = kernels.matmul()
    run, timeline = made(launch)
    picked = range(1, run.record.steps, 5)
    forwards = [str(timeline.registers(step, 1)) for step in picked]
    timeline.forget()
    assert [str(timeline.registers(s, 1)) for s in reversed(picked)] == forwards[::-1]


@pytest.mark.parametrize("make", kernels.KERNELS, ids=lambda make: make.__name__)
def test_resumed_run_finishes_as_recorded(make):
    run, timeline = made(make(), policy="random", seed=3)
    for step in (0, run.record.steps // 3, run.record.steps - 1):
        again = timeline.resume(step)
        advance(again)
        assert bytes(again.writer.joined().log) == bytes(run.writer.log)
        assert again.results()[0].tobytes() == run.results()[0].tobytes()


def test_timeline_of_a_later_launch_has_the_traces_numbers():
    writer = Writer()
    for make in (kernels.ring, kernels.copy_compute_copy, kernels.ring):
        tapes.run(make(), writer=writer, policy="random", seed=2)
    trace = close(writer)
    options = Options(policy="random", seed=2)
    for number, recorded in enumerate(trace.launches):
        timeline = Timeline.of(trace, number, options=options)
        run = timeline.resume(recorded.steps // 2)
        for buffer, memory in run.m.state.memory.items():
            if memory.decl.is_sync:
                continue
            found = fold.memory(trace, buffer, at=run.writer.events)
            np.testing.assert_array_equal(
                memory.data[found.initialized], found.values[found.initialized]
            )
        advance(run)
        assert run.writer.events == recorded.last_event
        mine = [row for row in close(run.writer).thread_rows if row.launch == number]
        assert mine == [row for row in trace.thread_rows if row.launch == number]


def test_timeline_goes_on_past_an_interrupted_recording():
    launch = long(50)
    cut = tapes.run(launch, max_events=300, policy="random", seed=4)
    assert cut.record.outcome.kind == "truncated"
    options = Options(policy="random", seed=4)
    timeline = Timeline(launch, options, cut.writer.choices)
    state = timeline.at(10**6)
    assert state.step > cut.record.steps
    run = timeline.resume(10**6)
    assert run.record.outcome.kind == "finished"
    kept = len(cut.writer.log) - 36 * 4
    assert bytes(run.writer.joined().log[:kept]) == bytes(cut.writer.log[:kept])
