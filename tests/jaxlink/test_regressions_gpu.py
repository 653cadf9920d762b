"""Mosaic GPU kernels that were lowered wrongly once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jaxlink.differential import traced

from pallas_debug.jaxlink import privates

F16 = jnp.float16
TILED = (plgpu.TilingTransform((8, 64)), plgpu.SwizzleTransform(128))
LAYOUTS = {
    "none": (),
    "tiled": (plgpu.TilingTransform((8, 32)),),
    "both": TILED,
}


def halves(*shape):
    """Small numbers that float16 holds exactly."""
    return (np.arange(np.prod(shape)) % 512).reshape(shape).astype(np.float16)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("is_interpreted", [False, True])
def test_scratch_of_a_pallas_call_has_its_logical_shape(layout, is_interpreted):
    def body(x, o, first, second):
        first[...] = x[...]
        second[...] = first[64:] + first[:64]
        o[...] = second[...]

    call = pl.pallas_call(
        body,
        out_shape=jax.ShapeDtypeStruct((64, 128), F16),
        scratch_shapes=[
            plgpu.SMEM((128, 128), F16, transforms=LAYOUTS[layout]),
            plgpu.SMEM((64, 128), F16),
        ],
        compiler_params=plgpu.CompilerParams(),
        interpret=privates.InterpretGPUParams() if is_interpreted else False,
    )
    x = halves(128, 128)
    trace = traced(call, jnp.asarray(x))
    np.testing.assert_array_equal(trace.outputs, x[:64] + x[64:])
    shapes = {b.name: b.shape for b in trace.buffers}
    assert shapes["first"] == (128, 128)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_blocks_of_a_pallas_call_have_their_logical_shape(layout):
    def body(x, o):
        o[...] = x[...]
        o[3:5] = x[8:10] + x[...][3:5]

    spec = plgpu.BlockSpec(
        (64, 128),
        lambda i: (i, 0),
        memory_space=plgpu.SMEM,
        transforms=LAYOUTS[layout],
    )
    call = pl.pallas_call(
        body,
        grid=(2,),
        in_specs=[spec],
        out_specs=spec,
        out_shape=jax.ShapeDtypeStruct((128, 128), F16),
        compiler_params=plgpu.CompilerParams(),
    )
    x = halves(2, 64, 128)
    expected = x.copy()
    expected[:, 3:5] += x[:, 8:10]
    trace = traced(call, jnp.asarray(x.reshape(128, 128)))
    np.testing.assert_array_equal(trace.outputs, expected.reshape(128, 128))
    assert {b.name for b in trace.buffers} == {"x", "o"}


@pytest.mark.filterwarnings("ignore:jax.experimental.pallas.core_map is deprecated")
def test_warps_and_matrix_units_begin_with_what_their_rules_set():
    """A check of the tape took registers that rules fill for unset ones."""

    def body(a, b, o, a_smem, b_smem, loaded):
        @pl.core_map(plgpu.WarpMesh(axis_name="warp"))
        def _():
            warp = jax.lax.axis_index("warp")
            for number, (ref, smem) in enumerate([(a, a_smem), (b, b_smem)]):

                @pl.when(warp == number)
                def _(ref=ref, smem=smem):
                    plgpu.copy_gmem_to_smem(ref, smem, loaded)

        plgpu.barrier_wait(loaded)

        def multiply(acc):
            plgpu.wgmma(acc, a_smem, b_smem)
            plgpu.wgmma(acc, a_smem, b_smem)
            plgpu.wgmma_wait(0)
            return acc[...]

        o[...] = pl.run_scoped(multiply, plgpu.ACC((64, 64), jnp.float32))

    kernel = plgpu.kernel(
        body,
        out_type=jax.ShapeDtypeStruct((64, 64), jnp.float32),
        scratch_types=[
            plgpu.SMEM((64, 64), F16, transforms=TILED),
            plgpu.SMEM((64, 64), F16, transforms=TILED),
            plgpu.Barrier(num_arrivals=2),
        ],
    )
    a, b = halves(64, 64) % 8, halves(64, 64) % 5
    trace = traced(kernel, jnp.asarray(a), jnp.asarray(b))
    expected = 2 * (a.astype(np.float32) @ b.astype(np.float32))
    np.testing.assert_array_equal(trace.outputs, expected)
