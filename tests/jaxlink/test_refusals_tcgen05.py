"""Options of the tensor core that GPU interpret mode refuses, on the installed JAX."""

import jax.numpy as jnp
from jax.experimental.pallas import mosaic_gpu as plgpu
from jaxlink.gpu_kernels import F16, F32, TILED
from jaxlink.refusals import CLUSTER, accepted, kernel, refused

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
