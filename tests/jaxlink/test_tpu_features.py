"""What TPU kernels do besides copying, against JAX's TPU interpreter or plain jnp."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jaxlink import differential
from jaxlink.differential import call, cores, floats, out, same, traced

TPU = pltpu.CompilerParams()
HBM = pl.BlockSpec(memory_space=pl.ANY)

agree = functools.partial(differential.agree, interpret=pltpu.InterpretParams())


def test_windows_of_a_tpu_kernel_agree():
    def body(x_ref, s_ref, o_ref):
        o_ref[...] = x_ref[...] * s_ref[0]

    build = call(
        body,
        grid=(3, 2),
        in_specs=[
            pl.BlockSpec((8, 128), lambda i, j: (i, j)),
            pl.BlockSpec(memory_space=pltpu.SMEM),
        ],
        out_specs=pl.BlockSpec((8, 128), lambda i, j: (i, j)),
        out_shape=out(20, 256),
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "arbitrary")
        ),
    )
    trace = agree(build, floats(20, 256), floats(1) + 3.0)
    assert trace.launches[0].kernel.grid.semantics == ("parallel", "arbitrary")


@pytest.mark.parametrize("space", [pltpu.SMEM, pltpu.VMEM])
def test_array_of_rank_0_is_an_input(space):
    def body(n_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...] * n_ref[...]

    whole = pl.BlockSpec(memory_space=space)
    build = call(body, in_specs=[whole, pl.BlockSpec()], out_shape=out(8, 128))
    agree(build, jnp.float32(3.0), floats(8, 128))


def test_an_output_block_that_is_come_back_to_is_unset():
    def body(o_ref):
        @pl.when(pl.program_id(0) < 2)
        def _():
            o_ref[...] = jnp.ones_like(o_ref)

    kernel = pl.pallas_call(
        body,
        grid=(3,),
        out_specs=pl.BlockSpec((8, 128), lambda i: (i % 2, 0)),
        out_shape=out(16, 128),
        compiler_params=TPU,
    )
    outputs = np.asarray(traced(kernel).outputs)
    assert np.isnan(outputs[:8]).all()
    assert (outputs[8:] == 1).all()


def test_an_aliased_output_window_starts_unset():
    def body(x_ref, o_ref):
        del x_ref
        o_ref[0:4] = jnp.ones((4, 128), jnp.float32)

    kernel = pl.pallas_call(
        body,
        out_shape=out(8, 128),
        input_output_aliases={0: 0},
        compiler_params=TPU,
    )
    outputs = np.asarray(traced(kernel, floats(8, 128)).outputs)
    assert (outputs[:4] == 1).all()
    assert np.isnan(outputs[4:]).all()


def test_buffered_windows_agree():
    spec = pl.BlockSpec((8, 128), lambda i: (i, 0), pipeline_mode=pl.Buffered(3))

    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...] + 1.0

    build = call(
        body,
        grid=(4,),
        in_specs=[spec],
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        out_shape=out(32, 128),
        compiler_params=TPU,
    )
    agree(build, floats(32, 128))


def test_bounded_slices_fetch_and_store_only_their_size():
    def body(starts_ref, x_ref, o_ref):
        del starts_ref
        o_ref[...] = x_ref[...] * 2.0

    def rows(i, s):
        return pl.ds(s[i], s[i + 1] - s[i]), 0

    spec = pl.BlockSpec((pl.BoundedSlice(8), 128), rows)
    grid_spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1, grid=(3,), in_specs=[spec], out_specs=spec
    )
    kernel = pl.pallas_call(body, grid_spec=grid_spec, out_shape=out(16, 128))
    starts = jnp.asarray([0, 8, 11, 16], jnp.int32)
    trace = traced(kernel, starts, floats(16, 128))
    same(trace.outputs, floats(16, 128) * 2)


def test_emit_pipeline_equals_jnp():
    """JAX's own interpreter asks the CPU for its TPU generation here."""

    def inner(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...] + y_ref[...]

    def body(x_ref, y_ref, o_ref):
        spec = pl.BlockSpec((8, 128), lambda i, j: (i, j))
        pltpu.emit_pipeline(
            inner, grid=(2, 3), in_specs=[spec, spec], out_specs=[spec]
        )(x_ref, y_ref, o_ref)

    build = call(body, in_specs=[HBM, HBM], out_specs=HBM, out_shape=out(16, 384))
    x = floats(16, 384)
    trace = traced(build(False), x, x)
    same(trace.outputs, x + x)
    assert sum(t.kind == "dma" for t in trace.threads) == 18


