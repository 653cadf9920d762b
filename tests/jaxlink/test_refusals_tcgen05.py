"""Options of the tensor core that GPU interpret mode refuses, on the installed JAX."""

import jax.numpy as jnp
import pytest
from jax.experimental.pallas import mosaic_gpu as plgpu
from jaxlink.gpu_kernels import F16, F32, TILED
from jaxlink.refusals import CLUSTER, X, accepted, kernel, law, refused

from pallas_debug.jaxlink.versions import JAX

ORDERED = plgpu.Barrier(orders_tensor_core=True)
ONES = jnp.ones((128, 64), F16)
SQUARE = jnp.ones((64, 64), F16)
HAS_TMEM = JAX >= (0, 11, 0)
SCRATCH = (
    plgpu.SMEM((128, 64), F16, transforms=TILED),
    plgpu.SMEM((64, 64), F16, transforms=TILED),
    plgpu.TMEM((128, 64), F32),
    plgpu.Barrier(num_arrivals=2),
)


def load(a_ref, b_ref, a_smem, b_smem, loaded):
    plgpu.copy_gmem_to_smem(a_ref, a_smem, loaded)
    plgpu.copy_gmem_to_smem(b_ref, b_smem, loaded)
    plgpu.barrier_wait(loaded)


def product(a_ref, b_ref, o_ref, a_smem, b_smem, acc, loaded, done):
    load(a_ref, b_ref, a_smem, b_smem, loaded)
    plgpu.tcgen05_mma(acc, a_smem, b_smem, done, accumulate=False)
    plgpu.barrier_wait(done)
    o_ref[...] = plgpu.async_load_tmem(acc)


def test_product_in_one_block():
    fn = kernel(product, *SCRATCH, ORDERED, out=(128, 64), dtype=F32)
    if HAS_TMEM:
        accepted(fn, ONES, SQUARE)
    else:
        refused("PD306", fn, ONES, SQUARE)


def test_collective_product():
    def body(a_ref, b_ref, o_ref, a_smem, b_smem, acc, loaded, done):
        load(a_ref, b_ref, a_smem, b_smem, loaded)
        plgpu.tcgen05_mma(  # refused
            acc, a_smem, b_smem, done, accumulate=False, collective_axis="c"
        )
        plgpu.barrier_wait(done)
        o_ref[...] = plgpu.async_load_tmem(acc)

    scratch = (
        *SCRATCH[:2],
        plgpu.TMEM((128, 128), F32, collective=True),
        *SCRATCH[3:],
        ORDERED,
    )
    fn = kernel(body, *scratch, out=(128, 128), dtype=F32, **CLUSTER)
    code = "PD319" if HAS_TMEM else "PD306"
    finding = refused(code, fn, ONES, SQUARE)
    assert "tcgen05_mma" in finding.loc.text or not HAS_TMEM


@pytest.mark.skipif(JAX < (0, 12, 0), reason="older versions say something else")
def test_copy_of_scales():
    def body(x_ref, o_ref, smem, tmem):
        plgpu.async_copy_scales_to_tmem(smem, tmem)  # refused
        o_ref[...] = x_ref[...]

    scratch = (
        plgpu.SMEM((1, 1, 32, 16), jnp.float8_e8m0fnu),
        plgpu.TMEM((128, 4), jnp.float8_e8m0fnu, layout=plgpu.TMEMLayout.SCALES_LAYOUT),
    )
    law("PD319", True, kernel(body, *scratch), X)
