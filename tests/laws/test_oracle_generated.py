"""Outputs of race-free tapes, written by hand or generated, under any schedule."""

import hypothesis.strategies as st
import kernels
import numpy as np
import pytest
import tapes
from hypothesis import given, settings
from laws.oracle import PHASES, SCHEDULES, equal_under, finished, phased

SIZES = {
    kernels.copy_compute_copy: {"blocks": st.integers(1, 5)},
    kernels.ring: {"turns": st.integers(1, 7), "slots": st.integers(1, 3)},
    kernels.dma: {"count": st.integers(1, 6)},
    kernels.matmul: {"blocks": st.integers(1, 3)},
    kernels.masked_sum: {"blocks": st.integers(1, 4)},
    kernels.elementwise: {},
}


@pytest.mark.parametrize("make", kernels.KERNELS, ids=lambda make: make.__name__)
@given(st.data(), SCHEDULES)
@settings(max_examples=30, deadline=None)
def test_outputs_of_a_kernel_are_right_under_any_schedule(make, data, schedule):
    launch = make(**data.draw(st.fixed_dictionaries(SIZES[make])))
    expected = np.asarray(kernels.EXPECTED[make](*launch.arguments))
    assert finished(launch, **schedule) == [expected.tobytes()]


@given(PHASES, SCHEDULES)
@settings(max_examples=80, deadline=None)
def test_outputs_of_a_generated_program_are_equal_under_any_schedule(phases, schedule):
    equal_under(phased(phases), schedule)


def racing(t, y):
    with t.loop(np.int32(2)):
        t.op("test.fence")
        t.set(y, [0], t.thread_id())


def test_a_race_is_seen_by_some_schedule():
    """The law can fail: without an order the last one to write is anybody."""
    t = tapes.Tape(threads=3)
    racing(t, t.output("y", (1,), "int32"))
    launch = t.launch()
    results = {finished(launch, policy="random", seed=n)[0] for n in range(20)}
    assert len(results) > 1
