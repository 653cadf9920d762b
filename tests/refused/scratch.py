"""Scratch memory: spaces, types and axes."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu

from refused.build import CLUSTER, PAIR, SMEM, WHOLE, N, call, copied, kernel

FLOATS = plgpu.SMEM((N,), jnp.float32)


def scoped(*types, **options):
    """A body that allocates, and then only copies."""

    def body(x_ref, o_ref):
        def inner(*scratch):
            o_ref[...] = x_ref[...]

        pl.run_scoped(inner, *types, **options)

    return body


def waits(x_ref, o_ref, semaphore):
    pl.semaphore_signal(semaphore, 1)
    pl.semaphore_wait(semaphore, 1)
    o_ref[...] = x_ref[...]


def meets(x_ref, o_ref, barrier):
    plgpu.barrier_arrive(barrier)
    plgpu.barrier_wait(barrier)
    o_ref[...] = x_ref[...]


def on_gpu(*scratch):
    specs = {"in_specs": [WHOLE], "out_specs": WHOLE}
    return call(copied, scratch_shapes=list(scratch), **specs)


ANY = pl.MemoryRef(jax.core.ShapedArray((N,), jnp.int32), pl.ANY)
ACC = plgpu.ACC((64, 64), jnp.float32)
TMEM = plgpu.TMEM((128, 128), jnp.float32)
ALONG = {"collective_axes": ("t",)}
THREADS = {**CLUSTER, **PAIR}
PAIRS = {
    "tensor_memory": (kernel(copied, TMEM), kernel(copied, SMEM)),
    "any_memory": (kernel(scoped(ANY)), kernel(scoped(SMEM))),
    "no_collective_axes": (
        kernel(scoped(SMEM), **PAIR),
        kernel(scoped(SMEM, **ALONG), **PAIR),
    ),
    "collective_along_cluster": (
        kernel(scoped(SMEM, collective_axes=("c", "t")), **THREADS),
        kernel(scoped(SMEM, **ALONG), **THREADS),
    ),
    "collective_without_threads": (
        kernel(scoped(SMEM, **ALONG)),
        kernel(scoped(SMEM)),
    ),
    "collective_along_grid": (
        kernel(scoped(SMEM, collective_axes=("g", "t")), **PAIR),
        kernel(scoped(SMEM, **ALONG), **PAIR),
    ),
    "mixed_registers": (kernel(scoped(ACC, SMEM)), kernel(scoped(ACC))),
    "semaphore": (
        kernel(waits, plgpu.SemaphoreType.REGULAR),
        kernel(meets, plgpu.Barrier()),
    ),
    "cluster_barrier": (
        kernel(meets, plgpu.ClusterBarrier(collective_axes=("c",)), **CLUSTER),
        kernel(meets, plgpu.Barrier(), **CLUSTER),
    ),
    "union_of_a_call": (on_gpu(plgpu.RefUnion(SMEM, FLOATS)), on_gpu(SMEM, FLOATS)),
}
