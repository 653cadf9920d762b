"""Primitives that move elements: same elements, same order, same types."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental.pallas import tpu as pltpu
from jaxlink.test_evaluate import agree, assert_same, call, name_of, pure_of

X = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
ONE = jnp.float32(7)

CASES = {
    "reshape": (lambda x: x.reshape(4, 6), X),
    "reshape_scalar_to_array": (lambda x: x.reshape(1, 1), ONE),
    "reshape_array_to_scalar": (lambda x: x[:1, :1, :1].reshape(()), X),
    "squeeze": (lambda x: lax.squeeze(x[:, :1], (1,)), X),
    "squeeze_to_scalar": (lambda x: lax.squeeze(x[:1, :1, 3:], (0, 1, 2)), X),
    "expand_dims": (lambda x: lax.expand_dims(x, (0, 2)), X),
    "expand_dims_scalar": (lambda x: lax.expand_dims(x, (0,)), ONE),
    "broadcast_scalar": (lambda x: jnp.broadcast_to(x, (2, 3)), ONE),
    "broadcast_row": (lambda x: jnp.broadcast_to(x, (5, 2, 3, 4)), X),
    "broadcast_column": (lambda x: lax.broadcast_in_dim(x[0, 0], (4, 3), (0,)), X),
    "broadcast_stretch": (lambda x: jnp.broadcast_to(x[:, :1], X.shape), X),
    "broadcast_strided": (
        lambda x: lax.broadcast_in_dim(x.T, (4, 3, 5, 2), (0, 1, 3)),
        X,
    ),
    "transpose": (lambda x: jnp.transpose(x, (2, 0, 1)), X),
    "concatenate": (lambda x: jnp.concatenate([x, x[:, :1]], 1), X),
    "stack": (lambda x: jnp.stack([x, x], 1), X),
    "stack_scalars": (lambda x: jnp.stack([x, x]), ONE),
    "slice": (lambda x: lax.slice(x, (0, 1, 0), (2, 3, 4), (1, 1, 3)), X),
    "split": (lambda x: jnp.split(x, [1, 1], 1), X),
    "split_in_one": (lambda x: jnp.split(x, 1), X),
    "unstack": (lambda x: jnp.unstack(x, axis=1), X),
    "unstack_scalars": (lambda x: list(x[0, 0]), X),
    "rev": (lambda x: lax.rev(x, (0, 2)), X),
    "tile": (lambda x: jnp.tile(x, (2, 1, 3)), X),
    "repeat": (lambda x: jnp.repeat(x, 3, 1), X),
    "iota": (lambda x: x + lax.broadcasted_iota(jnp.float32, X.shape, 1), X),
    "iota_bfloat16": (
        lambda x: x + jnp.arange(300, dtype=jnp.bfloat16),
        jnp.bfloat16(0),
    ),
    "roll": (lambda x: jnp.roll(x, 1, 2), X),
}


@pytest.mark.parametrize("case", CASES)
def test_shaping(case):
    fn, x = CASES[case]
    assert agree(fn, x)


@pytest.mark.parametrize("dtype", [jnp.int4, jnp.float8_e4m3fn, jnp.bool_])
def test_shaping_of_short_types(dtype):
    x = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    for fn in (
        lambda x: jnp.broadcast_to(x, (2, 2, 3)),
        lambda x: jnp.concatenate([x, x], 1).T.reshape(3, 4),
        lambda x: lax.pad(x, x[0, 0], [(1, 1, 0), (0, 1, 1)]),
        lambda x: lax.rev(x[:, 1:], (1,)),
    ):
        agree(fn, x)


@pytest.mark.parametrize(
    "config",
    [
        [(1, 2, 0), (0, 0, 0)],
        [(0, 0, 2), (1, 0, 1)],
        [(-1, 0, 0), (0, -2, 0)],
        [(-2, 1, 1), (3, -1, 2)],
        [(-3, 0, 0), (0, 0, 0)],
        [(-3, -3, 2), (-1, 5, 1)],
    ],
)
def test_pad(config):
    x = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    agree(lambda x: lax.pad(x, jnp.float32(-1), config), x)


def test_empty_arrays():
    x = np.zeros((0, 3), np.float32)
    agree(lambda x: (x.reshape(3, 0).T, jnp.concatenate([x, x]), lax.rev(x, (0,))), x)
    agree(
        lambda x: (lax.pad(x, jnp.float32(1), [(2, 0, 0), (0, 0, 1)]), jnp.tile(x, 2)),
        x,
    )
    agree(lambda x: (jnp.broadcast_to(x[:, None], (0, 2, 3)), jnp.split(x, 3, 1)), x)


def test_views_of_operands_are_never_written():
    x = np.ones((2, 2), np.float32)
    jaxpr = jax.make_jaxpr(lambda x: lax.dynamic_update_slice(x, x[:1] * 2, (1, 0)))(x)
    *_, update = jaxpr.eqns
    assert name_of(update) == "dynamic_update_slice"
    operands = [x, x[:1] * 2, np.int32(1), np.int32(0)]
    call(pure_of(update), operands)
    assert (x == 1).all()


def test_constants_are_read_only():
    equation = jax.make_jaxpr(lambda: lax.iota(jnp.int32, 4))().eqns[0]
    (first,) = call(pure_of(equation), [])
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1


@pytest.mark.parametrize(("shift", "stride"), [(3, None), (130, None), (3, 2)])
def test_roll_of_lanes(shift, stride):
    x = np.arange(8 * 128, dtype=np.int32).reshape(8, 128)

    def fn(x, shift):
        stride_axis = None if stride is None else 0
        return pltpu.roll(x, shift, 1, stride=stride, stride_axis=stride_axis)

    equation = jax.make_jaxpr(fn)(x, jnp.int32(shift)).eqns[-1]
    (got,) = call(pure_of(equation), [x, np.int32(shift)])
    assert_same(got, np.asarray(jax.jit(fn)(x, jnp.int32(shift))))


def test_packed_elements_unpack_to_what_they_were():
    low, high = np.float32([[1.5, -2, np.inf]]), np.float32([[-0.0, 3, 0.1]])

    def fn(a, b):
        packed = pltpu.pack_elementwise([a, b], packed_dtype=jnp.bfloat16)
        return [
            pltpu.unpack_elementwise(
                packed, index=i, packed_dtype=jnp.bfloat16, unpacked_dtype=jnp.float32
            )
            for i in (0, 1)
        ]

    pack, *unpacks = jax.make_jaxpr(fn)(low, high).eqns
    (packed,) = call(pure_of(pack), [low, high])
    for unpack, x in zip(unpacks, (low, high), strict=True):
        (got,) = call(pure_of(unpack), [packed])
        assert_same(got, x.astype(jnp.bfloat16).astype(np.float32))


def test_packed_integers_keep_low_bits_and_sign():
    words = [np.int32([[i, -i - 1, 200]]) for i in range(4)]
    pack = jax.make_jaxpr(lambda *x: pltpu.pack_elementwise(x, packed_dtype=jnp.int8))(
        *words
    ).eqns[0]
    (packed,) = call(pure_of(pack), words)
    assert packed.dtype == np.uint32
    for i, word in enumerate(words):
        unpack = jax.make_jaxpr(
            lambda x, i=i: pltpu.unpack_elementwise(
                x, index=i, packed_dtype=jnp.int8, unpacked_dtype=jnp.int32
            )
        )(packed).eqns[0]
        (got,) = call(pure_of(unpack), [packed])
        assert_same(got, word.astype(np.int8).astype(np.int32))
