"""Blackwell's tensor memory and matrix unit: order, scales, sparsity, unions."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jaxlink.gpu_kernels import (
    F16,
    F32,
    TILED,
    close,
    kinds,
    load,
    numbers,
    out,
    random,
    run,
)

TMA = plgpu.Barrier(num_arrivals=2)
MMA = plgpu.Barrier(orders_tensor_core=True)
M = 128
A5, B5 = random(0, M, 64), random(1, 64, 64)
PRODUCT5 = np.asarray(A5, np.float32) @ np.asarray(B5, np.float32)
OPERANDS5 = [
    plgpu.SMEM((M, 64), F16, transforms=TILED),
    plgpu.SMEM((64, 64), F16, transforms=TILED),
]


@pytest.mark.parametrize("by_commit", [False, True])
def test_tcgen05_overwrites_accumulates_and_arrives(by_commit):
    def body(a, b, o, a_smem, b_smem, tma, mma, acc):
        load(a, b, a_smem, b_smem, tma)
        plgpu.tcgen05_mma(acc, a_smem, b_smem, accumulate=False)
        barrier = None if by_commit else mma
        plgpu.tcgen05_mma(acc, a_smem, b_smem, barrier, accumulate=a[0, 0] < 100)
        if by_commit:
            plgpu.tcgen05_commit_arrive(mma)
        plgpu.barrier_wait(mma)
        o[...] = plgpu.async_load_tmem(acc)

    trace = run(
        body,
        out(M, 64),
        *OPERANDS5,
        TMA,
        MMA,
        plgpu.TMEM((M, 64), F32),
        args=[A5, B5],
    )
    close(trace.outputs, PRODUCT5 * 2)
    reads = trace.events.where(kind="read", buffer="acc")
    assert len(reads) == 2  # to accumulate, and at the end
    assert kinds(trace, "tcgen05").count("ARRIVE") == 1


def test_tensor_memory_is_stored_sliced_and_batched():
    def body(x, o, acc, batched):
        plgpu.async_store_tmem(acc, x[...])
        plgpu.async_store_tmem(batched.at[1], x[:, pl.ds(0, 32)])
        plgpu.commit_tmem()
        o[:, pl.ds(0, 32)] = plgpu.async_load_tmem(acc.at[:, pl.ds(32, 32)])
        o[:, pl.ds(32, 32)] = plgpu.async_load_tmem(batched.at[1])
        plgpu.wait_load_tmem()

    x = numbers(M, 64)
    scratch = [plgpu.TMEM((M, 64), F32), plgpu.TMEM((2, M, 32), F32)]
    trace = run(body, out(M, 64), *scratch, args=[x])
    wanted = np.concatenate([x[:, 32:], x[:, :32]], axis=1)
    np.testing.assert_array_equal(trace.outputs, wanted)
    fences = [trace[seq].column("aux") for seq in trace.events.where(kind="fence")]
    assert fences == [1, 2]


def test_union_of_tensor_memory_gives_disjoint_columns():
    def body(x, o, union):
        first, (second, third) = union[0], union[1]
        plgpu.async_store_tmem(second, x[...])
        plgpu.async_store_tmem(third, x[...] * 2)
        plgpu.commit_tmem()
        o[0] = plgpu.async_load_tmem(second)
        o[1] = plgpu.async_load_tmem(third)
        plgpu.async_store_tmem(first, jnp.zeros((M, 64), F32))
        plgpu.commit_tmem()
        o[2] = plgpu.async_load_tmem(third)

    columns = plgpu.TMEM((M, 64), F32)
    union = plgpu.RefUnion(columns, [columns, columns])
    x = numbers(M, 64)
    trace = run(body, out(3, M, 64), union, args=[x])
    np.testing.assert_array_equal(trace.outputs, np.stack([x, x * 2, x * 2]))


def test_union_of_shared_memory_reuses_bytes():
    def body(x, o, union):
        whole, (low, high) = union[0], union[1]
        low[...] = x[...]
        high[...] = x[...] + 1
        o[...] = low[...] + high[...]
        whole[...] = jnp.ones((64, 128), F32)
        o[...] = o[...] + low[...]

    half = plgpu.SMEM((64, 64), F32, transforms=(plgpu.TilingTransform((8, 32)),))
    union = plgpu.RefUnion(plgpu.SMEM((64, 128), F32), [half, half])
    x = numbers(64, 64)
    trace = run(body, out(64, 64), union, args=[x])
    np.testing.assert_array_equal(trace.outputs, 2 * x + 2)


def test_uninitialized_union_is_unset():
    def body(o, union):
        o[...] = union[0][...]

    union = plgpu.RefUnion(plgpu.SMEM((64,), F32), plgpu.SMEM((64,), F16))
    trace = run(body, out(64), union)
    assert np.isnan(trace.outputs).all()


def test_copy_from_shared_to_tensor_memory():
    def body(x, o, s, tma, mma, acc):
        plgpu.copy_gmem_to_smem(x, s, tma)
        plgpu.barrier_wait(tma)
        plgpu.async_copy_smem_to_tmem(s, acc)
        plgpu.tcgen05_commit_arrive(mma)
        plgpu.barrier_wait(mma)
        o[...] = plgpu.async_load_tmem(acc)

    x = numbers(M, 32)
    transforms = (plgpu.TilingTransform((8, 32)), plgpu.SwizzleTransform(128))
    scratch = [plgpu.SMEM((M, 32), F32, transforms=transforms)]
    scratch += [plgpu.Barrier(), MMA, plgpu.TMEM((M, 32), F32)]
    trace = run(body, out(M, 32), *scratch, args=[x])
    np.testing.assert_array_equal(trace.outputs, x)
    assert kinds(trace, "tcgen05") == [
        *("READ", "WRITE", "END"),
        *("JOIN", "ARRIVE", "PHASE", "END"),
    ]


def scales(values):
    """As the copy to tensor memory wants them in shared memory."""
    rows, columns = values.shape
    tiles = values.reshape(rows // 128, 4, 32, columns // 4, 4)
    return tiles.transpose(0, 3, 2, 1, 4).reshape(rows // 128, columns // 4, 32, 16)


def test_block_scales():
    f8, scale_type = jnp.float8_e5m2, jnp.float8_e8m0fnu
    k, n = 128, 128

    def body(a, b, sa, sb, o, a_smem, b_smem, sa_smem, sb_smem, tma, mma, *tmem):
        acc, sa_tmem, sb_tmem = tmem
        pairs = ((a, a_smem), (b, b_smem), (sa, sa_smem), (sb, sb_smem))
        for source, target in pairs:
            plgpu.copy_gmem_to_smem(source, target, tma)
        plgpu.barrier_wait(tma)
        plgpu.async_copy_scales_to_tmem(sa_smem, sa_tmem)
        plgpu.async_copy_scales_to_tmem(sb_smem, sb_tmem)
        plgpu.tcgen05_mma(
            acc,
            a_smem,
            b_smem.transpose((1, 0)),
            mma,
            a_scale=sa_tmem,
            b_scale=sb_tmem,
            accumulate=False,
        )
        plgpu.barrier_wait(mma)
        o[...] = plgpu.async_load_tmem(acc)

    transforms = (plgpu.TilingTransform((8, 128)), plgpu.SwizzleTransform(128))
    layout = plgpu.TMEMLayout.SCALES_LAYOUT
    scratch = [
        plgpu.SMEM((M, k), f8, transforms=transforms),
        plgpu.SMEM((n, k), f8, transforms=transforms),
        plgpu.SMEM((1, 1, 32, 16), scale_type),
        plgpu.SMEM((1, 1, 32, 16), scale_type),
        plgpu.Barrier(num_arrivals=4),
        MMA,
        plgpu.TMEM((M, n), F32),
        plgpu.TMEM((M, 4), scale_type, layout=layout),
        plgpu.TMEM((n, 4), scale_type, layout=layout),
    ]
    a, b = random(0, M, k, dtype=f8), random(1, n, k, dtype=f8)
    generator = np.random.default_rng(2)
    sa, sb = (
        jnp.asarray(2.0 ** generator.integers(-3, 4, (rows, 4)), scale_type)
        for rows in (M, n)
    )
    trace = run(body, out(M, n), *scratch, args=[a, b, scales(sa), scales(sb)])
    a, b, sa, sb = (np.asarray(x, np.float32) for x in (a, b, sa, sb))
    left, right = a * np.repeat(sa, 32, 1), b * np.repeat(sb, 32, 1)
    close(trace.outputs, left @ right.T, 1e-5)


def test_sparse_operand():
    k = 128

    def body(a, b, meta, o, a_smem, b_smem, meta_smem, tma, mma, acc, meta_tmem):
        for source, target in ((a, a_smem), (b, b_smem), (meta, meta_smem)):
            plgpu.copy_gmem_to_smem(source, target, tma)
        plgpu.barrier_wait(tma)
        plgpu.async_copy_sparse_metadata_to_tmem(meta_smem, meta_tmem)
        right = b_smem.transpose((1, 0))
        plgpu.tcgen05_mma(
            acc, a_smem, right, mma, a_sparse_metadata=meta_tmem, accumulate=False
        )
        plgpu.barrier_wait(mma)
        o[...] = plgpu.async_load_tmem(acc)

    layout = plgpu.TMEMLayout.SPARSE_METADATA_LAYOUT
    scratch = [
        plgpu.SMEM((M, k // 2), F16, transforms=TILED),
        plgpu.SMEM((64, k), F16, transforms=TILED),
        plgpu.SMEM((1, 1, 128, 64), jnp.uint2),
        plgpu.Barrier(num_arrivals=3),
        MMA,
        plgpu.TMEM((M, 64), F32),
        plgpu.TMEM((M, k // 2), jnp.uint2, layout=layout),
    ]
    a, b = random(0, M, k // 2), random(1, 64, k)
    pairs = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])
    places = pairs[np.random.default_rng(2).integers(0, 6, (M, k // 4))]
    meta = plgpu.format_tcgen05_sparse_metadata(jnp.asarray(places, jnp.uint2), F16)
    trace = run(body, out(M, 64), *scratch, args=[a, b, meta])
    full = np.zeros((M, k // 4, 4), np.float32)
    given = np.asarray(a, np.float32).reshape(places.shape)
    np.put_along_axis(full, places, given, axis=-1)
    close(trace.outputs, full.reshape(M, k) @ np.asarray(b, np.float32).T, 1e-5)


def test_warps_share_the_unit():
    def body(a, b, o, a_smem, b_smem, tma, mma, acc):
        @plgpu.warp_map
        def _(warp):
            @pl.when(warp == 0)
            def _():
                plgpu.copy_gmem_to_smem(a, a_smem, tma)
                plgpu.copy_gmem_to_smem(b, b_smem, tma)

            @pl.when(warp == 1)
            def _():
                plgpu.barrier_wait(tma)

                def step(k, _):
                    part = pl.ds(k * 32, 32)
                    left, right = a_smem.at[:, part], b_smem.at[part]
                    plgpu.tcgen05_mma(acc, left, right, accumulate=k > 0)

                lax.fori_loop(0, 2, step, None)
                plgpu.tcgen05_commit_arrive(mma)

        plgpu.barrier_wait(mma)
        o[...] = plgpu.async_load_tmem(acc)

    scratch = [*OPERANDS5, TMA, MMA, plgpu.TMEM((M, 64), F32)]
    trace = run(body, out(M, 64), *scratch, args=[A5, B5])
    close(trace.outputs, PRODUCT5)
