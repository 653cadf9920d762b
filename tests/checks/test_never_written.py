"""Outputs that are left unset: by a fault, or because lengths and groups say so."""

import jax
import jax.numpy as jnp
import pytest
from helpers import only
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu
from jaxlink.shipped import module

import pallas_debug as pldb
from pallas_debug.checks import Severity

F32 = jnp.float32
X = jnp.ones((32, 128), F32)


def like(*shape):
    return jax.ShapeDtypeStruct(shape, F32)


def in_blocks(body, *, grid=(4,), index=lambda i, length: (i, 0)):
    """Rows in four blocks; a length comes with them as a scalar."""
    block = pl.BlockSpec((8, 128), index)
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1, grid=grid, in_specs=[block], out_specs=block
    )
    return pl.pallas_call(body, grid_spec=spec, out_shape=like(32, 128))


def up_to_length(length, x, o):
    @pl.when(pl.program_id(0) * 8 < length[0])
    def _():
        o[...] = x[...]


def up_to_16(length, x, o):
    @pl.when(pl.program_id(0) * 8 < 16)
    def _():
        o[...] = x[...]


def from_length(length, x, o):
    @pl.when(pl.program_id(0) * 8 >= length[0])
    def _():
        o[...] = x[...]


def all_but_one(length, x, o):
    @pl.when(pl.program_id(0) * 8 != length[0])
    def _():
        o[...] = x[...]


def all_rows(length, x, o):
    o[...] = x[...] + length[0].astype(F32)


def judged(call, length=16):
    return only(pldb.check(call, jnp.asarray([length]), X, select="PD103"), "PD103")


def test_rows_past_a_length_are_a_warning_that_names_it():
    finding = judged(in_blocks(up_to_length))
    assert finding.severity is Severity.WARNING
    assert finding.details["elements"] == (((16, 32),), ((0, 128),))
    assert finding.message.endswith("; `length` decides how far it is written")
    assert finding.hint.startswith("if somebody looks there, ")


@pytest.mark.parametrize(
    "call",
    [
        in_blocks(up_to_16),  # no value decides
        in_blocks(all_rows, grid=(2,)),  # the length is only added
        in_blocks(from_length),  # the beginning is missing
        in_blocks(all_but_one),  # a gap
    ],
    ids=["constant", "grid", "beginning", "gap"],
)
def test_rows_that_no_length_leaves_out_are_an_error(call):
    assert judged(call).severity is Severity.ERROR


def test_nothing_is_written_at_all_for_an_empty_length():
    assert judged(in_blocks(up_to_length), 0).severity is Severity.ERROR


def test_all_rows_of_a_full_length_are_no_finding():
    call = in_blocks(up_to_length)
    assert not pldb.check(call, jnp.asarray([32]), X, select="PD103").findings


def test_index_map_that_looks_up_its_block_decides():
    twice = in_blocks(all_rows, index=lambda i, length: (jnp.minimum(i, length[0]), 0))
    assert judged(twice, 1).severity is Severity.WARNING


def copied_rows(decides):
    """A Hopper kernel whose copies out stop at a length, or at a constant."""

    def body(length, x, o, tile):
        tile[...] = x[0:8]
        plgpu.commit_smem()

        @pl.loop(0, 4)
        def _(step):
            end = length[0] if decides else 16

            @pl.when(step * 8 < end)
            def _():
                plgpu.copy_smem_to_gmem(tile, o.at[pl.ds(step * 8, 8)])

        plgpu.wait_smem_to_gmem(0)

    scratch = [plgpu.SMEM((8, 128), F32)]
    return plgpu.kernel(body, out_type=like(32, 128), scratch_types=scratch)


@pytest.mark.parametrize(("decides", "severity"), [(True, "warning"), (False, "error")])
def test_copies_that_a_length_stops(decides, severity):
    assert judged(copied_rows(decides)).severity == severity


@pytest.mark.usefixtures("loose")
def test_shipped_kernel_leaves_rows_after_its_groups():
    gmm = module("tpu.megablox.gmm").gmm
    lhs, rhs = jnp.ones((384, 128)), jnp.ones((3, 128, 128))
    sizes = jnp.asarray([100, 0, 100], jnp.int32)
    report = pldb.check(gmm, lhs, rhs, sizes)
    assert not report.errors
    finding = only(report, "PD103")
    assert finding.details["elements"][0] == ((256, 384),)
    assert "the size of the grid decides how far" in finding.message


@pytest.fixture
def loose():
    with jax.numpy_dtype_promotion("standard"):
        yield
