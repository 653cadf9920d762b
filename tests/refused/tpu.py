"""Kernels for a TPU: what its interpreter and its backend stop."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from refused.build import call

X = jnp.arange(16 * 256, dtype=jnp.float32).reshape(16, 256)
SHAPE = jax.ShapeDtypeStruct(X.shape, X.dtype)
HBM = pl.BlockSpec(memory_space=pl.ANY)
VMEM = pltpu.VMEM((8, 256), jnp.float32)
DMA = pltpu.SemaphoreType.DMA
REGULAR = pltpu.SemaphoreType.REGULAR


def tpu(body, **options):
    return call(body, out=SHAPE, args=(X,), **options)


def with_values(function):
    def body(x_ref, o_ref):
        o_ref[...] = function(x_ref[...])

    return body


def copied(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def blocks(shape, shift=0):
    grid = (16 // shape[0], 256 // shape[1])
    spec = pl.BlockSpec(shape, lambda i, j: (i + shift, j))
    own = pl.BlockSpec(shape, lambda i, j: (i, j))
    return tpu(copied, grid=grid, in_specs=[spec], out_specs=own)


def read_from(row):
    def body(x_ref, o_ref):
        start = pl.program_id(0) + row
        o_ref[0:8] = x_ref[pl.ds(start, 8)]
        o_ref[8:16] = x_ref[0:8]

    return tpu(body, grid=(1,))


def written_from(row):
    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...]
        o_ref[pl.ds(pl.program_id(0) + row, 8)] = x_ref[0:8]

    return tpu(body, grid=(1,))


def copy_of(rows, waits):
    def body(x_ref, o_ref, vmem, semaphore):
        window = x_ref.at[pl.ds(pl.program_id(0) + rows, 8)]
        copy = pltpu.make_async_copy(window, vmem, semaphore)
        copy.start()
        for _ in range(waits):
            copy.wait()
        o_ref[0:8] = vmem[...]
        o_ref[8:16] = vmem[...]

    return tpu(body, grid=(1,), in_specs=[HBM], scratch_shapes=[VMEM, DMA])


def signals(count):
    def body(x_ref, o_ref, semaphore):
        pl.semaphore_signal(semaphore, count)
        pl.semaphore_wait(semaphore, 1)
        o_ref[...] = x_ref[...]

    return tpu(body, scratch_shapes=[REGULAR])


def revisited(order):
    spec = pl.BlockSpec((8, 256), lambda i: (order[0] + i * order[1], 0))
    out = pl.BlockSpec((8, 256), lambda i: (i % order[2], 0))
    return tpu(copied, grid=(2,), in_specs=[spec], out_specs=out)


PAIRS = {
    "tpu_sort": (tpu(with_values(jnp.sort)), tpu(with_values(jnp.abs))),
    "tpu_cumsum": (
        tpu(with_values(lambda x: jnp.cumsum(x, 0))),
        tpu(with_values(jnp.exp)),
    ),
    "tpu_erf_inv": (
        tpu(with_values(lambda x: jax.lax.erf_inv(x / 1e6))),
        tpu(with_values(lambda x: jnp.tanh(x))),
    ),
    "tpu_small_blocks": (blocks((4, 64)), blocks((8, 128))),
    "tpu_block_outside": (blocks((8, 128), shift=1), blocks((8, 128))),
    "tpu_read_outside": (read_from(12), read_from(8)),
    "tpu_read_negative": (read_from(-4), read_from(0)),
    "tpu_write_outside": (written_from(12), written_from(8)),
    "tpu_copy_outside": (copy_of(12, 1), copy_of(8, 1)),
    "tpu_second_wait": (copy_of(0, 2), copy_of(0, 1)),
    "tpu_no_wait": (copy_of(0, 0), copy_of(0, 1)),
    "tpu_nobody_signals": (signals(0), signals(1)),
    "tpu_left_over": (signals(2), signals(1)),
    "tpu_revisited": (revisited((0, 1, 1)), revisited((0, 1, 2))),
}
