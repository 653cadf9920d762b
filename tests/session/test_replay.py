"""What the launches did between their events, executed again."""

import kernels
import numpy as np
import pytest
import tapes

from pallas_debug import errors
from pallas_debug.ir.flow import live_at_leaders
from pallas_debug.machine import Options, advance
from pallas_debug.session import timeline as timelines
from pallas_debug.session.replay import NEAR_STEPS, Replay
from pallas_debug.trace import Kind, Outcome, Writer, close, dumps, loads

POLICIES = ["round-robin", "random"]
every_kernel = pytest.mark.parametrize(
    "make", kernels.KERNELS, ids=lambda make: make.__name__
)
every_policy = pytest.mark.parametrize("policy", POLICIES)


def replayed(make, policy):
    options = Options(policy=policy, seed=4)
    trace = close(tapes.run(make(), policy=policy, seed=4).writer)
    return trace, Replay(trace, options)


def same(one, other):
    assert one.keys() == other.keys()
    for number in one:
        if isinstance(one[number], np.ndarray):
            np.testing.assert_array_equal(one[number], other[number])
        else:
            assert one[number] == other[number] or one[number] != one[number]


def references(kernel):
    """Registers of arguments, and of what a thread allocates: known without a reader."""
    making = ("window.fetch", "window.output", "scope.alloc")
    made = [out for instr in kernel.tape if instr.op in making for out in instr.outs]
    return {*kernel.arguments, *made}


@every_kernel
@every_policy
def test_moment_has_what_is_needed_before_and_after(make, policy):
    trace, replay = replayed(make, policy)
    timeline = replay.timeline(0)
    for event in range(0, len(trace), 3):
        thread = int(trace.columns.thread[event])
        before, after = replay.steps(event)
        (moment,) = replay.moments([event])
        expected = timeline.registers(before, thread) | timeline.registers(
            after, thread
        )
        kept = {n: v for n, v in moment.registers.items() if n in expected}
        same(kept, expected)
        extra = moment.registers.keys() - expected.keys()
        assert extra <= references(trace.launches[0].kernel)
        assert moment.pc == trace.columns.instr[event]


@every_kernel
@every_policy
def test_many_moments_are_those_of_one_by_one(make, policy):
    trace, replay = replayed(make, policy)
    for near in (0, 5):
        together = list(replay.moments(range(len(trace)), near=near))
        for event in range(0, len(trace), 5):
            (alone,) = replay.moments([event], near=near)
            same(together[event].registers, alone.registers)
            assert together[event].pc == alone.pc


@every_kernel
def test_looking_back_adds_only_what_has_not_been_set_since(make):
    trace, replay = replayed(make, "random")
    log = replay.timeline(0).executed()
    tape = trace.launches[0].kernel.tape
    live = live_at_leaders(tape, range(len(tape)))
    for event in range(0, len(trace), 4):
        thread = int(trace.columns.thread[event])
        before, _ = replay.steps(event)
        (plain,) = replay.moments([event])
        (near,) = replay.moments([event], near=NEAR_STEPS)
        for number in plain.registers.keys() & near.registers.keys():
            same({0: plain.registers[number]}, {0: near.registers[number]})
        mine = [pc for who, pc in log[:before] if who == thread][-NEAR_STEPS:]
        possible = set().union(*(live[pc] | set(tape[pc].outs) for pc in mine))
        assert near.registers.keys() - plain.registers.keys() <= possible


@every_kernel
@every_policy
def test_log_says_who_executed_what_at_each_step(make, policy):
    trace, replay = replayed(make, policy)
    log = replay.timeline(0).executed()
    assert len(log) == trace.launches[0].steps
    columns = trace.columns
    for event in range(len(trace)):
        if columns.kind[event] == Kind.BLOCK or not columns.thread[event]:
            continue  # what waits is executed later; the launch itself executes nothing
        thread, pc = log[columns.step[event]]
        assert (thread, pc) == (columns.thread[event], columns.instr[event])


def test_log_of_a_diversion_begins_with_that_of_the_recording():
    _, replay = replayed(kernels.ring, "random")
    timeline = replay.timeline(0)
    whole = timeline.executed()
    twin, run = timeline.diverted(len(whole) // 2, lambda run: None)
    assert twin.executed() == whole
    assert twin.is_diverted
    assert not timeline.is_diverted
    advance(run)
    for step in (0, 3, len(whole) // 2, len(whole) - 1):
        same(twin.registers(step, 1), timeline.registers(step, 1))


def test_walk_visits_the_states_of_the_steps():
    trace, replay = replayed(kernels.matmul, "round-robin")
    timeline = replay.timeline(0)
    steps = [0, 1, 1, 5, 30, trace.launches[0].steps]
    for step, run in zip(steps, timeline.walk(steps), strict=True):
        assert run.m.state.step == step
        there = timeline.at(step)
        for number, memory in run.m.state.memory.items():
            assert memory.data.tobytes() == there.memory[number].data.tobytes()


def test_interrupting_a_replay_gives_no_state(monkeypatch):
    _, replay = replayed(kernels.matmul, "round-robin")
    timeline = replay.timeline(0)

    def interrupted(run, *, until):
        run.record.outcome = Outcome(kind="interrupted")
        return True

    with monkeypatch.context() as patch:
        patch.setattr(timelines, "advance", interrupted)
        with pytest.raises(KeyboardInterrupt):
            timeline.at(20)
    assert timeline.at(20).step == 20


def test_options_of_a_loaded_trace_are_those_it_remembers():
    run = tapes.run(kernels.matmul(), policy="random", seed=7)
    meta = {"options": {"policy": "random", "seed": 7, "values": "writes", "new": 1}}
    trace = loads(dumps(close(run.writer, meta=meta)))
    options = Replay(trace).options(0)
    assert (options.policy, options.seed) == ("random", 7)
    assert sorted(options.blocks) == [0, 1, 2, 3]  # meta without `blocks`: a selection
    with pytest.raises(errors.NoSource):
        Replay(trace).timeline(0)


def test_launches_of_one_trace_have_timelines_of_their_own():
    writer = Writer()
    for make in (kernels.ring, kernels.dma):
        tapes.run(make(), writer=writer)
    trace = close(writer)
    replay = Replay(trace, Options())
    for launch in trace.launches:
        event = launch.last_event - 2
        (moment,) = replay.moments([event])
        assert moment.pc == trace.columns.instr[event]
    assert replay.timeline(1) is not replay.timeline(0)
