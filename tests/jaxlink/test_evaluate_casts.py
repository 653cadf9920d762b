"""Changes of dtype: every pair of types, over values that do not fit."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax
from jaxlink.test_evaluate import agree, assert_same, call
from jaxlink.test_evaluate_arithmetic import floats, integers

from pallas_debug.jaxlink import evaluate as ev

FLOATS = [
    *(jnp.float32, jnp.float16, jnp.bfloat16, jnp.float8_e4m3fn, jnp.float8_e5m2),
    *(jnp.float8_e4m3b11fnuz, jnp.float8_e8m0fnu),
]
INTEGERS = [
    *(jnp.int32, jnp.uint32, jnp.int16, jnp.uint16, jnp.int8, jnp.uint8),
    *(jnp.int4, jnp.uint4),
]
TYPES = [*FLOATS, *INTEGERS, jnp.bool_]
BEYOND = [1e9, -3e9, 5e9, 300, -300, 127.5, 128, 255.5, -0.7, 2.0**31, -(2.0**31)]


def values(dtype):
    if dtype == jnp.bool_:
        return np.array([False, True])
    if dtype in INTEGERS:
        return integers(dtype)
    with np.errstate(all="ignore"):
        # No subnormals: versions of JAX differ about whether one is true.
        wide = np.concatenate([floats(jnp.float32), np.float32(BEYOND)])
        return wide.astype(dtype)


def cast(x, target):
    return lax.convert_element_type_p.bind(
        x, new_dtype=np.dtype(target), weak_type=False, sharding=None
    )


@pytest.mark.parametrize("source", TYPES, ids=lambda t: np.dtype(t).name)
def test_convert(source):
    x = values(source)
    fn = jax.jit(lambda x: [cast(x, t) for t in TYPES])
    for target, want in zip(TYPES, fn(x), strict=True):
        aval = jax.core.ShapedArray(x.shape, np.dtype(source))
        to = jax.core.ShapedArray(x.shape, np.dtype(target))
        (got,) = call(ev.evaluate("convert_element_type", {}, [aval], [to]), [x])
        assert_same(got, np.asarray(want))
        scalar, to = (jax.core.ShapedArray((), a.dtype) for a in (aval, to))
        pure = ev.evaluate("convert_element_type", {}, [scalar], [to])
        for value, expected in zip(x, np.asarray(want), strict=True):
            assert_same(*call(pure, [value]), expected)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (jnp.float32, jnp.int32),
        (jnp.float32, jnp.uint8),
        (jnp.int8, jnp.int32),
        (jnp.uint16, jnp.bfloat16),
        (jnp.bfloat16, jnp.float8_e5m2),
        (jnp.int32, jnp.int4),
    ],
)
def test_bitcast(source, target):
    x = np.arange(16).reshape(2, 8).astype(source)
    width = ml_dtypes.iinfo if target in INTEGERS else ml_dtypes.finfo
    if width(target).bits > np.dtype(source).itemsize * 8:
        ratio = width(target).bits // (np.dtype(source).itemsize * 8)
        x = x.reshape(2, -1, ratio)
    agree(lambda x: lax.bitcast_convert_type(x, target), x)
    agree(lambda x: lax.bitcast_convert_type(x.T, x.dtype), x)


def test_bitcast_scalar():
    agree(lambda x: lax.bitcast_convert_type(x, jnp.int32), jnp.float32(-1.5))
    agree(lambda x: lax.bitcast_convert_type(x, jnp.bfloat16), jnp.uint16(16256))
    agree(lambda x: lax.bitcast_convert_type(x, jnp.uint8), jnp.float32(-1.5))
    bytes_ = jnp.arange(4, dtype=jnp.uint8)
    agree(lambda x: lax.bitcast_convert_type(x, jnp.float32), bytes_)


@pytest.mark.parametrize(("exponent", "mantissa"), [(8, 23), (8, 7), (5, 10)])
def test_reduce_precision(exponent, mantissa):
    x = floats(jnp.float32)
    agree(lambda x: lax.reduce_precision(x, exponent, mantissa), x)


def test_complex_casts():
    z = np.complex64([1 + 2j, -3])
    agree(
        lambda z: cast(z, np.float32),
        jnp.asarray(z),
    )
    agree(lambda x: x.astype(jnp.complex64), np.float32([1, np.nan]))
    agree(lambda x: x.astype(jnp.complex64), jnp.int32(3))


def test_rounding_of_wide_integers():
    x = np.int32([16777217, -16777219, 2147483647, 33554435])
    for dtype in (jnp.float32, jnp.bfloat16, jnp.float16):
        agree(lambda x, dtype=dtype: x.astype(dtype), x)
        agree(lambda x, dtype=dtype: x.astype(dtype), jnp.asarray(x[0]))


def test_wide_types():
    with jax.enable_x64(True):
        x = jnp.asarray([1.5, -1e300, np.nan, 2.0**63], jnp.float64)
        for dtype in (jnp.int64, jnp.uint64, jnp.int32, jnp.float32, jnp.bfloat16):
            agree(lambda x, dtype=dtype: lax.convert_element_type(x, dtype), x)
        k = jnp.asarray([2**62 + 1, -1], jnp.int64)
        for dtype in (jnp.float32, jnp.float64, jnp.int32, jnp.uint8):
            agree(lambda k, dtype=dtype: lax.convert_element_type(k, dtype), k)
            agree(lambda k, dtype=dtype: lax.convert_element_type(k, dtype), k[0])
