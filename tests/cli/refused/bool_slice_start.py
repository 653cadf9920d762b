"""A slice that begins at a bool under JAX's GPU interpret mode."""

import jax
import jax.numpy as jnp
from ending import end_with
from jax import lax
from jax._src.pallas.mosaic_gpu.interpret.params import InterpretGPUParams
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def pick(x_ref, o_ref):
    i = lax.axis_index("g")
    o_ref[0:4] = x_ref[pl.ds(i > 0, 4)]


launch = plgpu.kernel(
    pick,
    out_type=jax.ShapeDtypeStruct((8,), jnp.int32),
    grid=(2,),
    grid_names=("g",),
    interpret=InterpretGPUParams(),
)
end_with(lambda: launch(jnp.arange(8, dtype=jnp.int32)))
