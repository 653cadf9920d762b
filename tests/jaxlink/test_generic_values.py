"""Kinds of values and references, and which backend a kernel is taken to be for."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as mgpu
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas import triton as pltriton
from jaxlink.differential import agree, call, cores, floats, out, same, traced

DTYPES = [
    "bool", "int8", "uint8", "int16", "int32", "uint32", "float16", "float32",
    "bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4",
]  # fmt: skip


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_passes_through_windows_scratch_and_loops(name):
    dtype = jnp.dtype(name)
    values = np.arange(16).reshape(4, 4) % (2 if name == "bool" else 7)
    x = jnp.asarray(values).astype(dtype)

    def body(x_ref, o_ref, s_ref):
        s_ref[...] = x_ref[...]
        o_ref[...] = jax.lax.fori_loop(0, 2, lambda _, y: y, s_ref[...])

    spec = pl.BlockSpec((2, 4), lambda i: (i, 0))
    build = call(
        body,
        grid=(2,),
        in_specs=[spec],
        out_specs=spec,
        out_shape=out(4, 4, dtype=dtype),
        scratch_shapes=[pl.MemoryRef(jax.core.ShapedArray((2, 4), dtype), pl.ANY)],
    )
    trace = traced(build(False), x)
    assert trace.outputs.dtype == dtype
    as_numbers = ml_dtypes.bfloat16 if name != "int32" else np.int32
    np.testing.assert_array_equal(
        np.asarray(trace.outputs.astype(as_numbers)), np.asarray(x.astype(as_numbers))
    )


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "int4"])
def test_narrow_arithmetic_agrees(name):
    def body(x_ref, y_ref, o_ref):
        wide = x_ref[...].astype(jnp.float32) * y_ref[...].astype(jnp.float32)
        o_ref[...] = jnp.where(x_ref[...] > y_ref[...], wide, -wide)

    x = jnp.asarray(np.arange(8) % 7 - 3).astype(name)
    build = call(body, out_shape=out(8))
    agree(build, x, x[::-1])


def test_an_unset_output_of_integers_is_known_to_be_unset():
    kernel = pl.pallas_call(lambda o_ref: None, out_shape=out(4, dtype=np.int32))
    trace = traced(kernel)
    assert (np.asarray(trace.outputs) == np.iinfo(np.int32).max).all()
    assert not trace.events.where(kind="write").size


def test_a_mutable_array_among_the_arguments_is_changed():
    def body(x_ref, total_ref):
        pltpu.sync_copy(x_ref, total_ref.at[pl.ds(0, 8)])

    def run(x):
        total = jax.new_ref(jnp.ones((16, 128), jnp.float32))
        pl.kernel(body, out_type=(), mesh=cores(1))(x, total)
        return total[...]

    x = floats(8, 128)
    same(traced(run, x).outputs, jnp.concatenate([x, jnp.ones_like(x)]))


def test_gather_scatter_and_integer_indices_agree():
    def body(x_ref, i_ref, o_ref, p_ref):
        o_ref[...] = x_ref[i_ref[...], :]
        p_ref[...] = x_ref[1, i_ref[...]] + x_ref[i_ref[0], i_ref[1]]

    build = call(body, out_shape=[out(3, 8), out(3)])
    agree(build, floats(4, 8), jnp.asarray([2, 0, 3], jnp.int32))


def test_transposed_and_nested_views_agree():
    def body(x_ref, o_ref):
        part = x_ref.at[pl.ds(1, 2)].at[:, pl.ds(2, 4)]
        o_ref.at[0:4][...] = part.T[...] if hasattr(part, "T") else part[...].T

    build = call(body, out_shape=out(4, 2))
    same(traced(build(False), floats(4, 8)).outputs, floats(4, 8)[1:3, 2:6].T)


def backend(**params):
    kernel = pl.pallas_call(
        params.pop("body", lambda x_ref, o_ref: None), out_shape=out(8), **params
    )
    return traced(kernel, floats(8)).launches[0].backend


def tpu_body(x_ref, o_ref):
    o_ref[...] = x_ref[...]
    pltpu.touch(o_ref)


def triton_body(x_ref, o_ref):
    pltriton.debug_barrier()


@pytest.mark.parametrize(
    ("expected", "params"),
    [
        ("generic", {}),
        ("generic", {"interpret": True}),
        ("tpu", {"interpret": pltpu.InterpretParams()}),
        ("tpu", {"compiler_params": pltpu.CompilerParams()}),
        ("triton", {"compiler_params": pltriton.CompilerParams()}),
        ("generic", {"compiler_params": mgpu.CompilerParams()}),
        ("tpu", {"in_specs": [pl.BlockSpec(memory_space=pltpu.VMEM)]}),
        ("generic", {"in_specs": [pl.BlockSpec(memory_space=pl.ANY)]}),
        ("tpu", {"body": tpu_body}),
        ("triton", {"body": triton_body}),
    ],
)
def test_the_backend_is_read_off_what_only_it_has(expected, params):
    assert backend(**params) == expected
