"""Barriers: predicates, tests that do not wait, warps and their phases."""

import numpy as np
import pytest
from tapes import Tape, barrier, view

from pallas_debug import ir

NOWHERE = {"groups": (), "leader": False}


def at(ref, number=0):
    return [view(ref, [number])]


def arrive(t, ref, number=0, predicate=True):
    flag = np.bool_(predicate)
    t.emit(
        "gpu.barrier_arrive", flag, accesses=at(ref, number), params=NOWHERE, sync=True
    )


def wait(t, ref, number=0):
    t.emit("gpu.barrier_wait", accesses=at(ref, number), sync=True)


def poll(t, ref):
    t.emit("gpu.barrier_yield", accesses=at(ref), sync=True)
    return t.emit("gpu.barrier_test", results=1, accesses=at(ref))


def test_arrival_that_is_not_taken_leaves_no_event():
    t = Tape()
    with t.alloc(barrier("b")) as b:
        arrive(t, b, predicate=False)
    assert not len(t.trace().events.where(kind="arrive"))


@pytest.mark.parametrize("number", [-1, 3])
def test_number_outside_the_array_names_no_barrier(number):
    t = Tape()
    with t.alloc(barrier("b", 3)) as b:
        arrive(t, b, number)
        wait(t, b, number)
    run = t.run()
    assert run.record.outcome.kind == "deadlock"
    (bars,) = run.m.state.barriers.values()
    assert bars.completed == [0, 0, 0]


def test_test_answers_and_counts_as_a_wait_when_it_holds():
    t = Tape()
    y = t.output("y", (3,), "bool")
    with t.alloc(barrier("b")) as b:
        t.set(y, [0], poll(t, b))
        arrive(t, b)
        t.set(y, [1], poll(t, b))
        t.set(y, [2], poll(t, b))
    run = t.run()
    np.testing.assert_array_equal(run.results()[0], [False, True, False])


def test_others_run_while_a_thread_tests():
    t = Tape(threads=2)
    with t.alloc(barrier("b"), users=2) as b:
        first = t.pure(lambda i: i == 0, t.thread_id())
        with t.when(first):
            top = t.here
            done = poll(t, b)
            t.emit("ir.branch", done, targets=(top, t.here + 1))
        with t.when(t.pure(np.logical_not, first)):
            arrive(t, b)
    assert t.run().record.outcome.kind == "finished"


def test_endless_test_is_a_deadlock():
    t = Tape()
    with t.alloc(barrier("b")) as b:
        top = t.here
        done = poll(t, b)
        t.emit("ir.branch", done, targets=(top, t.here + 1))
    run = t.run()
    assert run.record.outcome.kind == "deadlock"
    assert len(run.record.outcome.waiting) == 1


def test_warps_count_their_warpgroups_phases_and_their_own():
    """Warp 0 waits in each map: phases 1, 3; the warpgroup between: phase 2."""
    t = Tape()
    with t.alloc(barrier("b")) as b:
        starts = []
        for turn in range(2):
            arrive(t, b)
            starts.append(t.here)
            params = {"slots": (20,), "number": 21, "warps": 4}
            t.emit("gpu.warp_map", b, params=params, targets=(-1,), sync=True)
            t.emit("gpu.warp_join", sync=True)
            if turn == 0:
                arrive(t, b)
                wait(t, b)
    t.emit("ir.return")
    t.patch(starts[0], t.here)
    t.patch(starts[1], t.here)
    inner, number = ir.Reg(20), ir.Reg(21)
    t.registers = 22
    with t.when(t.pure(lambda n: n == 0, number)):
        wait(t, inner)
    trace = t.trace()
    waits = [trace[seq] for seq in trace.events.where(kind="wait")]
    assert [event.column("aux") for event in waits] == [1, 2, 3]
    assert [event.thread.kind for event in waits] == ["warp", "warpgroup", "warp"]
