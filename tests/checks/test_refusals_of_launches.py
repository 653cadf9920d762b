"""Refusals of whole launches and of pipelines, as the installed JAX raises them."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu

import pallas_debug as pldb
from pallas_debug.jaxlink.privates import InterpretGPUParams

X = jnp.arange(32.0).reshape(32, 1)
WHOLE = pl.BlockSpec((32, 1), lambda i, *scalars: (0, 0))
BLOCKS = pl.BlockSpec((8, 1), lambda i, *scalars: (i, 0))


def double(*refs):
    x_ref, o_ref = refs[-2:]
    o_ref[...] = x_ref[...] * 2


def launch(scalars, is_traced, spec, size, scalar, x):
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=scalars,
        grid=(size if is_traced else 4,),
        in_specs=[spec],
        out_specs=spec,
    )
    call = pl.pallas_call(
        double,
        grid_spec=spec,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        interpret=InterpretGPUParams(),
    )
    return call(*[scalar] * scalars, x)


@pytest.mark.parametrize("spec", [WHOLE, BLOCKS], ids=["whole", "blocks"])
@pytest.mark.parametrize("is_traced", [False, True], ids=["static", "traced"])
@pytest.mark.parametrize("scalars", [0, 1])
def test_what_is_foreseen_first_is_what_jax_raises(scalars, is_traced, spec):
    fn = jax.jit(partial(launch, scalars, is_traced, spec))
    args = jnp.int32(4), jnp.array([1], jnp.int32), X
    trace = pldb.trace(fn, *args)
    np.testing.assert_array_equal(trace.outputs, X * 2)
    found = pldb.check(trace, select="PD30").findings
    said = {"PD301": scalars, "PD302": is_traced, "PD305": spec is BLOCKS}
    assert {one.code for one in found} == {
        code for code, is_so in said.items() if is_so
    }
    raised = [
        (one.details["exception"], one.details["wording"])
        for one in found
        if one.details["exception"]
    ]
    if not found:
        return np.testing.assert_array_equal(fn(*args), X * 2)
    with pytest.raises((AssertionError, NotImplementedError)) as error:
        jax.block_until_ready(fn(*args))
    assert raised == [(error.type.__name__, str(error.value))]


def pipelined(x_ref, o_ref):
    def step(_, x, o):
        o[...] = x[...] * 2

    rows = plgpu.BlockSpec((8, 128), lambda i: (i, 0))
    plgpu.emit_pipeline(
        step, grid=(4,), in_specs=[rows], out_specs=[rows], max_concurrent_steps=2
    )(x_ref, o_ref)


def by_hand(x_ref, o_ref, tile):
    def step(i, _):
        rows = pl.ds(i * 8, 8)
        tile[...] = x_ref[rows] * 2
        plgpu.commit_smem()
        plgpu.copy_smem_to_gmem(tile, o_ref.at[rows], predicate=i >= 0)
        plgpu.wait_smem_to_gmem(0)

    jax.lax.fori_loop(0, 4, step, None)


@pytest.mark.parametrize("is_ours", [False, True], ids=["pipeline", "by hand"])
def test_a_predicate_is_said_to_whoever_wrote_it(is_ours):
    x = jnp.arange(32 * 128.0).reshape(32, 128)
    fn = plgpu.kernel(
        by_hand if is_ours else pipelined,
        out_type=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_types=[plgpu.SMEM((8, 128), x.dtype)] if is_ours else [],
        interpret=InterpretGPUParams(),
    )
    trace = pldb.trace(fn, x)
    np.testing.assert_array_equal(trace.outputs, x * 2)
    (finding,) = pldb.check(trace, select="PD313").findings
    assert ("predicate=" in finding.hint) is is_ours
    assert ("emit_pipeline" in finding.message) is not is_ours
    with pytest.raises(Exception, match="predicate not supported"):
        jax.block_until_ready(fn(x))
