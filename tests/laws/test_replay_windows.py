"""Law 11 where blocks are hard to place: at edges, squeezed, come back to, by tables.

Small Pallas kernels with at least as many grid points as replay asks for.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from laws.machine_laws import replays_alike

import pallas_debug as pldb

ROWS, COLUMNS, COUNT = 200, 72, 25
X = np.random.default_rng(0).standard_normal((ROWS, COLUMNS)).astype(np.float32)
ROW_BLOCKS = pl.BlockSpec((8, COLUMNS), lambda i: (i, 0))


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


def launch(kernel, grid, given=ROW_BLOCKS, taken=None, *, out=X, x=X, **options):
    like = jax.ShapeDtypeStruct(out.shape, out.dtype)
    fn = pl.pallas_call(
        kernel,
        out_shape=like,
        grid=grid,
        in_specs=[given],
        out_specs=taken or given,
        **options,
    )
    return fn, (x,)


def at_the_edge():
    return launch(double, (COUNT, 5), pl.BlockSpec((8, 16), lambda i, j: (i, j)))


def past_the_end():
    return launch(double, (30,))


def squeezed():
    return launch(double, (ROWS,), pl.BlockSpec((None, COLUMNS), lambda i: (i, 0)))


def squeezed_to_elements():
    def kernel(x_ref, o_ref):
        o_ref[()] = x_ref[()] * 2

    part = X[:6, :7].copy()
    spec = pl.BlockSpec((None, None), lambda i, j: (i, j))
    return launch(kernel, (6, 7), spec, out=part, x=part)


def come_back_to():
    def kernel(x_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += x_ref[...]

    spec = pl.BlockSpec((8, COLUMNS), lambda i, j: (j, 0))
    return launch(kernel, (5, 8), spec, out=X[:64], x=X[:64].copy())


def backwards():
    reverse = pl.BlockSpec((8, COLUMNS), lambda i: (COUNT - 1 - i, 0))
    return launch(double, (COUNT,), reverse, ROW_BLOCKS)


def one_element_written():
    def kernel(x_ref, o_ref):
        o_ref[0, 0] = jnp.sum(x_ref[...])

    return launch(kernel, (COUNT,))


def copied_as_it_is():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    return launch(kernel, (COUNT,))


def moving_through_a_window():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[pl.ds(pl.program_id(0) * 8, 8), :]

    whole = pl.BlockSpec((ROWS, COLUMNS), lambda i: (0, 0))
    return launch(kernel, (COUNT,), whole, ROW_BLOCKS)


def scratch_of_its_own():
    def kernel(x_ref, o_ref):
        def body(scratch_ref):
            scratch_ref[...] = x_ref[...] + 1
            o_ref[...] = scratch_ref[...] * 2

        pl.run_scoped(body, pltpu.VMEM((8, COLUMNS), jnp.float32))

    return launch(kernel, (COUNT,))


def by_a_table():
    def kernel(table_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(COUNT,),
        in_specs=[pl.BlockSpec((8, COLUMNS), lambda i, table: (table[i], 0))],
        out_specs=pl.BlockSpec((8, COLUMNS), lambda i, table: (i, 0)),
    )
    like = jax.ShapeDtypeStruct(X.shape, X.dtype)
    table = np.random.default_rng(1).integers(0, COUNT, COUNT).astype(np.int32)
    return pl.pallas_call(kernel, out_shape=like, grid_spec=spec), (table, X)


def half_precision():
    half = X.astype(np.float16)
    return launch(double, (COUNT,), out=half, x=half)


@pytest.mark.parametrize(
    "make",
    [
        at_the_edge,
        past_the_end,
        squeezed,
        squeezed_to_elements,
        come_back_to,
        backwards,
        one_element_written,
        copied_as_it_is,
        moving_through_a_window,
        scratch_of_its_own,
        by_a_table,
        half_precision,
    ],
)
def test_replay_of_unusual_windows_is_the_same(make):
    fn, args = make()
    trace = pldb.trace(fn, *args, options=pldb.Options(values="none"))
    assert replays_alike(trace.launches[0].source, {}).replay.ways


def test_windows_that_share_memory_are_not_replayed():
    fn, args = launch(double, (COUNT,), input_output_aliases={0: 0})
    trace = pldb.trace(fn, *args, options=pldb.Options(values="none"))
    assert not replays_alike(trace.launches[0].source, {}).replay.ways
