"""Small kernels with variables whose values are known, for the session's tests."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas import triton


def running_sum(x):
    """Adds rows in a loop; row `i` of the output is the sum so far."""

    def kernel(x_ref, o_ref):
        def body(i, acc):
            row = x_ref[i]
            acc = acc + row
            o_ref[i] = acc
            return acc

        start = jnp.zeros((x_ref.shape[1],), jnp.float32)
        total = jax.lax.fori_loop(0, x_ref.shape[0], body, start)
        scaled = total * 2
        o_ref[0] = scaled

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def blocks(x):
    """Doubles blocks of four; block `i` adds `i`."""

    def kernel(x_ref, o_ref):
        i = pl.program_id(0)
        value = x_ref[...] * 2
        o_ref[...] = value + i.astype(jnp.float32)

    return pl.pallas_call(
        kernel,
        grid=(x.shape[0] // 4,),
        in_specs=[pl.BlockSpec((4,), lambda i: (i,))],
        out_specs=pl.BlockSpec((4,), lambda i: (i,)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)


def copies(x):
    """Two copies in flight, each awaited before its half is used."""

    def kernel(x_ref, o_ref, scratch, sems):
        first = pltpu.make_async_copy(x_ref.at[0], scratch.at[0], sems.at[0])
        second = pltpu.make_async_copy(x_ref.at[1], scratch.at[1], sems.at[1])
        first.start()
        second.start()
        first.wait()
        low = scratch[0] + 1
        o_ref[0] = low
        second.wait()
        high = scratch[1] + 2
        o_ref[1] = high

    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[
            pltpu.VMEM(x.shape, x.dtype),
            pltpu.SemaphoreType.DMA((2,)),
        ],
    )(x)


def not_a_number(x):
    """A NaN in the middle of an expression, three lines before anybody sees it."""

    def kernel(x_ref, o_ref):
        value = x_ref[...]
        root = jnp.sqrt(value - 1)
        mean = root.sum() / 4
        o_ref[...] = value * mean

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def normalized(x):
    """Triton: each block divides its row by the row's sum and adds its number."""

    def kernel(x_ref, o_ref):
        i = pl.program_id(0)
        row = x_ref[...]
        total = row.sum()
        o_ref[...] = row / total + i.astype(jnp.float32)

    spec = pl.BlockSpec((None, x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        grid=(x.shape[0],),
        in_specs=[spec],
        out_specs=spec,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        compiler_params=triton.CompilerParams(),
    )(x)


def rows(count=3, width=4):
    return np.arange(count * width, dtype=np.float32).reshape(count, width)
