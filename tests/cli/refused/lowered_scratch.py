"""Scratch operands of a kernel over a GPU mesh, lowered for CUDA and never run."""

import jax
import jax.numpy as jnp
from ending import end_with
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def twice(x_ref, o_ref, tmp):
    tmp[...] = x_ref[...] * 2
    o_ref[...] = tmp[...]


def case():
    launch = pl.kernel(
        twice,
        out_type=jax.ShapeDtypeStruct((128,), jnp.float32),
        mesh=plgpu.Mesh(grid=(1,), grid_names=("g",)),
        scratch_types=[plgpu.SMEM((128,), jnp.float32)],
    )
    traced = jax.jit(launch).trace(jnp.ones(128, jnp.float32))
    traced.lower(lowering_platforms=("cuda",))


end_with(case)
