"""Builders of launches from bodies; the operands are rows of 128 integers."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu

N = 128
X = jnp.arange(N, dtype=jnp.int32)
ROW = jax.ShapeDtypeStruct((N,), jnp.int32)
SMEM = plgpu.SMEM((N,), jnp.int32)
BARRIER = plgpu.Barrier()
GRID = {"grid": (1,), "grid_names": ("g",)}
PAIR = {"num_threads": 2, "thread_name": "t"}
CLUSTER = {"cluster": (2,), "cluster_names": ("c",)}
WHOLE = pl.BlockSpec(memory_space=plgpu.GMEM)


def _kernel(body, scratch, out, mesh, args, interpret):
    fn = plgpu.kernel(
        body, out_type=out, scratch_types=scratch, interpret=interpret, **mesh
    )
    return fn, args


def kernel(body, *scratch, out=ROW, args=(X,), **mesh):
    """A builder of a `plgpu.kernel`."""
    mesh = {**GRID, **mesh}
    return functools.partial(_kernel, body, list(scratch), out, mesh, args)


def _call(body, options, args, interpret):
    return pl.pallas_call(body, interpret=interpret, **options), args


def call(body, *, out=ROW, args=(X,), **options):
    """A builder of a `pl.pallas_call`."""
    return functools.partial(_call, body, {"out_shape": out, **options}, args)


def copied(x_ref, o_ref, *scratch):
    o_ref[...] = x_ref[...]
