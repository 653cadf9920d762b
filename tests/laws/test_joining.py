"""Law 11: pieces of a grid join to the trace of one run, or are known to depend."""

import kernels
import numpy as np
import pytest
import tapes
from hypothesis import HealthCheck, given, settings
from laws.generated import WIDE_LAUNCHES
from laws.machine_laws import joins_alike
from tapes import Tape, ds

from pallas_debug.machine import Options, run
from pallas_debug.trace import Writer, close
from pallas_debug.trace.join import dependence

INDEPENDENT = [
    (lambda: kernels.copy_compute_copy(7), (0, 3, 7)),
    (lambda: kernels.matmul(3), (0, 1, 5, 9)),
    (lambda: kernels.masked_sum(6), (0, 2, 4, 6)),
]


@pytest.mark.parametrize(("make", "bounds"), INDEPENDENT)
@pytest.mark.parametrize("values", ["writes", "all", "none"])
def test_pieces_of_a_kernel_join_to_one_run(make, bounds, values):
    assert joins_alike(make(), bounds, values=values) is not None


@pytest.mark.parametrize(("make", "bounds"), INDEPENDENT)
def test_pieces_of_a_drawn_interleaving_join_to_one_run_of_it(make, bounds):
    joined = joins_alike(make(), bounds, policy="last-first")
    assert joined is not None


@given(launch=WIDE_LAUNCHES)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_pieces_of_a_generated_tape_join_to_one_run_or_depend(launch):
    joins_alike(launch, (0, 5, *launch.grid))


def through_memory(*, atomic):
    """Block 1 reads, or adds to, what block 0 wrote."""
    t = Tape(grid=(2,))
    y = t.output("y", (2,))
    i = t.grid_id(0)
    if atomic:
        access, mask = [tapes.view(y, [ds(0, 1)])], np.array([True])
        one, params = np.float32(1), {"operation": "add"}
        t.emit("triton.atomic_rmw", one, mask, accesses=access, params=params)
    else:
        t.set(y, [i], t.pure(lambda a: a + 1, t.get(y, [0])))
    return t.launch()


@pytest.mark.parametrize("atomic", [False, True])
def test_blocks_that_see_each_other_are_no_pieces(atomic):
    launch = through_memory(atomic=atomic)
    pieces = [
        close(run(launch, Writer(), Options(blocks=[block])).writer)
        for block in range(2)
    ]
    assert dependence(pieces) == "y"
    assert joins_alike(launch, (0, 1, 2)) is None


def test_blocks_that_read_the_same_input_are_pieces():
    t = Tape(grid=(4,))
    x, y = t.input("x", (4,)), t.output("y", (8,))
    i = t.grid_id(0)
    t.set(y, [i], t.pure(np.sum, t.get(x, [ds(0, 4)])))
    assert joins_alike(t.launch(np.ones(4, np.float32)), (0, 1, 4)) is not None
