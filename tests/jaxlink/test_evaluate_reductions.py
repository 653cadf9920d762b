"""Reductions, scans, orderings, contractions and random numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jaxlink.test_evaluate import agree, assert_same, call, equations, pure_of

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 4, 5)).astype(np.float32)
K = RNG.integers(-99, 99, (3, 4, 5)).astype(np.int32)
DTYPES = [jnp.float32, jnp.bfloat16, jnp.int32]


def with_nans(x):
    y = x.copy()
    y[0, 1, 2] = y[2, 3, 0] = np.nan
    y[1, 0, 0], y[1, 1, 1] = np.inf, -np.inf
    return y


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ["sum", "prod", "max", "min"])
def test_reduction(op, dtype):
    reduce = getattr(lax, f"reduce_{op}_p", None) or getattr(lax, f"reduce_{op}")
    x = (X if dtype != jnp.int32 else K).astype(dtype)
    for axes in ((), (0, 2), (0, 1, 2)):
        agree(lambda x, axes=axes: _bind(reduce, x, axes), x)


def _bind(reduce, x, axes):
    return reduce(x, axes) if not hasattr(reduce, "bind") else reduce.bind(x, axes=axes)


@pytest.mark.parametrize("op", ["max", "min", "sum"])
def test_reduction_over_nan_and_infinity(op):
    agree(lambda x: getattr(jnp, op)(x, axis=(1, 2)), with_nans(X))


def test_reduction_over_nothing():
    empty = np.zeros((2, 0), np.float32)
    for op in (lax.reduce_max, lax.reduce_min, lax.reduce_sum, lax.reduce_prod):
        agree(lambda x, op=op: op(x, (1,)), empty)
        agree(lambda x, op=op: op(x, (0, 1)), empty.astype(np.int32))


def test_logical_and_bitwise_reductions():
    for op in (lax.reduce_and, lax.reduce_or, lax.reduce_xor):
        agree(lambda x, op=op: (op(x, (0,)), op(x, (0, 1, 2))), K)
        agree(lambda x, op=op: (op(x, (0,)), op(x, (0, 1, 2))), K > 0)


def test_general_reduction():
    agree(lambda x: lax.reduce(x, jnp.float32(0), lambda a, b: a + b * b, (1,)), X)
    agree(
        lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2, 2), (1, 1, 1), "VALID"), X
    )


@pytest.mark.parametrize(
    ("reverse", "dtype"),
    [(False, jnp.float32), (True, jnp.bfloat16), (True, jnp.int32)],
)
@pytest.mark.parametrize("op", ["cumsum", "cumprod", "cummax", "cummin"])
def test_scan(op, reverse, dtype):
    x = (K if dtype == jnp.int32 else X).astype(dtype)
    agree(lambda x: getattr(lax, op)(x, axis=1, reverse=reverse), x)


def test_scan_of_logarithms():
    agree(lambda x: lax.cumlogsumexp(x, axis=2), X, loose=8)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16, jnp.int8, jnp.bool_])
def test_argument_of_the_extreme(dtype):
    x = (with_nans(X) if dtype != jnp.int8 else K).astype(dtype)
    agree(lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 2)), x)
    agree(lambda x: (jnp.argmax(x), lax.argmin(x[0, 0], 0, jnp.uint8)), x)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16, jnp.int8, jnp.uint32])
def test_sort(dtype):
    x = with_nans(X).astype(np.float32) if dtype in (jnp.float32, jnp.bfloat16) else K
    x = x.astype(dtype)
    x[0, 0, :2] = np.array([0.0, -0.0]).astype(dtype)
    agree(lambda x: lax.sort(x, dimension=1), x)
    agree(lambda x: lax.sort((x, x * 2, jnp.cumsum(x, 1)), dimension=1, num_keys=1), x)


def test_sort_by_two_keys():
    a, b = (RNG.integers(0, 3, (4, 9)).astype(np.int32) for _ in range(2))
    order = np.arange(36, dtype=np.int32).reshape(4, 9)
    agree(lambda *x: lax.sort(x, dimension=1, num_keys=2), a, b, order)


def test_greatest_elements():
    agree(lambda x: lax.top_k(x, 2), with_nans(X))


DOTS = {
    "matrices": ((3, 4), (4, 5), ((1,), (0,)), ((), ())),
    "transposed": ((4, 3), (5, 4), ((0,), (1,)), ((), ())),
    "vectors": ((4,), (4,), ((0,), (0,)), ((), ())),
    "matrix_vector": ((3, 4), (4,), ((1,), (0,)), ((), ())),
    "stacked_rows": ((2, 3, 4), (4,), ((2,), (0,)), ((), ())),
    "outer": ((3,), (4,), ((), ()), ((), ())),
    "batch": ((2, 3, 4), (2, 4, 5), ((2,), (1,)), ((0,), (0,))),
    "batch_last": ((3, 4, 2), (4, 5, 2), ((1,), (0,)), ((2,), (2,))),
    "two_batches": ((2, 3, 4, 5), (3, 2, 5, 6), ((3,), (2,)), ((0, 1), (1, 0))),
    "two_contractions": ((2, 3, 4), (4, 5, 3), ((1, 2), (2, 0)), ((), ())),
    "nothing_to_contract": ((3, 0), (0, 5), ((1,), (0,)), ((), ())),
    "batch_of_vectors": ((2, 4), (2, 4), ((1,), (1,)), ((0,), (0,))),
}


def dot(case, dtype, out):
    left, right, contract, batch = DOTS[case]
    a, b = (RNG.integers(-4, 5, shape).astype(dtype) for shape in (left, right))

    def fn(a, b):
        numbers = (contract, batch)
        return lax.dot_general(a, b, numbers, preferred_element_type=out)

    agree(fn, a, b, loose=8)


@pytest.mark.parametrize("case", DOTS)
def test_dot_shapes(case):
    dot(case, jnp.float32, None)


@pytest.mark.parametrize("case", ["two_batches", "vectors", "nothing_to_contract"])
def test_integer_dot_shapes(case):
    dot(case, jnp.int32, None)


@pytest.mark.parametrize(
    ("dtype", "out"),
    [
        (jnp.bfloat16, jnp.float32),
        (jnp.bfloat16, None),
        (jnp.float16, jnp.float32),
        (jnp.float16, None),
        (jnp.float8_e4m3fn, jnp.float32),
        (jnp.int8, jnp.int32),
        (jnp.int8, None),
        (jnp.uint8, jnp.int32),
        (jnp.int16, jnp.int32),
        (jnp.int32, jnp.float32),
        (jnp.complex64, None),
    ],
)
def test_dot_types(dtype, out):
    dot("batch_of_vectors" if dtype == jnp.bfloat16 else "matrices", dtype, out)


def test_integer_dot_wraps():
    a = np.full((2, 300), -128, np.int8)
    numbers = (((1,), (1,)), ((), ()))
    agree(lambda a: lax.dot_general(a, a, numbers), a)
    big = np.full((2, 3), 2**30 + 1, np.int32)
    agree(lambda a: lax.dot_general(a, a, numbers), big)
    wide = lambda a: lax.dot_general(a, a, numbers, preferred_element_type=jnp.int32)
    agree(wide, a)
    agree(wide, np.full((2, 5000), 30000, np.int16))


def test_convolution():
    x, w = X[None], RNG.standard_normal((2, 3, 2, 2)).astype(np.float32)
    agree(lambda x, w: lax.conv(x, w, (1, 1), "SAME"), x, w)


def test_ragged_dot():
    a, b = X[0], RNG.standard_normal((2, 5, 3)).astype(np.float32)
    agree(lambda a, b, n: lax.ragged_dot(a, b, n), a, b, np.int32([1, 3]))


def test_random_numbers_from_typed_keys():
    def fn(seed):
        key = jax.random.fold_in(jax.random.key(seed), 7)
        a, b = jax.random.split(key)
        return jax.random.bits(a, (3,)), jax.random.bits(b, (2, 2), jnp.uint8), a

    assert agree(fn, jnp.int32(5)) >= 4


def test_random_numbers_from_raw_keys():
    key = jax.random.key_data(jax.random.key(1))
    agree(lambda k: jax.random.bits(jax.random.wrap_key_data(k), (5,), jnp.uint8), key)
    agree(lambda k: jax.random.key_data(jax.random.wrap_key_data(k)), key)


def test_shaping_of_typed_keys():
    keys = jax.random.split(jax.random.key(1), 6)
    agree(lambda k: (k.reshape(2, 3)[1], k[2], jnp.broadcast_to(k, (2, 6))), keys)


def test_threefry_rounds():
    words = np.arange(6, dtype=np.uint32) * np.uint32(0x9E3779B9)
    *_, equation = (
        e
        for e, _, _ in equations(
            lambda k, x: jax.extend.random.threefry_2x32(k, x), words[:2], words
        )
        if e.primitive.name == "threefry2x32"
    )
    operands = [words, words + np.uint32(1), words, words[::-1].copy()]
    got = call(pure_of(equation), operands)
    want = equation.primitive.bind(*operands, **equation.params)
    for g, w in zip(got, want, strict=True):
        assert_same(g, np.asarray(w))


SQUARE = np.eye(4, dtype=np.float32) * 5 + RNG.random((4, 4), np.float32)


@pytest.mark.parametrize(
    "fn",
    [
        lambda a: jnp.linalg.cholesky(a @ a.T),
        lambda a: jnp.linalg.solve(a, a[0]),
        lambda a: jnp.linalg.qr(a)[1],
        lambda a: jnp.linalg.svd(a, compute_uv=False),
        lambda a: jnp.linalg.eigvalsh(a + a.T),
        lambda a: lax.linalg.triangular_solve(
            jnp.tril(a), a, left_side=True, lower=True
        ),
    ],
    ids=["cholesky", "solve", "qr", "svd", "eigh", "triangular"],
)
def test_linear_algebra(fn):
    agree(fn, SQUARE)
