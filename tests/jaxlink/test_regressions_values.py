"""Values that were wrong, or missing, once: array indices, branches by platform."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jaxlink.differential import agree, call, floats, out, same, traced

A = np.array([2, 0, 1, 2], np.int32)
B = np.array([0, 1, 1, 0], np.int32)
INDEXED = {
    "first": (lambda r, a, b: r[a, 1:3], (3, 5)),
    "last": (lambda r, a, b: r[1:3, a], (4, 3)),
    "last of three": (lambda r, a, b: r[::2, 1:3, a], (4, 5, 3)),
    "middle": (lambda r, a, b: r[::2, a, 1:3], (4, 3, 5)),
    "two adjacent": (lambda r, a, b: r[1:, a, b], (3, 3, 2)),
    "two apart": (lambda r, a, b: r[a, 1:3, b], (3, 5, 2)),
    "apart behind a slice": (lambda r, a, b: r[::2, a, 1:3, b], (4, 3, 5, 2)),
    "beside a number": (lambda r, a, b: r[1:3, 1, a], (4, 2, 3)),
    "away from a number": (lambda r, a, b: r[1, :, a], (2, 4, 3)),
    "broadcast": (lambda r, a, b: r[1:, a[:, None], b[None]], (3, 3, 2)),
}


@pytest.mark.parametrize("case", INDEXED)
def test_arrays_index_as_in_numpy(case):
    index, shape = INDEXED[case]
    x = floats(*shape)
    expected = index(np.asarray(x), A, B)

    def body(x_ref, a_ref, b_ref, o_ref):
        o_ref[...] = index(x_ref, a_ref[...], b_ref[...])

    build = call(body, out_shape=out(*expected.shape))
    trace = agree(build, x, A, B)
    same(trace.outputs, expected)


def test_arrays_behind_a_slice_are_stored_as_in_numpy():
    def body(x_ref, a_ref, o_ref):
        o_ref[...] = jnp.zeros_like(o_ref)
        o_ref[1:3, a_ref[...]] = x_ref[...]

    a = np.array([4, 0, 3], np.int32)
    x = floats(2, 3) + 1
    expected = np.zeros((4, 5), np.float32)
    expected[1:3, a] = x
    same(traced(call(body, out_shape=out(4, 5))(False), x, a).outputs, expected)


def by_platform(x_ref, o_ref):
    o_ref[...] = jax.lax.platform_dependent(
        x_ref[...],
        cpu=lambda x: x + 1,
        mosaic=lambda x: x + 2,
        cuda=lambda x: x + 3,
        default=lambda x: x + 4,
    )


@pytest.mark.parametrize(
    ("params", "added"), [(None, 1), (pltpu.CompilerParams(), 2)], ids=["cpu", "tpu"]
)
def test_a_branch_is_chosen_by_the_kernels_platform(params, added):
    x = floats(8, 128)
    kernel = pl.pallas_call(by_platform, out_shape=out(8, 128), compiler_params=params)
    same(traced(kernel, x).outputs, x + added)


def test_no_branch_for_the_platform():
    def body(x_ref, o_ref):
        o_ref[...] = jax.lax.platform_dependent(x_ref[...], cuda=lambda x: x + 3)

    kernel = pl.pallas_call(body, out_shape=out(8))
    trace = traced(kernel, floats(8), outcome="unsupported")
    assert "platform_index" in trace.launches[0].outcome.message


def test_a_diagonal():
    def body(x_ref, o_ref):
        o_ref[...] = jnp.diagonal(x_ref[...])

    agree(call(body, out_shape=out(16)), floats(16, 16))
