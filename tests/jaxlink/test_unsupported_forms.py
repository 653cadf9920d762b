"""Uses of known ops that nobody has a meaning for: a finding with line and way out."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu
from jaxlink.differential import floats, out, traced
from jaxlink.gpu_kernels import kernel

import pallas_debug as pldb
from pallas_debug.jaxlink import privates

state_types = privates.state_types


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Mirrored:
    """A view that a later JAX might have."""

    def transform_type(self, x):
        return x

    def undo(self, x):
        return self


def mirrored(ref):
    return state_types.TransformedRef(ref, (Mirrored(),))


def body(x_ref, o_ref):
    o_ref[...] = x_ref[...]
    o_ref[...] = mirrored(x_ref)[...] + 1.0  # what the view shows


def only(trace):
    (finding,) = pldb.check(trace, select="PD901").findings
    return finding


def test_unknown_view_ends_the_launch_where_it_is_read():
    trace = traced(
        pl.pallas_call(body, out_shape=out(4)), floats(4), outcome="unsupported"
    )
    assert len(trace.events.where(kind="write")) == 1
    finding = only(trace)
    assert "`state.get` is not supported with a reference under `Mirrored`" in (
        finding.message
    )
    assert "what the view shows" in finding.loc.text
    assert "index the reference another way" in finding.hint


def test_unknown_view_can_be_skipped():
    fn = pl.pallas_call(body, out_shape=out(4))
    trace = traced(fn, floats(4), unsupported="stub")
    assert np.isnan(trace.outputs).all()
    finding = only(trace)
    assert "it was skipped" in finding.message
    assert "what the view shows" in finding.loc.text


def test_kernel_that_does_not_reach_the_view_runs():
    def guarded(x_ref, o_ref):
        o_ref[...] = x_ref[...]

        @pl.when(x_ref[0] > 100.0)
        def _():
            o_ref[...] = mirrored(x_ref)[...]

    trace = traced(pl.pallas_call(guarded, out_shape=out(4)), floats(4))
    np.testing.assert_array_equal(trace.outputs, floats(4))


def test_unknown_view_of_a_copy_leaves_no_half_of_it():
    def copies(x_ref, o_ref, sem):
        pltpu.async_copy(x_ref, o_ref, sem).wait()
        pltpu.async_copy(mirrored(x_ref), o_ref, sem).wait()  # the mirrored copy

    hbm = pl.BlockSpec(memory_space=pl.ANY)
    fn = pl.pallas_call(
        copies,
        in_specs=[hbm],
        out_specs=hbm,
        out_shape=out(8, 128),
        scratch_shapes=[pltpu.SemaphoreType.DMA],
    )
    trace = traced(fn, floats(8, 128), outcome="unsupported")
    assert len(trace.events.where(kind="spawn", op="tpu.dma_start")) == 1
    finding = only(trace)
    assert "`tpu.dma_start` is not supported" in finding.message
    assert "the mirrored copy" in finding.loc.text


@pytest.mark.parametrize("unsupported", ["stop", "stub"])
def test_indirect_block_dimension_is_named_at_its_index_map(unsupported):
    def double(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    spec = pl.BlockSpec((pl.Indirect(8), 128), lambda i: (i, 0))  # the index map
    fn = pl.pallas_call(
        double,
        grid=(2,),
        in_specs=[spec],
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        out_shape=out(16, 128),
    )
    options = {"unsupported": unsupported, "outcome": "unsupported"}
    finding = only(traced(fn, floats(16, 128), **options))
    assert "is not supported with the block dimension Indirect(8)" in finding.message
    assert "the index map" in finding.loc.text
    assert "pl.Blocked" in finding.hint


def test_multimem_store_on_a_mesh_of_one_device_is_a_store():
    def store(x, o, s):
        s[...] = x[...] * 2.0
        plgpu.multimem_store(s[...], o, collective_axes=("x",))

    fn = kernel(store, out(64), plgpu.SMEM((64,), jnp.float32))
    mesh = jax.make_mesh((1,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    spec = jax.sharding.PartitionSpec("x")
    mapped = jax.shard_map(
        fn, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False
    )
    np.testing.assert_array_equal(traced(mapped, floats(64)).outputs, floats(64) * 2)
