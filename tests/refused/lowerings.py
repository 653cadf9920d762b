"""What the backends for a GPU do not lower."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import triton as pltriton

from refused.build import SMEM, N, call, copied, kernel

EIGHT = {
    "out": jax.ShapeDtypeStruct((8,), jnp.int32),
    "args": (jnp.arange(8, dtype=jnp.int32),),
}
HUNDRED = {
    "out": jax.ShapeDtypeStruct((100,), jnp.float32),
    "args": (jnp.ones(100),),
}
FLOATS = {"out": jax.ShapeDtypeStruct((N,), jnp.float32), "args": (jnp.ones(N),)}


def with_values(function):
    def body(x_ref, o_ref):
        o_ref[...] = function(x_ref[...])

    return body


def triton(body, **options):
    return call(body, compiler_params=pltriton.CompilerParams(), **options)


def blocked(body, size):
    spec = pl.BlockSpec((size,), lambda i: (i,))
    return triton(body, grid=(N // size,), in_specs=[spec], out_specs=spec)


def product(a_ref, b_ref, o_ref):
    o_ref[...] = a_ref[...] @ b_ref[...]


def square(size):
    shape = jax.ShapeDtypeStruct((size, size), jnp.float32)
    return {"out": shape, "args": (jnp.ones((size, size)),) * 2}


BIG = plgpu.SMEM((N * 1024,), jnp.int32)
PAIRS = {
    "sort": (kernel(with_values(jnp.sort)), kernel(with_values(jnp.abs))),
    "cumsum": (kernel(with_values(jnp.cumsum)), kernel(with_values(jnp.negative))),
    "few_elements": (kernel(copied, **EIGHT), kernel(copied)),
    "too_much_smem": (kernel(copied, BIG), kernel(copied, SMEM)),
    "triton_sort": (triton(with_values(jnp.sort)), triton(with_values(jnp.abs))),
    "triton_cumsum": (
        triton(with_values(jnp.cumsum)),
        triton(with_values(jnp.negative)),
    ),
    "triton_hundred": (triton(copied, **HUNDRED), triton(copied, **FLOATS)),
    "triton_gather": (
        triton(with_values(lambda x: x[::-1])),
        triton(with_values(lambda x: x + 1)),
    ),
    "triton_blocks": (blocked(copied, 32), blocked(copied, 64)),
    "triton_product": (triton(product, **square(8)), triton(product, **square(16))),
    "triton_erf": (
        triton(with_values(lax.erf_inv), **FLOATS),
        triton(with_values(lax.exp), **FLOATS),
    ),
}
