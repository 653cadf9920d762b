"""Laws of integers and windows, against models in plain Python."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxlink.test_evaluate import call

from pallas_debug.jaxlink.evaluate import evaluate

DTYPES = [jnp.int32, jnp.uint32, jnp.int8, jnp.uint8, jnp.int16, jnp.uint16]
few = settings(max_examples=60, deadline=None)


def aval(dtype, shape=()):
    return jax.core.ShapedArray(shape, np.dtype(dtype))


def wrapped(value, dtype):
    """The element of an integer dtype that `value` is modulo its range."""
    info = np.iinfo(dtype)
    low, span = int(info.min), int(info.max) - int(info.min) + 1
    return (value - low) % span + low


def both_ranks(name, dtype, *values, out=None, **params):
    """The value that a rule gives alone, asserted equal to the one in an array."""
    out = dtype if out is None else out
    operands = [np.dtype(dtype).type(v) for v in values]
    alone = evaluate(name, params, [aval(dtype)] * len(values), [aval(out)])
    arrays = evaluate(
        name, params, [aval(dtype, (1,))] * len(values), [aval(out, (1,))]
    )
    (scalar,) = call(alone, operands)
    (array,) = call(arrays, [np.array([x]) for x in operands])
    assert isinstance(scalar, np.generic)
    assert scalar.dtype == array.dtype == np.dtype(out)
    assert scalar == array[0]
    return int(scalar)


@st.composite
def integer_pairs(draw):
    dtype = draw(st.sampled_from(DTYPES))
    info = np.iinfo(dtype)
    value = st.integers(int(info.min), int(info.max)) | st.sampled_from(
        [int(info.min), int(info.max), 0, 1, wrapped(-1, dtype)]
    )
    return dtype, draw(value), draw(value)


@few
@given(integer_pairs())
def test_integer_quotient_goes_toward_zero(case):
    dtype, a, b = case
    quotient = -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    assert both_ranks("div", dtype, a, b) == wrapped(quotient, dtype)


@few
@given(integer_pairs())
def test_integer_remainder_has_the_sign_of_the_dividend(case):
    dtype, a, b = case
    rest = a if b == 0 else abs(a) % abs(b) * (-1 if a < 0 else 1)
    assert both_ranks("rem", dtype, a, b) == rest


@few
@given(integer_pairs())
def test_integer_arithmetic_wraps(case):
    dtype, a, b = case
    assert both_ranks("add", dtype, a, b) == wrapped(a + b, dtype)
    assert both_ranks("sub", dtype, a, b) == wrapped(a - b, dtype)
    assert both_ranks("mul", dtype, a, b) == wrapped(a * b, dtype)
    assert both_ranks("neg", dtype, a) == wrapped(-a, dtype)


@few
@given(integer_pairs(), st.integers(0, 40))
def test_shift_past_the_width_leaves_only_the_sign(case, amount):
    dtype, a, b = case
    width = np.dtype(dtype).itemsize * 8
    for by in (amount, b):
        outside = not 0 <= by < width
        shifted = 0 if outside else wrapped(a << by, dtype)
        assert both_ranks("shift_left", dtype, a, by) == shifted
        logical = 0 if outside else (a % 2**width) >> by
        right = both_ranks("shift_right_logical", dtype, a, by)
        assert right == wrapped(logical, dtype)
        signed = np.dtype(f"i{width // 8}")
        arithmetic = wrapped(a, signed) >> (width - 1 if outside else by)
        right = both_ranks("shift_right_arithmetic", dtype, a, by)
        assert right == wrapped(arithmetic, dtype)


@few
@given(integer_pairs(), st.sampled_from(DTYPES))
def test_integer_casts_wrap(case, target):
    dtype, a, _ = case
    cast = both_ranks("convert_element_type", dtype, a, out=target)
    assert cast == wrapped(a, target)


@few
@given(st.floats(width=32), st.sampled_from(DTYPES))
def test_float_casts_saturate(x, target):
    info = np.iinfo(target)
    want = 0 if x != x else int(min(max(x, int(info.min)), int(info.max)))
    cast = both_ranks("convert_element_type", jnp.float32, x, out=target)
    assert cast == want


@st.composite
def padded(draw):
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=1, max_size=3)))
    config = []
    for n in shape:
        low, high = draw(st.integers(-4, 3)), draw(st.integers(-4, 3))
        interior = draw(st.integers(0, 2))
        inside = n + max(n - 1, 0) * interior
        config.append((low, max(high, -inside - low), interior))
    return shape, config


@few
@given(padded())
def test_pad_places_each_element(case):
    shape, config = case
    x = np.arange(1, 1 + np.prod(shape), dtype=np.int32).reshape(shape)
    full = [
        low + high + n + max(n - 1, 0) * inner
        for n, (low, high, inner) in zip(shape, config, strict=True)
    ]
    want = np.full(full, -1, np.int32)
    for place in np.ndindex(*shape):
        to = tuple(c[0] + i * (c[2] + 1) for i, c in zip(place, config, strict=True))
        if all(0 <= t < n for t, n in zip(to, full, strict=True)):
            want[to] = x[place]
    ins = [aval(jnp.int32, shape), aval(jnp.int32)]
    outs = [aval(jnp.int32, tuple(full))]
    pure = evaluate("pad", {"padding_config": config}, ins, outs)
    np.testing.assert_array_equal(*call(pure, [x, np.int32(-1)]), want)


@few
@given(st.data())
def test_dynamic_slices_clamp(data):
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    sizes = tuple(data.draw(st.integers(0, n)) for n in shape)
    starts = [data.draw(st.integers(-9, 9)) for _ in shape]
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    window = tuple(
        slice(min(max(s, 0), n - m), min(max(s, 0), n - m) + m)
        for s, n, m in zip(starts, shape, sizes, strict=True)
    )
    scalars = [aval(jnp.int32)] * len(shape)
    whole, part = aval(jnp.int32, shape), aval(jnp.int32, sizes)
    operands = [np.int32(s) for s in starts]
    params = {"slice_sizes": sizes}
    read = evaluate("dynamic_slice", params, [whole, *scalars], [part])
    np.testing.assert_array_equal(*call(read, [x, *operands]), x[window])
    write = evaluate("dynamic_update_slice", {}, [whole, part, *scalars], [whole])
    want = x.copy()
    want[window] = -1
    y = np.full(sizes, -1, np.int32)
    np.testing.assert_array_equal(*call(write, [x, y, *operands]), want)


@st.composite
def contractions(draw):
    """Labels of both operands and of the result: batch, free left, free right."""
    batch, contracted, left, right = (
        letters[: draw(st.integers(0, 2))] for letters in ("ab", "cd", "ef", "gh")
    )
    a = "".join(draw(st.permutations(batch + contracted + left)))
    b = "".join(draw(st.permutations(batch + contracted + right)))
    sizes = {c: draw(st.integers(0, 3)) for c in "abcdefgh"}
    free = [c for c in a if c in left], [c for c in b if c in right]
    return a, b, batch, contracted, batch + "".join(free[0] + free[1]), sizes


@few
@given(contractions(), st.sampled_from([jnp.int32, jnp.int8, jnp.float32]))
def test_dot_is_einstein_summation(case, dtype):
    a, b, batch, contracted, out, sizes = case
    x, y = (
        (np.arange(np.prod([sizes[c] for c in s], dtype=int)) % 7 - 3)
        .reshape([sizes[c] for c in s])
        .astype(dtype)[()]
        for s in (a, b)
    )
    numbers = tuple(
        tuple(tuple(s.index(c) for c in labels) for s in (a, b))
        for labels in (contracted, batch)
    )
    wide = jnp.int32 if dtype == jnp.int8 else dtype
    result = aval(wide, tuple(sizes[c] for c in out))
    ins = [aval(dtype, np.shape(v)) for v in (x, y)]
    pure = evaluate("dot_general", {"dimension_numbers": numbers}, ins, [result])
    (got,) = call(pure, [x, y])
    assert isinstance(got, np.ndarray if out else np.generic)
    assert got.dtype == np.dtype(wide)
    want = np.einsum(f"{a},{b}->{out}", np.asarray(x, wide), np.asarray(y, wide))
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_order_of_scalars_is_a_python_conditional(dtype):
    assert both_ranks("max", dtype, 3, 5) == 5
    assert both_ranks("min", dtype, 3, 5) == 3
    assert both_ranks("sign", dtype, 5) == 1
