"""Large grids through an executor: the trace and the results of one run."""

from concurrent.futures import Future, ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plt

import pallas_debug as pldb
from pallas_debug import executors
from pallas_debug.errors import BadOption, WorkerFailed

ROWS = 16


def scale(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


def total(x_ref, o_ref):
    plt.atomic_add(o_ref, (0,), jnp.sum(x_ref[...]))


def launched(kernel, x, shape, out_spec, **options):
    row = pl.BlockSpec((1, x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(shape, x.dtype),
        grid=(x.shape[0],),
        in_specs=[row],
        out_specs=row if out_spec is None else out_spec,
        compiler_params=plt.CompilerParams(),
        **options,
    )(x)


def twice(x):
    """Two launches: the second needs the first one's whole result."""
    once = launched(scale, x, x.shape, None)
    return launched(scale, once[::-1] + 1, x.shape, None)


def summed(x):
    """The blocks add to one element (unset memory: the sum is NaN)."""
    whole = pl.BlockSpec((1,), lambda i: (0,))
    return launched(total, x, (1,), whole)


def rows():
    return jnp.arange(ROWS * 8.0).reshape(ROWS, 8)


class Counting(ThreadPoolExecutor):
    """Counts the pieces that it was given."""

    def __init__(self):
        super().__init__(2)
        self.pieces = 0

    def submit(self, *args, **kwargs):
        self.pieces += 1
        return super().submit(*args, **kwargs)


def assert_same(one, other):
    assert np.array_equal(one.outputs, other.outputs, equal_nan=True)
    for column in ("kind", "thread", "block", "step", "instr", "object", "aux"):
        mine, theirs = (getattr(t.columns, column) for t in (one, other))
        assert np.array_equal(mine, theirs), column
    assert one.choices == other.choices
    assert [la.outcome for la in one.launches] == [la.outcome for la in other.launches]


def test_two_launches_are_cut_and_give_the_trace_of_one_run():
    with Counting() as pool:
        joined = executors.trace(pool, twice, rows(), pieces=4)
    assert pool.pieces == 8
    assert_same(joined, pldb.trace(twice, rows()))
    assert np.array_equal(joined.outputs, (rows()[::-1] * 2 + 1) * 2)


def test_a_joined_trace_can_be_run_again():
    with Counting() as pool:
        joined = executors.trace(pool, twice, rows(), pieces=4)
    session = pldb.debug(joined)
    session.jump(len(joined) // 2)
    assert session.where()


def test_blocks_that_share_an_element_are_run_whole():
    with Counting() as pool:
        joined = executors.trace(pool, summed, rows(), pieces=4)
    assert pool.pieces == 4
    assert_same(joined, pldb.trace(summed, rows()))


@pytest.mark.parametrize(
    "options", [{"resident": 2}, {"blocks": [0, 1]}, {"max_events": 30}]
)
def test_limits_are_those_of_one_run(options):
    options = pldb.Options(**options)
    with Counting() as pool:
        joined = executors.trace(pool, twice, rows(), options=options, pieces=4)
    whole = pldb.trace(twice, rows(), options=options)
    assert len(joined) == len(whole)
    assert [la.outcome for la in joined.launches] == [
        la.outcome for la in whole.launches
    ]


def test_processes_record_the_pieces():
    with executors.processes(1) as pool:
        joined = executors.trace(pool, twice, rows(), pieces=2)
        assert_same(joined, pldb.trace(twice, rows()))
        with pytest.raises(WorkerFailed, match=r"lambda.*pickle"):
            executors.trace(pool, lambda x: twice(x), rows(), pieces=2)


class Interrupted(Counting):
    """Ctrl-C comes when the first piece is there and the second is not."""

    def submit(self, *args, **kwargs):
        if not self.pieces:
            future = super().submit(*args, **kwargs)
            future.result()
            return future
        self.pieces += 1
        return Awaited()


class Awaited(Future):
    """Never there; Ctrl-C comes when somebody waits for it."""

    def exception(self, timeout=None):
        raise KeyboardInterrupt  # what Python makes of the signal


def test_an_interrupt_keeps_the_pieces_that_are_there():
    with Interrupted() as pool:
        part = executors.trace(pool, twice, rows(), pieces=2)
    assert part.launches[0].outcome.kind == "interrupted"
    assert set(part.columns.block.tolist()) == {-1, *range(ROWS // 2)}
    assert part.outputs is None


@pytest.mark.parametrize("wrong", [{"executor": 3}, {"pieces": 0}])
def test_wrong_arguments_are_refused_at_the_door(wrong):
    with Counting() as pool:
        executor = wrong.pop("executor", pool)
        with pytest.raises(BadOption):
            executors.trace(executor, twice, rows(), **wrong)
