"""Capacity and rules per chip: each limit, just over it and just within."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import only
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu

import pallas_debug as pldb
from pallas_debug.checks import Severity, run_checks
from pallas_debug.ir.chips import chip
from pallas_debug.trace import dumps, loads

F32, F16, I8 = jnp.float32, jnp.float16, jnp.int8
TILED = (plgpu.TilingTransform((8, 64)), plgpu.SwizzleTransform(128))
KIB = 1024


def like(*shape, dtype=F32):
    return jax.ShapeDtypeStruct(shape, dtype)


def numbers(*shape, dtype=F32):
    return jnp.asarray(np.arange(np.prod(shape)).reshape(shape) % 97, dtype)


def judged(fn, *args, on=None, select="PD6"):
    return run_checks(pldb.trace(fn, *args, options=pldb.Options(chip=on)), select)


def copied(x, *scratch):
    """A kernel that copies one array and has this scratch memory beside it."""

    def body(x, o, *rest):
        o[...] = x[...]

    return plgpu.kernel(body, out_type=like(*x.shape), scratch_types=list(scratch))


def shared(size):
    x = numbers(128)
    return copied(x, plgpu.SMEM((size,), I8)), x


@pytest.mark.parametrize(
    ("on", "room"),
    [(None, 227 * KIB), ("h100", 227 * KIB), ("b200", 227 * KIB), ("a100", 163 * KIB)],
)
def test_shared_memory_at_its_peak(on, room):
    fn, x = shared(room + 1)
    finding = only(judged(fn, x, on=on), "PD601")
    assert finding.severity is Severity.ERROR
    assert finding.details["room_bytes"] == room
    assert finding.details["size_bytes"] == room + 1
    assert [nbytes for _, nbytes in finding.details["buffers"]] == [room + 1]
    assert finding.details["is_lower_bound"]
    assert finding.message.startswith(f"at least {room + 1:,} bytes")
    assert "the compiler's own scratch, unknown here, come on top" in finding.message
    assert "published" not in finding.message
    fn, x = shared(room)
    assert not judged(fn, x, on=on, select="PD601").findings


def test_peak_is_not_the_sum_of_what_lives_one_after_the_other():
    def body(x, o):
        for _ in range(2):
            pl.run_scoped(lambda s: None, plgpu.SMEM((150 * KIB,), I8))
        o[...] = x[...]

    def both(x, o):
        pl.run_scoped(
            lambda s, t: None, plgpu.SMEM((150 * KIB,), I8), plgpu.SMEM((90 * KIB,), I8)
        )
        o[...] = x[...]

    x = numbers(128)
    kernel = plgpu.kernel(body, out_type=like(128))
    assert not judged(kernel, x, select="PD601").findings
    together = judged(plgpu.kernel(both, out_type=like(128)), x)
    found = only(together, "PD601").details
    assert found["size_bytes"] == 240 * KIB
    assert [nbytes for _, nbytes in found["buffers"]] == [150 * KIB, 90 * KIB]


def test_tensor_memory_at_its_peak():
    x = numbers(128)
    half = plgpu.TMEM((128, 256), F32)
    fits = copied(x, half, half)
    assert not judged(fits, x, on="b200").findings
    over = copied(x, half, half, plgpu.TMEM((128, 32), F32))
    finding = only(judged(over, x, on="b200"), "PD601")
    assert finding.details["room_bytes"] == 512 * 512
    assert only(judged(fits, x, on="h100"), "PD601").details["room_bytes"] == 0


def doubled(rows, **params):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    spec = pl.BlockSpec((rows, 128), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        grid=(2,),
        in_specs=[spec],
        out_specs=spec,
        out_shape=like(2 * rows, 128),
        compiler_params=pltpu.CompilerParams(**params),
    )


def test_vector_memory_counts_windows_twice_for_a_warning():
    rows = 16 * KIB * KIB // (2 * 4 * 128)  # two windows fill the 16 MiB of a v4
    x = jnp.zeros((2 * rows, 128))
    finding = only(judged(doubled(rows), x, on="tpu-v4"), "PD601")
    assert finding.severity is Severity.WARNING
    assert finding.details["size_bytes"] == 2 * finding.details["room_bytes"]
    assert "default limit for one kernel" in finding.message
    assert "no published number" in finding.message
    assert not judged(doubled(rows), x, on="v5e").findings
    x = jnp.zeros((2 * rows + 16, 128))
    finding = only(judged(doubled(rows + 8), x, on="tpu-v4"), "PD601")
    assert finding.severity is Severity.ERROR


def test_window_of_a_whole_array_is_held_once():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    rows = 12 * KIB * KIB // (2 * 4 * 128)
    x = jnp.zeros((rows, 128))
    whole = pl.pallas_call(
        kernel, out_shape=like(rows, 128), compiler_params=pltpu.CompilerParams()
    )
    assert not judged(whole, x, on="tpu-v4").findings
    assert judged(doubled(rows), jnp.zeros((2 * rows, 128)), on="tpu-v4").warnings


def test_limit_of_the_kernel_itself_counts():
    x = jnp.zeros((128, 128))
    limited = doubled(64, vmem_limit_bytes=48 * KIB)
    finding = only(judged(limited, x, on="v5e"), "PD601")
    assert (finding.severity, finding.details["room_bytes"]) == ("error", 48 * KIB)
    assert not judged(doubled(64, vmem_limit_bytes=128 * KIB), x, on="v5e").findings


def meshed(axis, **mesh):
    """A kernel in which one thread, or one block of the cluster, copies."""

    def body(x, o):
        @pl.when(jax.lax.axis_index(axis) == 0)
        def _():
            o[...] = x[...]

    return plgpu.kernel(body, out_type=like(128), **mesh)


def test_more_threads_than_a_block_can_have():
    x = numbers(128)
    nine, eight = (meshed("wg", num_threads=n, thread_name="wg") for n in (9, 8))
    finding = only(judged(nine, x), "PD602")
    assert finding.severity is Severity.ERROR
    assert "9 warpgroups, 1,152 threads" in finding.message
    assert not judged(eight, x).findings


def test_cluster_larger_than_the_chip_allows():
    x = numbers(128)
    two, eight, sixteen = (
        meshed("c", cluster=(n,), cluster_names=("c",)) for n in (2, 8, 16)
    )
    assert "a cluster has 16 blocks" in only(judged(sixteen, x), "PD602").message
    assert not judged(eight, x).findings
    assert "no clusters" in only(judged(two, x, on="a100"), "PD602").hint


def test_registers_out_of_range():
    def body(n):
        def kernel(x, o):
            plgpu.set_max_registers(n, action="increase")
            o[...] = x[...]

        return plgpu.kernel(kernel, out_type=like(128))

    finding = only(judged(body(264), numbers(128)), "PD602")
    assert (
        finding.message == "set_max_registers(264) is no multiple of 8 from 24 to 256"
    )
    assert not judged(body(232), numbers(128)).findings


def window(shape, rows, columns, dtype=F16, transforms=()):
    def body(x, o, smem, barrier):
        part = x.at[pl.ds(0, rows), pl.ds(0, columns)]
        plgpu.copy_gmem_to_smem(part, smem, barrier)
        plgpu.barrier_wait(barrier)
        o[...] = smem[...]

    smem = plgpu.SMEM((rows, columns), dtype, transforms=transforms)
    scratch = [smem, plgpu.Barrier()]
    fn = plgpu.kernel(
        body, out_type=like(rows, columns, dtype=dtype), scratch_types=scratch
    )
    return fn, numbers(*shape, dtype=dtype)


@pytest.mark.parametrize(
    ("bad", "good", "words"),
    [
        (((64, 30), 8, 16), ((64, 32), 8, 16), "rows of 60 bytes"),
        (((64, 64), 8, 20), ((64, 64), 8, 24), "has rows of 40 bytes"),
        (((3, 3), 3, 3), ((4, 4), 4, 4), "moves 18 bytes"),
    ],
)
def test_copy_that_the_accelerator_cannot_make(bad, good, words):
    finding = only(judged(*window(*bad)), "PD603")
    assert (finding.severity, finding.buffer) == (Severity.ERROR, "x")
    assert words in finding.message
    assert not judged(*window(*good), select="PD603").findings


def test_wide_window_needs_tiles():
    wide = ((16, 1024), 8, 512)
    assert only(judged(*window(*wide)), "PD603").severity is Severity.WARNING
    assert not judged(*window(*wide, transforms=TILED), select="PD603").findings


def test_chip_without_an_accelerator_for_copies():
    fn, x = window((64, 64), 8, 64)
    assert (
        "asynchronous copies need 9.0"
        in only(judged(fn, x, on="a100"), "PD603").message
    )
    assert not judged(fn, x, on="h200", select="PD603").findings


def product(m, n, acc=F32, dtype=F16):
    def body(a, b, o, a_smem, b_smem, barrier):
        plgpu.copy_gmem_to_smem(a, a_smem, barrier)
        plgpu.copy_gmem_to_smem(b, b_smem, barrier)
        plgpu.barrier_wait(barrier)

        def scope(total):
            plgpu.wgmma(total, a_smem, b_smem)  # the product
            return total[...]

        o[...] = pl.run_scoped(scope, plgpu.ACC((m, n), acc))

    fn = plgpu.kernel(
        body,
        out_type=like(m, n, dtype=acc),
        scratch_types=[
            plgpu.SMEM((m, 64), dtype, transforms=TILED),
            plgpu.SMEM((64, n), dtype, transforms=TILED),
            plgpu.Barrier(num_arrivals=2),
        ],
    )
    return fn, numbers(m, 64, dtype=dtype), numbers(64, n, dtype=dtype)


def test_wgmma_exists_on_hopper_only():
    assert not judged(*product(64, 64), on="h100").findings
    assert not judged(*product(64, 64)).findings
    finding = only(judged(*product(64, 64), on="b200"), "PD604")
    assert finding.severity is Severity.ERROR
    assert "exists at compute capability 9.0 only; b200 has 10.0" in finding.message
    assert "the product" in finding.loc.text


def test_accumulator_of_a_dtype_that_wgmma_does_not_add_up_in():
    report = judged(*product(64, 64, acc=F16, dtype=jnp.bfloat16))
    assert (
        "adds up bfloat16 in float32, not in float16" in only(report, "PD604").message
    )
    assert not judged(*product(64, 64, acc=F16)).findings


def test_shape_that_wgmma_does_not_have():
    finding = only(judged(*product(64, 320)), "PD604")
    assert "multiple of 8 columns up to 256, the accumulator has 320" in finding.message
    assert not judged(*product(64, 256)).findings


def test_factors_that_share_their_bytes_are_judged_by_what_they_are():
    def body(a, b, o, shared, b_smem, tma):
        a_smem = shared[0]
        plgpu.copy_gmem_to_smem(a, a_smem, tma)
        plgpu.copy_gmem_to_smem(b, b_smem[0], tma)
        plgpu.barrier_wait(tma)
        o[...] = pl.run_scoped(
            lambda acc: plgpu.wgmma(acc, a_smem, b_smem[0]) or acc[...],
            plgpu.ACC((64, 64), F32),
        )

    tile = plgpu.SMEM((64, 64), F16, transforms=TILED)
    fn = plgpu.kernel(
        body,
        out_type=like(64, 64),
        scratch_types=[
            plgpu.RefUnion(tile, plgpu.SMEM((64,), F32)),
            plgpu.RefUnion(tile, plgpu.SMEM((64,), F32)),
            plgpu.Barrier(num_arrivals=2),
        ],
    )
    operands = numbers(64, 64, dtype=F16), numbers(64, 64, dtype=F16)
    assert not judged(fn, *operands, on="h100").findings


def on_tensor_cores(m):
    def body(a, b, o, a_smem, b_smem, tma, done, acc):
        plgpu.copy_gmem_to_smem(a, a_smem, tma)
        plgpu.copy_gmem_to_smem(b, b_smem, tma)
        plgpu.barrier_wait(tma)
        plgpu.tcgen05_mma(acc, a_smem, b_smem, done, accumulate=False)
        plgpu.barrier_wait(done)
        o[...] = plgpu.async_load_tmem(acc)

    fn = plgpu.kernel(
        body,
        out_type=like(m, 64),
        scratch_types=[
            plgpu.SMEM((m, 64), F16, transforms=TILED),
            plgpu.SMEM((64, 64), F16, transforms=TILED),
            plgpu.Barrier(num_arrivals=2),
            plgpu.Barrier(orders_tensor_core=True),
            plgpu.TMEM((m, 64), F32),
        ],
    )
    return fn, numbers(m, 64, dtype=F16), numbers(64, 64, dtype=F16)


def test_tcgen05_exists_on_blackwell_only():
    assert not judged(*on_tensor_cores(128), on="b200").findings
    finding = only(judged(*on_tensor_cores(128), on="h100"), "PD604")
    assert "exists at compute capability 10.0 only; h100 has 9.0" in finding.message


def lower(fn, *args):
    """What JAX does with it for a TPU, on a machine without one."""
    return jax.jit(fn).trace(*args).lower(lowering_platforms=("tpu",))


@pytest.mark.parametrize(
    ("shape", "bad", "good", "words"),
    [
        ((16, 400), (8, 100), (8, 128), "has 100 in the last dimension"),
        ((16, 128), (4, 128), (8, 128), "has 4 in the last but one dimension"),
        ((4096,), (1000,), (1024,), "no multiple of 1024"),
    ],
)
def test_block_that_does_not_match_the_tiles_of_a_tpu(shape, bad, good, words):
    def call(block):
        def kernel(x_ref, o_ref):
            o_ref[...] = x_ref[...]

        spec = pl.BlockSpec(block, lambda i: (0,) * (len(block) - 1) + (i,))
        grid = (pl.cdiv(shape[-1], block[-1]),)
        return pl.pallas_call(
            kernel, grid=grid, in_specs=[spec], out_specs=spec, out_shape=like(*shape)
        )

    report = judged(call(bad), jnp.zeros(shape), on="v5e", select="PD605")
    assert {one.buffer for one in report.findings} == {"x_ref", "o_ref"}
    assert words in report.findings[0].message
    assert not judged(call(good), jnp.zeros(shape), on="v5e", select="PD605").findings
    assert not judged(call(shape), jnp.zeros(shape), on="v5e", select="PD605").findings
    assert not judged(call(bad), jnp.zeros(shape), select="PD605").findings
    if len(shape) > 1:  # JAX asks a device for the tiles of one dimension
        lower(call(good), jnp.zeros(shape))
        with pytest.raises(ValueError, match="divisible by 8 and 128"):
            lower(call(bad), jnp.zeros(shape))


def column(transforms):
    def body(x, o, smem):
        smem[...] = x[...]
        o[...] = smem[:, 0]

    smem = plgpu.SMEM((128, 32), F32, transforms=transforms)
    fn = plgpu.kernel(body, out_type=like(128), scratch_types=[smem])
    return fn, numbers(128, 32)


def test_column_of_shared_memory_lies_in_one_bank():
    finding = only(judged(*column(())), "PD606")
    assert (finding.severity, finding.details["ways"]) == (Severity.INFO, 32)
    swizzled = (plgpu.TilingTransform((8, 32)), plgpu.SwizzleTransform(128))
    assert not judged(*column(swizzled), select="PD606").findings


def test_column_of_global_memory_wastes_its_sectors():
    def body(pick):
        def kernel(x, o):
            o[...] = pick(x)

        return plgpu.kernel(kernel, out_type=like(128))

    x = numbers(128, 128)
    finding = only(judged(body(lambda x: x[:, 0]), x), "PD607")
    assert (finding.severity, finding.details["share"]) == (Severity.INFO, 0.125)
    assert not judged(body(lambda x: x[0]), x).findings


def test_file_gets_the_same_verdict_and_an_unknown_chip_none():
    fn, x = shared(200 * KIB)
    trace = pldb.trace(fn, x, options=pldb.Options(chip="a100"))
    found = run_checks(trace, "PD6").findings
    assert run_checks(loads(dumps(trace)), "PD6").findings == found
    assert [one.code for one in found] == ["PD601"]


@pytest.mark.parametrize(
    "name", ["h100", "h200", "b200", "a100", "tpu-v4", "v5e", "v5p", "v6e", "TPU v7x"]
)
def test_every_chip_that_users_name_is_known(name):
    assert chip(name).smem_bytes > 0
