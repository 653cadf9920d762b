"""A scalar-prefetch operand under JAX's GPU interpret mode."""

import jax
import jax.numpy as jnp
from ending import end_with
from jax._src.pallas.mosaic_gpu.interpret.params import InterpretGPUParams
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def add_scalar(s_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...] + s_ref[0]


def case():
    whole = pl.BlockSpec(memory_space=pl.ANY)
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1, grid=(1,), in_specs=[whole], out_specs=whole
    )
    call = pl.pallas_call(
        add_scalar,
        grid_spec=spec,
        out_shape=jax.ShapeDtypeStruct((8,), jnp.int32),
        interpret=InterpretGPUParams(),
    )
    return call(jnp.array([3], jnp.int32), jnp.arange(8, dtype=jnp.int32))


end_with(case)
