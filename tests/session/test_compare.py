"""`compare`: the first wrong element, and the block, thread and line that wrote it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu

import pallas_debug as pldb
from pallas_debug import errors


def like(*shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


def blocked(wrong_block):
    """Doubles its input, but for one element of one block."""

    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2.0  # the right line

        @pl.when(pl.program_id(0) == wrong_block)
        def _():
            o_ref[3, 5] = x_ref[3, 5] * 3.0  # the wrong line

    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(
        kernel, grid=(4,), in_specs=[spec], out_specs=spec, out_shape=like(32, 128)
    )


X = jnp.arange(32 * 128, dtype=jnp.float32).reshape(32, 128)


@pytest.mark.parametrize("chip", [None, "v5e"])
def test_wrong_element_leads_to_its_block_thread_and_line(chip):
    options = pldb.Options(chip=chip)
    found = pldb.compare(blocked(2), lambda x: x * 2, X, options=options)
    assert not found
    (one,) = found.differences
    assert (one.index, one.block, one.buffer) == ((19, 5), (2,), "o_ref")
    assert (float(one.got), float(one.expected)) == (7311.0, 4874.0)
    assert (one.wrong, one.size, dict(one.blocks)) == (1, 4096, {(2,): 1})
    assert "the wrong line" in one.loc.text
    text = str(found)
    assert "`o_ref`[19, 5] is 7311.0, expected 4874.0" in text
    assert "written by core 0 of block (2,)" in text


def test_equal_outputs_are_true_under_jit_too():
    found = pldb.compare(jax.jit(blocked(-1)), X * 2, X)
    assert found
    assert (str(found), found.differences) == (
        "every output is as the reference says",
        (),
    )
    assert len(found.trace) > 0


def test_what_agrees_says_how_far_it_is_away():
    found = pldb.compare(blocked(-1), X * 2 + 1e-3, X, tolerance=1e-2)
    assert found
    assert found.largest == pytest.approx(1e-3, rel=0.3)
    assert found.largest < found.allowed
    assert "at most 0.00" in str(found)
    assert "allowed" in str(found)


def test_every_wrong_block_is_counted():
    def halves(x):
        return x.at[8:24].set(0.0) * 2

    (one,) = pldb.compare(blocked(-1), halves, X).differences
    assert dict(one.blocks) == {(1,): 1024, (2,): 1024}
    assert "wrong elements come from 2 blocks" in str(one)


def test_several_outputs_and_kernels_of_a_program():
    def program(x):
        y = blocked(1)(x)
        return {"a": blocked(-1)(y), "b": y, "c": x + 1.0}

    def reference(x):
        return {"a": x * 4, "b": x * 2, "c": x}

    a, b, c = pldb.compare(program, reference, X).differences
    assert [one.output for one in (a, b, c)] == ["['a']", "['b']", "['c']"]
    assert "the right line" in a.loc.text  # it doubles what was wrong before
    assert "the wrong line" in b.loc.text
    assert (c.buffer, c.event, c.loc) == ("", -1, None)


def test_element_that_nobody_wrote():
    def kernel(x_ref, o_ref):
        o_ref[:4] = x_ref[:4]

    call = pl.pallas_call(kernel, out_shape=like(8))
    (one,) = pldb.compare(call, lambda x: x, jnp.arange(8.0)).differences
    assert (one.index, one.event, one.wrong) == ((4,), -1, 4)
    assert "nobody wrote it" in str(one)


def test_copy_of_a_gpu_kernel_is_named_with_its_thread():
    def body(x, o, smem, barrier):
        plgpu.copy_gmem_to_smem(x, smem, barrier)
        plgpu.barrier_wait(barrier)
        plgpu.copy_smem_to_gmem(smem, o)  # the copy
        plgpu.wait_smem_to_gmem(0)

    scratch = [plgpu.SMEM((128,), jnp.float32), plgpu.Barrier()]
    call = plgpu.kernel(body, out_type=like(128), scratch_types=scratch)
    x = jnp.arange(128.0)
    (one,) = pldb.compare(call, x + 1, x).differences
    assert one.thread.startswith("tma")
    assert "the copy" in one.loc.text


def test_tolerance_follows_the_coarser_dtype_or_is_given():
    call = pl.pallas_call(
        lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...] * 2),
        out_shape=like(4, dtype=jnp.bfloat16),
    )
    x = jnp.asarray([1.0, 2.0, 3.0, 4.0], jnp.bfloat16)
    exact = np.asarray(x, np.float64) * 2
    assert pldb.compare(call, exact * 1.01, x)
    assert not pldb.compare(call, exact * 1.05, x)
    assert not pldb.compare(call, exact * 1.01, x, tolerance=1e-3)
    assert pldb.compare(call, exact * 1.05, x, tolerance=0.1)


def test_nan_and_infinity_equal_themselves_only():
    call = pl.pallas_call(
        lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...]), out_shape=like(3)
    )
    x = jnp.asarray([jnp.nan, jnp.inf, 1.0])
    assert pldb.compare(call, x, x)
    (one,) = pldb.compare(call, jnp.asarray([jnp.nan, -jnp.inf, 1.0]), x).differences
    assert (one.index, one.largest) == ((1,), np.inf)
    (one,) = pldb.compare(call, jnp.asarray([0.0, jnp.inf, 1.0]), x).differences
    assert one.index == (0,)


def test_integers_are_compared_exactly():
    call = pl.pallas_call(
        lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...]),
        out_shape=like(3, dtype=jnp.int32),
    )
    x = jnp.asarray([1, 2, 1 << 30], jnp.int32)
    assert pldb.compare(call, x, x)
    assert not pldb.compare(call, x + 1, x)


def test_kernel_that_does_not_end_is_not_equal():
    def body(x, o, barrier):
        plgpu.barrier_wait(barrier)
        o[...] = x[...]

    call = plgpu.kernel(body, out_type=like(128), scratch_types=[plgpu.Barrier()])
    found = pldb.compare(call, lambda x: x, jnp.arange(128.0))
    assert not found
    assert str(found).startswith("the kernel did not end: deadlock")


def test_wrong_arguments_are_refused():
    with pytest.raises(errors.BadOption, match="reference"):
        pldb.compare(blocked(0), lambda x: x[:4], X)
    with pytest.raises(errors.BadOption, match="as many as the kernel returns: 1"):
        pldb.compare(blocked(0), lambda x: (x, x), X)
    with pytest.raises(errors.BadOption, match="tolerance"):
        pldb.compare(blocked(0), X, X, tolerance=-1)
