"""Kernels whose fault is the order of copies, each with a fixed twin."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu

N = 128
X = jnp.arange(N, dtype=jnp.float32)
TILES = jnp.arange(2 * 8 * N, dtype=jnp.float32).reshape(2, 8, N)
SMEM = plgpu.SMEM((N,), jnp.float32)
ROW = jax.ShapeDtypeStruct((N,), jnp.float32)
HBM = pl.BlockSpec(memory_space=pl.ANY)


def gpu(body, *scratch):
    return plgpu.kernel(body, out_type=ROW, scratch_types=list(scratch)), (X,)


def copy_of_a_fresh_store(fixed):
    """A result goes to global memory and comes back through a copy."""

    def body(x_ref, o_ref, smem, barrier):
        if fixed:
            smem[...] = x_ref[...] * 2
            plgpu.commit_smem()
            plgpu.copy_smem_to_gmem(smem, o_ref)
            plgpu.wait_smem_to_gmem(0)
        else:
            o_ref[...] = x_ref[...] * 2
        plgpu.copy_gmem_to_smem(o_ref, smem, barrier)
        plgpu.barrier_wait(barrier)
        smem[...] += 1
        plgpu.commit_smem()
        plgpu.copy_smem_to_gmem(smem, o_ref)
        plgpu.wait_smem_to_gmem(0)

    return gpu(body, SMEM, plgpu.Barrier())


def read_back_too_early(fixed):
    """A wait for the reads of a copy does not say that its writes are there."""

    def body(x_ref, o_ref, smem):
        smem[...] = x_ref[...] * 2
        plgpu.commit_smem()
        plgpu.copy_smem_to_gmem(smem, o_ref)
        plgpu.wait_smem_to_gmem(0, wait_read_only=not fixed)
        smem[...] = o_ref[...] + 1
        plgpu.commit_smem()
        plgpu.copy_smem_to_gmem(smem, o_ref)
        plgpu.wait_smem_to_gmem(0)

    return gpu(body, SMEM)


def copies_on_one_barrier(fixed):
    """Two copies arrive at one barrier; the first wait does not tell which came."""

    def body(x_ref, o_ref, a_smem, b_smem, barrier):
        plgpu.copy_gmem_to_smem(x_ref, a_smem, barrier)
        plgpu.copy_gmem_to_smem(x_ref, b_smem, barrier)
        plgpu.barrier_wait(barrier)
        first = a_smem[...]
        if not fixed:
            plgpu.barrier_wait(barrier)
        o_ref[...] = first + b_smem[...]

    barrier = plgpu.Barrier(num_arrivals=2 if fixed else 1)
    return gpu(body, SMEM, SMEM, barrier)


def copies_on_one_semaphore(fixed):
    """Two copies signal one semaphore; half of the bytes do not tell which came."""

    def body(x_ref, o_ref, a_vmem, b_vmem, semaphores):
        copies = [
            pltpu.make_async_copy(x_ref.at[i], vmem, semaphores.at[i if fixed else 0])
            for i, vmem in enumerate((a_vmem, b_vmem))
        ]
        for copy in copies:
            copy.start()
        copies[0].wait()
        o_ref[0] = a_vmem[...]
        copies[1].wait()
        o_ref[1] = b_vmem[...]

    return on_tpu(body)


def all_copies_of_one_semaphore(fixed):
    """One semaphore will do if all copies are waited for before any is used."""
    del fixed

    def body(x_ref, o_ref, a_vmem, b_vmem, semaphores):
        copies = [
            pltpu.make_async_copy(x_ref.at[i], vmem, semaphores.at[0])
            for i, vmem in enumerate((a_vmem, b_vmem))
        ]
        for copy in copies:
            copy.start()
        for copy in copies:
            copy.wait()
        o_ref[0] = a_vmem[...]
        o_ref[1] = b_vmem[...]

    return on_tpu(body)


def on_tpu(body):
    fn = pl.pallas_call(
        body,
        out_shape=jax.ShapeDtypeStruct(TILES.shape, TILES.dtype),
        in_specs=[HBM],
        scratch_shapes=[
            pltpu.VMEM(TILES.shape[1:], TILES.dtype),
            pltpu.VMEM(TILES.shape[1:], TILES.dtype),
            pltpu.SemaphoreType.DMA((2,)),
        ],
    )
    return fn, (TILES,)
