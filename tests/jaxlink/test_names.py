"""Arguments of a `plgpu.kernel` have the names that the user gave them."""

import functools

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu

import pallas_debug as pldb
from pallas_debug.jaxlink import versions


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


def unpacking(*refs):
    x, o, tile = refs
    tile[...] = x[...]
    o[...] = tile[...]


def permuting(*refs):
    in_another_order(refs[2], refs[0], refs[1])


def in_another_order(tile, x, o):
    unpacking(x, o, tile)


def one_then_star(x_gmem, *refs):
    unpacking(x_gmem, *refs)


def first(x, o, tile):
    tile[...] = x[...]


def second(a, b, c):
    b[...] = c[...]


def in_two_parts(*refs):
    """Which of the two names its parameters as the kernel does?"""
    first(*refs)
    second(*refs)


OWN = ["x_gmem", "o_gmem", "tile"]


@pytest.mark.parametrize(
    ("kernel", "names"),
    [
        (plain, OWN),
        (functools.partial(bound, 2.0, shift=1.0), OWN),
        (Kernel().method, OWN),
        (unwrapped(plain), OWN),
        (unpacking, ["refs[0]", "refs[1]", "refs[2]"]),
        (permuting, ["refs[0]", "refs[1]", "refs[2]"]),
        (one_then_star, ["x_gmem", "refs[0]", "refs[1]"]),
        (in_two_parts, ["refs[0]", "refs[1]", "refs[2]"]),
    ],
    ids=["plain", "bound", "method", "unwrapped", "unpacking", "other", "one", "parts"],
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


def names_of(trace, role):
    return [buffer.name for buffer in trace.buffers if buffer.role == role]


@pytest.mark.parametrize("kernel", [plain, unwrapped(plain)], ids=["plain", "star"])
def test_a_pallas_call_has_the_names_behind_a_wrapper(kernel):
    x = jnp.ones((8, 128))
    call = pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.VMEM(x.shape, x.dtype)],
    )
    trace = pldb.trace(call, x)
    found = [names_of(trace, role) for role in ("input", "output", "scratch")]
    assert found == [[name] for name in OWN]


def summed(ins, *refs):
    o, tile = refs
    tile[...] = ins["a"][...] + ins["b"][...]
    o[...] = tile[...]


def test_an_argument_that_is_a_tree_is_named_by_its_parts():
    x = jnp.ones((8, 128))
    call = pl.pallas_call(
        summed,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.VMEM(x.shape, x.dtype)],
    )
    trace = pldb.trace(call, {"a": x, "b": x})
    assert names_of(trace, "input") == ["ins['a']", "ins['b']"]
    assert names_of(trace, "output") == ["refs[0]"]
    assert names_of(trace, "scratch") == ["refs[1]"]


@pytest.mark.skipif(
    versions.JAX < (0, 11), reason="JAX 0.10.2 counts the leaves of a tree"
)
def test_an_argument_of_a_gpu_kernel_that_is_a_tree_is_named_by_its_parts():
    x = jnp.ones((8, 128))
    call = plgpu.kernel(
        summed,
        out_type=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_types=[plgpu.SMEM(x.shape, x.dtype)],
    )
    trace = pldb.trace(call, {"a": x, "b": x})
    names = [buffer.name for buffer in trace.buffers]
    assert names == ["ins['a']", "ins['b']", "refs[0]", "refs[1]"]


def test_scratch_in_a_tree_is_named_by_its_place_in_it():
    def kernel(x, o, tiles, *, extra):
        tiles["in"][...] = x[...]
        extra[...] = tiles["in"][...]
        o[...] = extra[...]

    smem = plgpu.SMEM((8, 128), jnp.float32)
    x = jnp.ones((8, 128))

    def nested(x_gmem, o_gmem, tiles, extra):
        kernel(x_gmem, o_gmem, tiles, extra=extra)

    trace = pldb.trace(
        plgpu.kernel(
            nested,
            out_type=jax.ShapeDtypeStruct(x.shape, x.dtype),
            scratch_types={"tiles": {"in": smem}, "extra": smem},
        ),
        x,
    )
    assert sorted(names_of(trace, "scratch")) == ["extra", "tiles['in']"]


def test_scoped_references_have_the_names_behind_a_wrapper():
    def kernel(x, o):
        def copied(tile, other):
            tile[...] = x[...]
            other[...] = tile[...]
            o[...] = other[...]

        smem = plgpu.SMEM((8, 128), jnp.float32)
        pl.run_scoped(lambda *refs: copied(*refs), smem, smem)

    x = jnp.ones((8, 128))
    out = jax.ShapeDtypeStruct(x.shape, x.dtype)
    trace = pldb.trace(plgpu.kernel(kernel, out_type=out), x)
    assert names_of(trace, "scratch") == ["tile", "other"]


def by_name(x_gmem, o_gmem, tiles, *, barrier):
    plgpu.barrier_arrive(barrier)
    plain(x_gmem, o_gmem, tiles["a"])


def decorated(kernel):
    def wrapper(*refs, **scratch):
        kernel(*refs, **scratch)

    return wrapper


def on_any(*args, **kwargs):
    plain(*args, kwargs["tile"])


@pytest.mark.parametrize(
    ("kernel", "scratch", "names"),
    [
        (
            decorated(by_name),
            {
                "tiles": {"a": plgpu.SMEM((8, 128), jnp.float32)},
                "barrier": plgpu.Barrier(),
            },
            ["x_gmem", "o_gmem", "barrier", "tiles['a']"],
        ),
        (
            on_any,
            {"tile": plgpu.SMEM((8, 128), jnp.float32)},
            ["x_gmem", "o_gmem", "tile"],
        ),
    ],
)
def test_scratch_that_is_passed_by_name_through_a_wrapper(kernel, scratch, names):
    x = jnp.ones((8, 128))
    trace = pldb.trace(plgpu.kernel(kernel, out_type=x, scratch_types=scratch), x)
    assert [row.name for row in trace.buffer_rows] == names
