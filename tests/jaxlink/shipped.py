"""Kernels that come with JAX: imported without its announcements, run, compared."""

import functools
import importlib
import warnings

import jax
import jax.numpy as jnp
import numpy as np

import pallas_debug as pldb


def module(name):
    """A module of `jax.experimental.pallas.ops`; some announce that they will go."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(f"jax.experimental.pallas.ops.{name}")


def normal(seed, *shape, dtype=jnp.float32):
    values = np.random.default_rng(seed).normal(size=shape)
    return jnp.asarray(values, dtype)


def alarms(trace, faults=()):
    """Errors and warnings of every check, but of JAX's refusals and of known faults."""
    bad = [one for one in pldb.check(trace).findings if str(one.severity) != "info"]
    return [one for one in bad if one.code not in faults and one.code[:3] != "PD3"]


def recorded(backend, fn, *args, faults=()):
    """What the recorded run returns; every launch is of `backend` and finished.

    No check raises an alarm, but for known `faults` of the kernel.
    """
    trace = pldb.trace(fn, *args)
    assert {launch.backend for launch in trace.launches} == {backend}
    assert {launch.outcome.kind for launch in trace.launches} == {"finished"}
    assert not alarms(trace, faults)
    return trace.outputs


def assert_close(actual, expected, tolerance=2e-5):
    for a, e in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        a, e = (np.asarray(x, np.float32) for x in (a, e))
        np.testing.assert_allclose(a, e, rtol=tolerance, atol=tolerance)


def assert_differentiable(recorded, kernel, reference, args, weights, tolerance):
    """The weighted sum of a kernel's result, and its gradients, are the reference's."""

    def loss(fn):
        return lambda *args: jnp.sum(fn(*args) * weights)

    grad = functools.partial(jax.value_and_grad, argnums=tuple(range(len(args))))
    expected = grad(loss(reference))(*args)
    assert_close(recorded(grad(loss(kernel)), *args), expected, tolerance)
