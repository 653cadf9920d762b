"""Who runs next: policies, seeds, and the replay of what was chosen."""

import hypothesis.strategies as st
import numpy as np
import pytest
import tapes
from hypothesis import given, settings
from tapes import Tape

from pallas_debug import errors, extend
from pallas_debug.machine import schedules
from pallas_debug.trace import Writer

F32 = np.float32


def racing(threads=3, turns=3):
    """Threads that append their number to a shared log without any order."""
    t = Tape(threads=threads)
    y = t.output("y", (threads * turns,), "int32")
    k = t.thread_id()
    with t.alloc(
        tapes.buffer("n", (), "int32"), tapes.semaphore("s"), users=threads
    ) as (
        n,
        s,
    ):
        with t.when(t.pure(lambda a: a == 0, k)):
            t.set(n, (), np.int32(0))
            t.op("test.signal", s, 0, threads)
        t.op("test.take", s)
        with t.loop(np.int32(turns)):
            at = t.get(n)
            t.set(y, [at], k)
            t.set(n, (), t.pure(lambda a: a + np.int32(1), at))
            t.op("test.signal", s)
            t.op("test.take", s)
    return t.launch()


def order(launch, **options):
    return tapes.run(launch, **options).results()[0].tolist()


def test_round_robin_runs_a_thread_until_it_waits():
    assert order(racing()) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_random_interleaves_and_repeats_with_its_seed():
    launch = racing()
    runs = {seed: order(launch, policy="random", seed=seed) for seed in range(8)}
    assert len({tuple(run) for run in runs.values()}) > 2
    assert all(order(launch, policy="random", seed=s) == r for s, r in runs.items())


def test_last_first_runs_the_youngest():
    assert order(racing(), policy=None) == order(racing())
    launch = racing()
    run = tapes.run(launch, policy=None)
    assert run.preempt is False
    run = tapes.run(launch, policy="last-first")
    assert run.preempt is True
    assert run.results()[0].tolist()[0] == 2


@pytest.fixture
def registered():
    """Registers policies; takes them away again."""
    names = []

    def register(name, function, **how):
        names.append(name)
        return extend.schedule(name, **how)(function)

    yield register
    for name in names:
        schedules.SCHEDULES.remove(name)


def test_a_policy_of_the_user_is_an_option(registered):
    registered("oldest", lambda enabled, current: min(enabled))
    launch = racing()
    with_name = tapes.run(launch, policy="oldest")
    by_hand = tapes.run(launch, policy=lambda enabled, current: min(enabled))
    assert with_name.preempt is True
    assert with_name.results()[0].tolist() == by_hand.results()[0].tolist()
    assert with_name.results()[0].tolist()[0] == 0


def test_a_seeded_policy_starts_afresh_in_each_launch(registered):
    def alternating(seed):
        turns = [seed]

        def policy(enabled, current):
            turns[0] += 1
            return enabled[turns[0] % len(enabled)]

        return policy

    registered("alternating", alternating, seeded=True)
    launch = racing()
    first = order(launch, policy="alternating", seed=1)
    assert order(launch, policy="alternating", seed=1) == first
    others = [order(launch, policy="alternating", seed=n) for n in range(2, 6)]
    assert any(other != first for other in others)


def test_unknown_policy_is_refused_with_the_nearest():
    with pytest.raises(errors.BadOption, match="accepted: `last-first`") as caught:
        order(racing(), policy="randon")
    assert "`random`" in caught.value.next_step


def test_choice_of_a_thread_that_cannot_run_is_refused(registered):
    registered("wild", lambda enabled, current: 99)
    with pytest.raises(errors.BadChoice, match=r"policy `wild` chose 99.* can run: "):
        order(racing(), policy="wild")


@given(st.integers(0, 50))
def test_replay_of_the_choices_is_the_run(seed):
    launch = racing()
    first = tapes.run(launch, policy="random", seed=seed)
    choices = [thread for _, _, thread in first.writer.choices]
    again = tapes.machine.run(
        launch, Writer(), tapes.machine.Options(), policy=schedules.replay(choices)
    )
    assert bytes(again.writer.log) == bytes(first.writer.log)
    assert again.writer.choices == first.writer.choices


def test_replay_passes_over_a_choice_that_is_not_enabled():
    policy = schedules.replay([7, 2, 9])
    assert policy((1, 2, 3), -1) == 2
    assert policy((1, 2, 3), 3) == 3  # nothing left: as round-robin
    assert policy((1, 2, 3), -1) == 1


@given(st.lists(st.integers(0, 5), max_size=30))
@settings(deadline=None)  # a busy machine is no fault
def test_any_list_is_a_schedule(choices):
    """Shrinking and editing a list never breaks a run."""
    run = tapes.machine.run(
        racing(), Writer(), tapes.machine.Options(), policy=schedules.replay(choices)
    )
    assert run.record.outcome.kind == "finished"
    assert sorted(run.results()[0].tolist())[:1] != []


def test_choices_are_recorded_only_where_there_is_one():
    t = Tape()
    t.op("test.fence")
    assert t.run(policy="random").writer.choices == []
    launch = racing(threads=2, turns=1)
    for launch_number, step, thread in tapes.run(launch).writer.choices:
        assert (launch_number, thread > 0, step >= 0) == (0, True, True)


@pytest.mark.parametrize("seed", range(4))
def test_random_switches_only_before_synchronization(seed):
    """Between two synchronizations a thread is alone: its rows are adjacent."""
    t = Tape(threads=2)
    y = t.output("y", (2,))
    k = t.thread_id()
    with t.loop(np.int32(3)):
        t.set(y, [k], F32(0))
        t.set(y, [k], F32(1))
        t.op("test.fence")
    run = tapes.run(t.launch(), policy="random", seed=seed)
    from pallas_debug.trace import close

    threads = close(run.writer).columns.thread.tolist()
    mine = [thread for thread in threads if thread > 0]
    assert mine in ([1] * 10 + [2] * 10, [2] * 10 + [1] * 10)