def test_emit_pipeline_with_an_accumulator_equals_jnp():
    def inner(x_ref, o_ref):
        @pl.when(pl.program_id(1) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += x_ref[...]

    def body(x_ref, o_ref):
        pltpu.emit_pipeline(
            inner,
            grid=(2, 3),
            in_specs=[pl.BlockSpec((8, 128), lambda i, j: (i, j))],
            out_specs=[pl.BlockSpec((8, 128), lambda i, j: (i, 0))],
        )(x_ref, o_ref)

    build = call(body, in_specs=[HBM], out_specs=HBM, out_shape=out(16, 128))
    x = floats(16, 384)
    same(traced(build(False), x).outputs, x.reshape(16, 3, 128).sum(1))


@pytest.mark.parametrize("count", [1, 2])
def test_a_kernel_on_a_mesh_of_cores_agrees(count):
    def body(x_ref, o_ref, vmem):
        core = jax.lax.axis_index("core")
        rows = pl.ds(core * 8, 8)
        pltpu.sync_copy(x_ref.at[rows], vmem)
        vmem[...] += core.astype(jnp.float32)
        pltpu.sync_copy(vmem, o_ref.at[rows])

    x = floats(8 * count, 128)
    kernel = pl.kernel(
        body,
        out_type=jax.ShapeDtypeStruct(x.shape, x.dtype),
        mesh=cores(count),
        scratch_types=[pltpu.VMEM((8, 128), jnp.float32)],
    )
    trace = traced(kernel, x)
    same(trace.outputs, x + np.repeat(np.arange(count, dtype=np.float32), 8)[:, None])
    assert sum(t.kind == "core" for t in trace.threads) == count


def test_random_bits_are_the_same_for_the_same_seed():
    def body(seed_ref, o_ref):
        pltpu.prng_seed(seed_ref[0], pl.program_id(0))
        o_ref[0] = pltpu.prng_random_bits((8, 128))
        o_ref[1] = pltpu.prng_random_bits((8, 128))

    kernel = pl.pallas_call(
        body,
        grid=(2,),
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM)],
        out_specs=pl.BlockSpec((2, 8, 128), lambda i: (i, 0, 0)),
        out_shape=out(4, 8, 128, dtype=np.int32),
    )
    seed = jnp.asarray([7], jnp.int32)
    first, second = (np.asarray(traced(kernel, seed).outputs) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert len({block.tobytes() for block in first}) == 4
    assert abs(np.mean(first < 0) - 0.5) < 0.05


def test_rolls_bitcasts_and_hints_agree():
    def body(x_ref, o_ref, w_ref):
        x = pltpu.roll(x_ref[...], 3, 1)
        x = pltpu.roll(x, 1, 0, stride=1, stride_axis=1)
        i = pl.multiple_of(pl.program_id(0) * 8, 8)
        o_ref[...] = x + i.astype(jnp.float32)
        w_ref[...] = pltpu.bitcast(x, jnp.int16)
        pl.delay(10)

    build = call(
        body,
        grid=(1,),
        out_shape=[out(8, 128), out(16, 128, dtype=np.int16)],
        compiler_params=TPU,
    )
    agree(build, floats(8, 128))


def test_masked_and_strided_access_agree():
    def body(x_ref, o_ref):
        rows = jax.lax.broadcasted_iota(jnp.int32, (8, 128), 0)
        o_ref[...] = jnp.zeros_like(o_ref)
        part = x_ref[pl.ds(0, 4, stride=2), :]
        o_ref[0:4] = part
        pltpu.store(o_ref, x_ref[...] * 2.0, mask=rows >= 6)

    build = call(body, out_shape=out(8, 128), compiler_params=TPU)
    x = floats(8, 128)
    expected = jnp.zeros_like(x).at[:4].set(x[::2]).at[6:].set(x[6:] * 2)
    same(traced(build(False), x).outputs, expected)


def test_a_reference_seen_as_another_dtype_and_shape():
    def body(x_ref, w_ref, s_ref):
        w_ref[...] = x_ref.bitcast(jnp.int32)[...]
        s_ref[...] = x_ref.reshape(16, 64)[...]

    kernel = pl.pallas_call(
        body,
        out_shape=[out(8, 128, dtype=np.int32), out(16, 64)],
        compiler_params=TPU,
    )
    x = floats(8, 128)
    same(traced(kernel, x).outputs, [x.view(jnp.int32), x.reshape(16, 64)])


def test_a_reference_seen_as_a_narrower_dtype_is_packed_by_rows():
    def body(x_ref, o_ref):
        o_ref[...] = x_ref.bitcast(jnp.int16)[...]

    build = call(body, out_shape=out(16, 128, dtype=np.int16), compiler_params=TPU)
    trace = traced(build(False), floats(8, 128))
    words = np.asarray(floats(8, 128)).view(np.int16).reshape(8, 128, 2)
    same(trace.outputs, words.transpose(0, 2, 1).reshape(16, 128))


def test_a_reference_seen_as_a_wider_dtype_is_packed_by_rows():
    def body(x_ref, o_ref, p_ref):
        words = x_ref.bitcast(jnp.uint32)
        o_ref[...] = words[...]
        p_ref.bitcast(jnp.uint32)[...] = words[...]
        p_ref.bitcast(jnp.uint32)[0:2] = words[2:4]

    x = (floats(16, 128) / 8).astype(jnp.bfloat16)
    build = call(
        body,
        out_shape=[out(8, 128, dtype=np.uint32), out(16, 128, dtype=jnp.bfloat16)],
        compiler_params=TPU,
    )
    trace = traced(build(False), x)
    pairs = np.asarray(x).view(np.uint16).astype(np.uint32).reshape(8, 2, 128)
    expected = pairs[:, 0] | pairs[:, 1] << 16
    same(trace.outputs, [expected, x.at[0:4].set(x[4:8])])
