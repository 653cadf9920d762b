"""One index past the end of a table is one fault, whatever is looked up with it."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu

import pallas_debug as pldb

F32 = jnp.float32
N = 4
WHOLE = pl.BlockSpec((N, 8, 128), lambda i, table: (0, 0, 0))
OWN = pl.BlockSpec((1, 8, 128), lambda i, table: (i, 0, 0))
ANY = pl.BlockSpec(memory_space=pl.ANY)


def launched(kernel, in_spec, out_spec=OWN, scratch=()):
    """A kernel on a table of page numbers and the pages."""
    grid = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(N,),
        in_specs=[in_spec],
        out_specs=out_spec,
        scratch_shapes=scratch,
    )
    shape = jax.ShapeDtypeStruct((N, 8, 128), F32)
    call = pl.pallas_call(kernel, grid_spec=grid, out_shape=shape)
    return call, jnp.arange(N, dtype=jnp.int32), jnp.ones((N, 8, 128), F32)


def doubled(table, x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


def in_index_map(shift):
    page = pl.BlockSpec((1, 8, 128), lambda i, table: (table[i + shift], 0, 0))
    return launched(doubled, page)


def in_index_map_of_output(shift):
    page = pl.BlockSpec((1, 8, 128), lambda i, table: (table[i + shift], 0, 0))
    return launched(doubled, OWN, page)


def in_slice(shift):
    def kernel(table, x_ref, o_ref):
        page = table[pl.program_id(0) + shift]
        o_ref[...] = x_ref[pl.ds(page, 1)] * 2.0

    return launched(kernel, WHOLE)


def in_copy(shift, pick=lambda page: page):
    def kernel(table, x_ref, o_ref, tile, sem):
        page = pick(table[pl.program_id(0) + shift])
        copy = pltpu.make_async_copy(x_ref.at[pl.ds(page, 1)], tile, sem)
        copy.start()
        copy.wait()
        o_ref[...] = tile[...] * 2.0

    scratch = [pltpu.VMEM((1, 8, 128), F32), pltpu.SemaphoreType.DMA]
    return launched(kernel, ANY, scratch=scratch)


def in_views(shift):
    """One view after another."""

    def kernel(table, x_ref, o_ref, tile):
        page = table[pl.program_id(0) + shift]
        pages = x_ref.at[pl.ds(0, N)].at[pl.ds(0, N), pl.ds(0, 8)]
        pltpu.sync_copy(pages.at[page], tile)
        o_ref[0] = tile[...] * 2.0

    return launched(kernel, ANY, scratch=[pltpu.VMEM((8, 128), F32)])


def in_rows(shift):
    """The multiplication wraps, too."""

    def kernel(table, x_ref, o_ref):
        row = table[pl.program_id(0) + shift] * 8
        o_ref[0] = x_ref[pl.ds(row, 8)] * 2.0

    rows = pl.BlockSpec((8 * N, 128), lambda i, table: (0, 0))
    call, table, x = launched(kernel, rows)
    return call, table, x.reshape(8 * N, 128)


def in_unset_table(shift):
    def kernel(table, x_ref, o_ref, own):
        own[pl.program_id(0)] = table[pl.program_id(0)]
        o_ref[...] = x_ref[pl.ds(own[pl.program_id(0) + shift], 1)] * 2.0

    return launched(kernel, WHOLE, scratch=[pltpu.SMEM((2 * N,), jnp.int32)])


def on_gpu(shift):
    def kernel(table, x, o, tile, barrier):
        page = table[lax.axis_index("i") + shift]
        plgpu.copy_gmem_to_smem(x.at[page], tile, barrier)
        plgpu.barrier_wait(barrier)
        o[lax.axis_index("i")] = tile[...] * 2.0

    call = plgpu.kernel(
        kernel,
        out_type=jax.ShapeDtypeStruct((N, 128), F32),
        grid=(N,),
        grid_names=("i",),
        scratch_types=[plgpu.SMEM((128,), F32), plgpu.Barrier()],
    )
    return call, jnp.arange(N, dtype=jnp.int32), jnp.ones((N, 128), F32)


def told(build, **options):
    report = pldb.check(*build(**options))
    return [
        (root.code, sorted(one.code for one in report.following(root)))
        for root in report.roots
    ]


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (in_index_map, ("PD101", ["PD101"])),
        (in_slice, ("PD101", ["PD101"])),
        (in_copy, ("PD101", ["PD101"])),
        (in_views, ("PD101", ["PD101"])),
        (in_rows, ("PD101", ["PD101", "PD405"])),
        (in_unset_table, ("PD102", ["PD101"])),
        (on_gpu, ("PD101", ["PD101"])),
    ],
)
def test_table_read_past_its_end_is_one_fault(build, expected):
    assert told(build, shift=1) == [expected]
    assert not told(build, shift=0)


def test_block_brought_back_to_a_made_up_place_is_the_same_fault():
    # That a block is missing elsewhere may be a fault of its own.
    found = dict(told(in_index_map_of_output, shift=1))
    assert found == {"PD101": ["PD101"], "PD103": []}
    assert not told(in_index_map_of_output, shift=0)


def beyond(page):
    """A page too far at the last grid point, whatever the table says."""
    return page - lax.div(pl.program_id(0), 3) * N


def test_index_that_is_wrong_whatever_the_table_says_is_a_fault_of_its_own():
    assert told(in_copy, shift=1, pick=beyond) == [("PD101", []), ("PD101", [])]


@pytest.mark.parametrize(
    "pick",
    [
        pytest.param(lambda page: jnp.where(page < N, page, N), id="by another number"),
        pytest.param(lambda page: lax.div(page, 2), id="by an unknown function"),
    ],
)
def test_index_that_may_be_computed_without_the_table_is_not_explained(pick):
    assert told(in_copy, shift=1, pick=pick) == [("PD101", []), ("PD101", [])]


def test_fault_at_other_indices_too_is_a_fault_of_its_own():
    call, table, x = in_copy(shift=1)
    report = pldb.check(call, table.at[1].set(N + 3), x)
    assert [one.code for one in report.roots] == ["PD101", "PD101"]


def test_made_up_numbers_of_two_tables_explain_nothing():
    def kernel(table, x_ref, o_ref, own):
        i = pl.program_id(0)
        own[i] = 0
        o_ref[...] = x_ref[pl.ds(table[i + 1] + own[i + 1], 1)] * 2.0

    scratch = [pltpu.SMEM((N,), jnp.int32)]
    report = pldb.check(*launched(kernel, WHOLE, scratch=scratch))
    assert {one.buffer for one in report.roots} >= {"table", "own", "x_ref"}


def test_overflow_of_a_scalar_is_said_without_a_place():
    report = pldb.check(*in_rows(shift=1), select=["PD101", "PD405"])
    (wrap,) = report.by_code["PD405"]
    assert "gives -8 in int32; first in block (3,)" in wrap.message
