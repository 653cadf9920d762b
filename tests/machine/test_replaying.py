"""Replay of grid points: when it happens, when it does not, and that a fault is exact."""

import numpy as np
import pytest
import tapes
from kernels import copy_compute_copy, elementwise
from laws.machine_laws import same
from tapes import Tape, ds

from pallas_debug.machine import compile_kernel, run
from pallas_debug.machine.options import Options
from pallas_debug.trace import Writer

F32 = np.float32
BLOCKS = 24


def both(launch, **options):
    """A run with replay and one without; their facts are the same."""
    program = compile_kernel(launch.kernel, coarse=True)
    fast, slow = (
        run(launch, Writer(), Options(**options), program=program, replay=replay)
        for replay in (True, False)
    )
    same(fast.writer, slow.writer)
    return fast


def copies(at, body=lambda t, block, value: value, source=None):
    """Each block copies the cell `at(block)` of x to its own cell of y."""
    t = Tape(grid=(BLOCKS,))
    x, y = t.input("x", (BLOCKS,)), t.output("y", (BLOCKS,))
    block = t.grid_id(0)
    value = t.get(x, [ds(t.pure(at, block), 1)])
    t.set(y, [ds(block, 1)], body(t, block, value))
    return t.launch(np.arange(BLOCKS, dtype=F32) if source is None else source)


def test_same_blocks_are_replayed_after_two_lessons():
    fast = both(copies(lambda b: b))
    assert len(fast.replay.ways) == 1
    assert fast.replay.lessons == 2


def test_known_way_needs_no_lesson():
    launch = copies(lambda b: b)
    program = compile_kernel(launch.kernel, coarse=True)
    lessons = [
        run(launch, Writer(), Options(**options), program=program).replay.lessons
        for options in ({}, {}, {"max_events": 10**6}, {})
    ]
    assert lessons == [2, 0, 1, 1]  # others may go another way; a path is known still


@pytest.mark.parametrize("make", [elementwise, copy_compute_copy])
def test_few_blocks_are_not_worth_it(make):
    launch = make()
    program = compile_kernel(launch.kernel, coarse=True)
    assert run(launch, Writer(), Options(), program=program).replay is None


@pytest.mark.parametrize(
    "options", [{"resident": 2}, {"policy": "random"}, {"policy": "last-first"}]
)
def test_other_orders_are_not_replayed(options):
    launch = copies(lambda b: b)
    assert run(launch, Writer(), Options(**options)).replay is None


def test_outside_of_the_array_is_replayed_as_outside():
    both(copies(lambda b: b - np.int32(3)), values="all")


def by_value(t, block, value):
    """Another way where the value is odd."""
    odd = t.pure(lambda a: a[0] % 2 == 1, value)
    result = t.reg()
    t.move(value, result)
    with t.when(odd):
        t.pure(lambda a: -a, value, outs=[result])
    return result


def test_way_that_depends_on_data_is_not_replayed():
    fast = both(copies(lambda b: b, by_value))
    assert not fast.replay.ways
    y = fast.results()[0]
    assert y[:4].tolist() == [0, -1, 2, -3]


def by_block(t, block, value):
    """Another way in every third block."""
    third = t.pure(lambda b: b % 3 == 2, block)
    result = t.reg()
    t.move(value, result)
    with t.when(third):
        t.pure(lambda a: -a, value, outs=[result])
    return result


def test_ways_that_depend_on_the_block_are_told_apart():
    fast = both(copies(lambda b: b, by_block))
    assert len(fast.replay.ways) == 2
    assert fast.results()[0][:6].tolist() == [0, 1, -2, 3, 4, -5]


def failing(t, block, value):
    def fail(a):
        if a[0] == 17:
            raise ValueError("17")
        return a + F32(1)

    return t.pure(fail, value)


def test_instruction_that_fails_late_ends_the_run_at_the_same_event():
    fast = both(copies(lambda b: b, failing))
    assert fast.replay is None  # begun again
    assert fast.record.outcome.kind == "unsupported"
    assert "17" in fast.record.outcome.message


def test_run_after_one_that_failed_has_its_own_numbers():
    launch = copies(lambda b: b, failing)
    program = compile_kernel(launch.kernel, coarse=True)
    writers = Writer(), Writer()
    for writer, replay in zip(writers, (True, False), strict=True):
        for _ in range(2):
            run(launch, writer, Options(), program=program, replay=replay)
    same(*writers)


@pytest.mark.parametrize("limit", range(60, 75))
def test_too_many_events_end_the_run_at_the_same_event(limit):
    fast = both(copy_compute_copy(20), max_events=limit)
    assert fast.record.outcome.kind == "truncated"


def test_values_beyond_the_budget_are_dropped_alike():
    fast = both(copies(lambda b: b), max_value_bytes=120)
    assert fast.m.full


def test_printing_blocks_are_not_replayed():
    t = Tape(grid=(BLOCKS,))
    t.output("y", (BLOCKS,))
    t.op("test.log", t.grid_id(0))
    fast = both(t.launch())
    assert not fast.replay.ways
    assert len(fast.writer.texts) == BLOCKS


def test_written_scratch_of_a_core_carries_over():
    """A counter in memory: its value is no part of the way, but of the values."""
    t = Tape(backend="tpu", grid=(BLOCKS,))
    y = t.output("y", (BLOCKS,))
    with t.alloc(tapes.buffer("count", (1,), scope="launch")) as count:
        t.set(count, (), np.zeros(1, F32))
        top = t.here
        (i,) = [t.reg()]
        t.emit("grid.next", outs=[i], targets=(-1,), sync=True)
        t.set(count, (), t.pure(lambda a: a + F32(1), t.get(count)))
        t.set(y, [ds(i, 1)], t.get(count))
        t.emit("ir.jump", targets=(top,))
        t.patch(top, t.here)
    fast = both(t.launch(), values="all")
    assert fast.replay.ways
    assert fast.results()[0].tolist() == list(range(1, BLOCKS + 1))
