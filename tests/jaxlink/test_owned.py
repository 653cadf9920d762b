"""Arrays at the border to JAX: what is shared is never written to again."""

import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl

import pallas_debug as pldb
from pallas_debug.ir import pieces
from pallas_debug.jaxlink.owned import copied, given

DTYPES = [np.float32, np.int8, jnp.bfloat16, np.bool_]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (64, 128), (0, 4)])
def test_copy_has_the_values_of_its_time(shape, dtype):
    values = np.ones(shape, dtype)
    for array in (copied(values, values.dtype), given(values)):
        before = values.copy()
        values[...] = 0
        assert (array.shape, array.dtype) == (shape, np.dtype(dtype))
        assert np.asarray(array).tobytes() == before.tobytes()
        values[...] = 1


def test_array_that_is_given_away_is_not_copied():
    values = pieces.unset((64, 128), np.dtype(np.float32))
    values[...] = 1
    values.flags.writeable = False
    found = np.asarray(given(values))
    assert found.ctypes.data == values.ctypes.data


def double(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(
        kernel, out_shape=x, grid=(16,), in_specs=[spec], out_specs=spec
    )(x)


def test_trace_does_not_follow_the_callers_array():
    x = np.ones((128, 128), np.float32)
    trace = pldb.trace(double, x)
    x[...] = 5
    assert (np.asarray(trace.outputs) == 2).all()
    initial = next(row.initial for row in trace.buffer_rows if row.role == "input")
    assert (np.asarray(trace.payloads[initial]) == 1).all()


def test_donated_result_leaves_the_trace_as_it_was():
    x = np.ones((128, 128), np.float32)
    trace = pldb.trace(double, x)
    written = [np.array(p) for p in trace.payloads]
    jax.jit(lambda a: a + 1, donate_argnums=0)(trace.outputs)
    for before, after in zip(written, trace.payloads, strict=True):
        assert before.tobytes() == np.asarray(after).tobytes()


def test_trace_does_not_follow_an_array_that_the_function_closes_over():
    c = np.ones((128, 128), np.float32)
    trace = pldb.trace(lambda x: (double(c) + x, c), np.zeros_like(c))
    c[:] = 9
    initial = next(row.initial for row in trace.buffer_rows if row.role == "input")
    assert (np.asarray(trace.payloads[initial]) == 1).all()
    assert (np.asarray(trace.outputs[1]) == 1).all()


def test_trace_that_is_dropped_is_gone():
    jitted, x = jax.jit(double), np.ones((128, 128), np.float32)
    trace = pldb.trace(jitted, x)
    alive = weakref.ref(max(trace.payloads, key=lambda one: one.nbytes))
    del trace
    gc.collect()
    assert alive() is None
