"""The six benchmark kernels, each with its grid size as a parameter.

A case is built for a number of blocks and an `interpret` argument and comes with its
inputs and what NumPy says the result is. Importing this module imports JAX.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from case import K_STEPS, TILE, Case, like, matmul_grid, numbers, product, rows, scaled
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu
from warpgroups import pipeline, ring

LANES = 128  # the last dimension of a TPU tile


def elementwise(blocks: int, interpret: Any) -> Case:
    """Kernel a: one 64×64 float32 block for each grid point, `3.1 x + 1.7`."""

    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 3.1 + 1.7

    x = numbers(blocks * TILE, TILE)
    spec = pl.BlockSpec((TILE, TILE), lambda i: (i, 0))
    launch = pl.pallas_call(
        kernel,
        out_shape=like(x),
        grid=(blocks,),
        in_specs=[spec],
        out_specs=spec,
        interpret=interpret,
    )
    expected = x * np.float32(3.1) + np.float32(1.7)
    alone = partial(scaled, factor=3.1, offset=1.7)
    return Case(jax.jit(launch), (x,), expected, atol=1e-5, alone=alone)


def matmul(blocks: int, interpret: Any) -> Case:
    """Kernel b: a matmul whose last grid dimension runs along K."""

    def kernel(x_ref, y_ref, o_ref):
        @pl.when(pl.program_id(2) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += jnp.dot(
            x_ref[...], y_ref[...], preferred_element_type=jnp.float32
        )

    m, n = matmul_grid(blocks // K_STEPS)
    x = numbers(m * TILE, K_STEPS * TILE)
    y = numbers(K_STEPS * TILE, n * TILE, seed=1)
    expected = x @ y
    launch = pl.pallas_call(
        kernel,
        out_shape=like(expected),
        grid=(m, n, K_STEPS),
        in_specs=[
            pl.BlockSpec((TILE, TILE), lambda i, j, k: (i, k)),
            pl.BlockSpec((TILE, TILE), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((TILE, TILE), lambda i, j, k: (i, j)),
        interpret=interpret,
    )
    run = jax.jit(launch)
    return Case(run, (x, y), expected, rtol=1e-4, atol=1e-3, alone=product)


def copies(blocks: int, interpret: Any) -> Case:
    """Kernel c: each block copies a tile in, computes, and copies it out."""

    def kernel(x_gmem, o_gmem, x_smem, o_smem, arrived):
        part = rows(lax.axis_index("block"))
        plgpu.copy_gmem_to_smem(x_gmem.at[part], x_smem, arrived)
        plgpu.barrier_wait(arrived)
        o_smem[...] = x_smem[...] * 2.0 + 1.0
        plgpu.commit_smem()
        plgpu.copy_smem_to_gmem(o_smem, o_gmem.at[part])
        plgpu.wait_smem_to_gmem(0)

    x = numbers(blocks * TILE, TILE)
    launch = plgpu.kernel(
        kernel,
        out_type=like(x),
        grid=(blocks,),
        grid_names=("block",),
        scratch_types=[
            plgpu.SMEM((TILE, TILE), jnp.float32),
            plgpu.SMEM((TILE, TILE), jnp.float32),
            plgpu.Barrier(),
        ],
        interpret=interpret,
    )
    expected = x * np.float32(2) + np.float32(1)
    return Case(jax.jit(launch), (x,), expected, atol=1e-5)


def dma(blocks: int, interpret: Any) -> Case:
    """Kernel f: a TPU kernel with its own DMAs, one grid point for each block."""

    def kernel(x_hbm, o_hbm, x_vmem, o_vmem, arrived, left):
        part = rows(pl.program_id(0))
        copy_in = pltpu.make_async_copy(x_hbm.at[part], x_vmem, arrived)
        copy_in.start()
        copy_in.wait()
        o_vmem[...] = x_vmem[...] * 2.0 + 1.0
        copy_out = pltpu.make_async_copy(o_vmem, o_hbm.at[part], left)
        copy_out.start()
        copy_out.wait()

    x = numbers(blocks * TILE, LANES)
    launch = pl.pallas_call(
        kernel,
        out_shape=like(x),
        grid=(blocks,),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec(memory_space=pl.ANY),
        scratch_shapes=[
            pltpu.VMEM((TILE, LANES), jnp.float32),
            pltpu.VMEM((TILE, LANES), jnp.float32),
            pltpu.SemaphoreType.DMA,
            pltpu.SemaphoreType.DMA,
        ],
        interpret=interpret,
    )
    expected = x * np.float32(2) + np.float32(1)
    alone = partial(scaled, factor=2, offset=1)
    return Case(jax.jit(launch), (x,), expected, atol=1e-5, alone=alone)


BUILDERS = {
    "a": elementwise,
    "b": matmul,
    "c": copies,
    "d": ring,
    "e": pipeline,
    "f": dma,
}


def build(name: str, blocks: int, interpret: Any = None) -> Case:
    """The case of a kernel, a grid size and an `interpret` argument."""
    return BUILDERS[name](blocks, interpret or False)
