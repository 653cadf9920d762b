"""The same kernel on our machine and in JAX's interpreters."""

import warnings

import jax
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import pallas_debug as pldb


def same(ours, theirs, tolerance=0.0):
    """Equal, where unset is equal to unset: NaN, or the integer that stands for it."""
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        if a.dtype.kind in "iu":
            info = np.iinfo(a.dtype)
            a = np.where(b == info.min, info.min, a)
        a, b = (x if x.dtype.kind in "iub" else x.astype(np.float64) for x in (a, b))
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def traced(fn, *args, outcome="finished", **options):
    """The trace of a function whose launches all end as they should."""
    trace = pldb.trace(fn, *args, options=pldb.Options(**options))
    ends = {launch.outcome.kind for launch in trace.launches}
    assert ends == {outcome}, [launch.outcome.message for launch in trace.launches]
    return trace


def agree(build, *args, interpret=True, tolerance=0.0, **options):
    """Ours on `build(False)` and JAX's on `build(interpret)`; gives our trace.

    `build(interpret)` makes the function that calls the kernel.
    """
    trace = traced(build(False), *args, **options)
    same(trace.outputs, jax.jit(build(interpret))(*args), tolerance)
    return trace


def call(body, **params):
    """`build` of a single `pallas_call`."""
    return lambda interpret: pl.pallas_call(body, interpret=interpret, **params)


def floats(*shape):
    return jax.numpy.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)


def out(*shape, dtype=np.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


def cores(count):
    """A mesh of TensorCores named `core`, whose class changed its arguments."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pltpu.create_tensorcore_mesh("core", num_cores=count)
