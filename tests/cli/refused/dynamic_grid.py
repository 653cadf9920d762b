"""A grid with a traced size under JAX's GPU interpret mode."""

import jax
import jax.numpy as jnp
from ending import end_with
from jax._src.pallas.mosaic_gpu.interpret.params import InterpretGPUParams
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


@jax.jit
def launch(n, x):
    return pl.pallas_call(
        double,
        grid=(n,),
        out_shape=jax.ShapeDtypeStruct((8,), jnp.int32),
        interpret=InterpretGPUParams(),
    )(x)


end_with(lambda: launch(jnp.int32(2), jnp.arange(8, dtype=jnp.int32)))
