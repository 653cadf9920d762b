"""Small kernels, the programs around them, and stand-ins for the machine."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu

from pallas_debug.jaxlink import capture, privates


def plain(x):
    return x * 2.0 + 1.0


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0 + 1.0


def generic(x, **options):
    out = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return pl.pallas_call(double, out_shape=out, **options)(x)  # line of the call


def on_gpu(x):
    out = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return plgpu.kernel(double, out_type=out)(x)


def blocked(x):
    rows = pl.BlockSpec((1, *x.shape[1:]), lambda i: (i,) + (0,) * (x.ndim - 1))
    out = jax.ShapeDtypeStruct(x.shape, x.dtype)
    call = pl.pallas_call(
        double, grid=(x.shape[0],), in_specs=[rows], out_specs=rows, out_shape=out
    )
    return call(x)


def differentiable(run, **options):
    """`run` with a backward pass that launches, too."""
    fn = jax.custom_vjp(run)
    fn.defvjp(lambda x: (run(x), None), lambda _, g: (run(g),), **options)
    return fn


def scan(run, x, **options):
    return lax.scan(lambda c, row: (run(c), run(row) + c), x[0], x, **options)


# Each takes what runs the kernel and an array.
PROGRAMS = {
    "alone": lambda run, x: run(x),
    "jit": lambda run, x: jax.jit(lambda y: run(y) + 1.0)(x),
    "jit-in-jit": lambda run, x: jax.jit(lambda y: jax.jit(run)(y) * 3.0)(x),
    "vmap": lambda run, x: jax.vmap(run)(x),
    "vmap-in-jit": lambda run, x: jax.jit(jax.vmap(run))(x),
    "grad": lambda run, x: jax.grad(lambda y: differentiable(run)(y).sum())(x),
    "value-and-grad": lambda run, x: jax.value_and_grad(
        lambda y: jnp.sin(differentiable(run)(y)).sum()
    )(x),
    "remat": lambda run, x: jax.grad(
        lambda y: jax.checkpoint(lambda z: jnp.sin(differentiable(run)(z)))(y).sum()
    )(x),
    "remat-of-the-forward-pass": lambda run, x: jax.value_and_grad(
        lambda y: jnp.sin(differentiable(run, optimize_remat=True)(y)).sum()
    )(x),
    "scan": scan,
    "scan-reversed": functools.partial(scan, reverse=True),
    "scan-unrolled": functools.partial(scan, unroll=3),
    "scan-of-nothing": lambda run, x: lax.scan(
        lambda c, row: (run(c), run(row)), x[0], x[:0]
    ),
    "while": lambda run, x: lax.while_loop(lambda c: c.sum() < 9e3, run, x),
    "kernel-in-condition": lambda run, x: lax.while_loop(
        lambda c: run(c).sum() < 9e3, lambda c: c + 8.0, x
    ),
    "fori": lambda run, x: lax.fori_loop(
        0, 3, lambda i, c: run(c) + i.astype(c.dtype), x
    ),
    "as-often-as-each-of-a-batch-wants": lambda run, x: jax.vmap(
        lambda n, c: lax.fori_loop(0, n, lambda i, y: run(y), c)
    )(jnp.arange(x.shape[0]) % 3, x),
    "until-each-of-a-batch-is-there": lambda run, x: jax.vmap(
        lambda n, c: lax.while_loop(lambda y: run(y).sum() < n, lambda y: y + 8.0, c)
    )(jnp.linspace(9e2, 3e3, x.shape[0]), x),
    "cond": lambda run, x: lax.cond(x.sum() > 0, run, lambda y: y - 1.0, x),
    "other-branch": lambda run, x: lax.cond(x.sum() < 0, run, lambda y: y - 1.0, x),
    "switch": lambda run, x: lax.switch(
        jnp.int32(9), [run, lambda y: y, lambda y: run(run(y))], x
    ),
    "two": lambda run, x: run(run(x) + 1.0),
    "tree": lambda run, x: {"a": run(x), "b": (run(x + 1.0), None, x)},
}


def array(rows=4, columns=8):
    return jnp.arange(rows * columns, dtype=jnp.float32).reshape(rows, columns)


def assert_equal(got, wanted):
    assert jax.tree.structure(got) == jax.tree.structure(wanted)
    jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-6), got, wanted)


class ByJax:
    """Answers a launch with what JAX's own interpreters say, and remembers it."""

    def __init__(self):
        self.calls: list[capture.LaunchCall] = []

    def __call__(self, call, arrays):
        self.calls.append(call)
        primitive = {
            "pallas_call": privates.pallas_call_p,
            "mpmd_map": privates.mpmd_map_p,
        }[call.primitive]
        interpret = True if "jaxpr" in call.params else privates.InterpretGPUParams()
        params = {**call.params, "interpret": interpret}
        run = jax.jit(lambda *xs: primitive.bind(*xs, **params))
        return [np.asarray(out) for out in run(*map(np.array, arrays))]


class ByNumPy:
    """Answers a launch of `double` without JAX, and remembers it."""

    def __init__(self):
        self.calls: list[capture.LaunchCall] = []

    def __call__(self, call, arrays):
        self.calls.append(call)
        assert all(type(array) is np.ndarray for array in arrays)
        return [arrays[0] * np.float32(2) + np.float32(1)]
