"""Blocks of every kind, against JAX's plain interpreter."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jaxlink.differential import agree, call, floats, out, traced


def scaled(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


@st.composite
def grids(draw):
    """A rank, and for each dimension an array size, a block size and its kind."""
    rank = draw(st.integers(1, 3))
    dims = []
    for _ in range(rank):
        size, block = draw(st.integers(1, 9)), draw(st.integers(1, 5))
        squeezed = draw(st.integers(0, 3)) == 0
        dims.append((size, 1 if squeezed else block, squeezed))
    order = draw(st.permutations(range(rank)))
    return dims, order


@settings(max_examples=40, deadline=None)
@given(grids())
def test_blocks_of_any_size_agree(drawn):
    dims, order = drawn
    grid = tuple(-(-dims[d][0] // dims[d][1]) for d in order)
    block = tuple(None if squeezed else b for _, b, squeezed in dims)

    def index(*ids):
        return tuple(ids[order.index(d)] for d in range(len(dims)))

    spec = pl.BlockSpec(block, index)
    shape = tuple(size for size, _, _ in dims)
    build = call(
        scaled, grid=grid, in_specs=[spec], out_specs=spec, out_shape=out(*shape)
    )
    agree(build, floats(*shape))


@settings(max_examples=25, deadline=None)
@given(
    grid=st.tuples(st.integers(1, 4), st.integers(1, 3)),
    factors=st.tuples(st.integers(0, 3), st.integers(0, 3)),
)
def test_outputs_that_are_come_back_to_go_on_where_they_were(grid, factors):
    def block(i, j):
        return (factors[0] * i + factors[1] * j) % 4

    def body(x_ref, o_ref):
        here = block(pl.program_id(0), pl.program_id(1))
        step = pl.program_id(0) * grid[1] + pl.program_id(1)
        earlier = jnp.bool_(False)
        for k in range(grid[0] * grid[1]):
            earlier |= (k < step) & (block(*divmod(k, grid[1])) == here)
        o_ref[...] = x_ref[...] + jnp.where(earlier, o_ref[...], 0.0)

    build = call(
        body,
        grid=grid,
        in_specs=[pl.BlockSpec((2, 4), lambda i, j: (i, j))],
        out_specs=pl.BlockSpec((2, 4), lambda i, j: (block(i, j), 0)),
        out_shape=out(8, 4),
    )
    agree(build, floats(grid[0] * 2, grid[1] * 4))


@pytest.mark.parametrize("padding", [(0, 0), (1, 2), (3, 0)])
def test_element_blocks_with_padding_agree(padding):
    def body(x_ref, o_ref):
        o_ref[...] = x_ref[0:4] + x_ref[1:5] + x_ref[2:6]

    build = call(
        body,
        grid=(4,),
        in_specs=[pl.BlockSpec((pl.Element(6, padding), 8), lambda i: (i * 4, 0))],
        out_specs=pl.BlockSpec((4, 8), lambda i: (i, 0)),
        out_shape=out(16, 8),
    )
    agree(build, floats(18 - sum(padding) + 1, 8))


def test_overlapping_element_outputs_see_what_was_written_before():
    def body(x_ref, o_ref):
        kept = jnp.where(pl.program_id(0) == 0, 0.0, o_ref[0:2])
        o_ref[...] = x_ref[...]
        o_ref[0:2] += kept

    build = call(
        body,
        grid=(3,),
        in_specs=[pl.BlockSpec((4,), lambda i: (i,))],
        out_specs=pl.BlockSpec((pl.Element(4),), lambda i: (i * 2,)),
        out_shape=out(8),
    )
    agree(build, floats(12))


@pytest.mark.parametrize("bounds", [(2, 3), (1, 0), (4, 1)])
def test_dynamic_grid_bounds_agree(bounds):
    def build(interpret):
        def run(n, m, x):
            return pl.pallas_call(
                scaled,
                grid=(n, m),
                in_specs=[pl.BlockSpec((2, 4), lambda i, j: (i, j))],
                out_specs=pl.BlockSpec((2, 4), lambda i, j: (i, j)),
                out_shape=out(8, 12),
                interpret=interpret,
            )(x)

        return run

    agree(build, *map(jnp.int32, bounds), floats(8, 12))


def test_an_empty_grid_leaves_the_output_unset():
    spec = pl.BlockSpec((2,), lambda i: (i,))
    trace = traced(
        pl.pallas_call(
            scaled, grid=(0,), in_specs=[spec], out_specs=spec, out_shape=out(4)
        ),
        floats(4),
    )
    assert np.isnan(trace.outputs).all()


def test_accumulation_over_an_inner_axis_agrees():
    def body(x_ref, y_ref, o_ref):
        @pl.when(pl.program_id(2) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += x_ref[...] @ y_ref[...]

    build = call(
        body,
        grid=(2, 2, 3),
        in_specs=[
            pl.BlockSpec((4, 8), lambda i, j, k: (i, k)),
            pl.BlockSpec((8, 4), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((4, 4), lambda i, j, k: (i, j)),
        out_shape=out(8, 8),
    )
    agree(build, floats(8, 24) / 100, floats(24, 8) / 100, tolerance=1e-5)


@pytest.mark.parametrize("windowed", [False, True])
def test_aliased_accumulation_in_place_agrees(windowed):
    def body(x_ref, acc_ref, o_ref):
        del acc_ref
        o_ref[...] += x_ref[0]

    spec = pl.BlockSpec((4,), lambda i, j: (i,)) if windowed else pl.BlockSpec()
    x_spec = pl.BlockSpec((1, 4), lambda i, j: (j, i))
    if not windowed:
        x_spec = pl.BlockSpec((1, 8), lambda i, j: (j, 0))
    build = call(
        body,
        grid=(2, 3),
        in_specs=[x_spec, spec],
        out_specs=spec,
        out_shape=out(8),
        input_output_aliases={1: 0},
    )
    acc = floats(8)
    agree(build, floats(3, 8), acc)
    np.testing.assert_array_equal(acc, floats(8))


def test_several_outputs_and_scratch_that_lasts_agree():
    def body(x_ref, o_ref, count_ref, total_ref, seen_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            total_ref[...] = jnp.zeros_like(total_ref)
            seen_ref[0] = 0

        total_ref[...] += x_ref[...]
        seen_ref[0] += 1
        o_ref[...] = total_ref[...]
        count_ref[0] = seen_ref[0]

    build = call(
        body,
        grid=(4,),
        in_specs=[pl.BlockSpec((2, 8), lambda i: (i, 0))],
        out_specs=[
            pl.BlockSpec((2, 8), lambda i: (i, 0)),
            pl.BlockSpec((1,), lambda i: (i,)),
        ],
        out_shape=[out(8, 8), out(4, dtype=np.int32)],
        scratch_shapes=[pltpu.VMEM((2, 8), jnp.float32), pltpu.SMEM((1,), jnp.int32)],
    )
    trace = agree(build, floats(8, 8))
    freed = {trace.buffers[b].name for b in trace.events.where(kind="free").tolist()
             for b in [trace.columns.object[b]]}  # fmt: skip
    assert {"total_ref", "seen_ref"} <= freed


def test_a_kernel_that_writes_its_input_leaves_the_callers_array_alone():
    def body(x_ref, o_ref):
        x_ref[...] = x_ref[...] + 1.0
        o_ref[...] = x_ref[...]

    x = floats(8)
    agree(call(body, out_shape=out(8)), x)
    np.testing.assert_array_equal(x, floats(8))


@pytest.mark.parametrize("in_axes", [0, 1])
def test_vmapped_calls_agree(in_axes):
    spec = pl.BlockSpec((2,), lambda i: (i,))

    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2.0 + pl.program_id(0) + 10.0 * pl.num_programs(0)

    def build(interpret):
        kernel = call(
            body, grid=(3,), in_specs=[spec], out_specs=spec, out_shape=out(6)
        )(interpret)
        return jax.vmap(jax.vmap(kernel), in_axes=in_axes, out_axes=1)

    with jax.numpy_dtype_promotion("standard"):
        agree(build, floats(4, 4, 6))


def test_vmapped_scalar_prefetch_agrees():
    def body(s_ref, x_ref, o_ref):
        del s_ref
        o_ref[...] = x_ref[...]

    def build(interpret):
        grid_spec = pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(3,),
            in_specs=[pl.BlockSpec((2, 4), lambda i, s: (s[i], 0))],
            out_specs=pl.BlockSpec((2, 4), lambda i, s: (i, 0)),
        )
        return jax.vmap(
            pl.pallas_call(
                body, grid_spec=grid_spec, out_shape=out(6, 4), interpret=interpret
            )
        )

    table = jnp.asarray([[2, 0, 1], [1, 1, 0]], jnp.int32)
    agree(build, table, floats(2, 6, 4))
