"""Arguments of a `plgpu.kernel` have the names that the user gave them."""

import functools

import jax
import jax.numpy as jnp
import pytest
from jax.experimental.pallas import mosaic_gpu as plgpu

import pallas_debug as pldb


def plain(x_gmem, o_gmem, tile):
    tile[...] = x_gmem[...]
    o_gmem[...] = tile[...]


def bound(factor, x_gmem, o_gmem, tile, *, shift=0.0):
    tile[...] = x_gmem[...]
    o_gmem[...] = tile[...] * factor + shift


def unwrapped(kernel):
    def wrapper(*refs):
        kernel(*refs)

    return wrapper


class Kernel:
    def method(self, x_gmem, o_gmem, tile):
        plain(x_gmem, o_gmem, tile)


OWN = ["x_gmem", "o_gmem", "tile"]


@pytest.mark.parametrize(
    ("kernel", "names"),
    [
        (plain, OWN),
        (functools.partial(bound, 2.0, shift=1.0), OWN),
        (Kernel().method, OWN),
        (unwrapped(plain), ["refs[0]", "refs[1]", "refs[0]"]),
    ],
    ids=["plain", "bound", "method", "unwrapped"],
)
def test_arguments_have_the_users_names(kernel, names):
    x = jnp.ones((8, 128))
    trace = pldb.trace(
        plgpu.kernel(
            kernel,
            out_type=jax.ShapeDtypeStruct(x.shape, x.dtype),
            scratch_types=[plgpu.SMEM(x.shape, x.dtype)],
        ),
        x,
    )
    assert [buffer.name for buffer in trace.buffers] == names
