"""Hopper's matrix unit: the order of products, accumulators, operands."""

import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jaxlink.gpu_kernels import (
    F16,
    F32,
    agree,
    close,
    kinds,
    load,
    numbers,
    out,
    random,
    run,
)

A, B = random(0, 64, 128), random(1, 128, 64)
PRODUCT = np.asarray(A, np.float32) @ np.asarray(B, np.float32)
OPERANDS = [plgpu.SMEM((64, 128), F16), plgpu.SMEM((128, 64), F16)]
TMA = plgpu.Barrier(num_arrivals=2)


def test_wgmma_adds_up_in_the_order_of_issue():
    def body(a, b, o, a_smem, b_smem, barrier):
        load(a, b, a_smem, b_smem, barrier)

        def scope(acc):
            for k in range(2):
                part = pl.ds(k * 64, 64)
                plgpu.wgmma(acc, a_smem.at[:, part], b_smem.at[part])
            plgpu.wgmma_wait(1)
            return acc[...]

        o[...] = pl.run_scoped(scope, plgpu.ACC((64, 64), F32))

    args = [A, B]
    trace = agree(body, out(64, 64), *OPERANDS, TMA, args=args, tolerance=1e-3)
    close(trace.outputs, PRODUCT)
    one = ["READ", "READ", "READ", "WRITE", "END"]
    assert kinds(trace, "wgmma") == [*one, "JOIN", *one]
    reads = trace.events.where(kind="read", buffer="a_smem")
    assert [trace[seq].region.spans[1] for seq in reads] == [(0, 64, 1), (64, 64, 1)]
    assert kinds(trace, "warpgroup").count("COMMIT") == 2


def test_accumulator_starts_as_zeros_or_as_given():
    def body(a, b, o, a_smem, b_smem, barrier):
        load(a, b, a_smem, b_smem, barrier)

        def scope(acc):
            plgpu.wgmma(acc, a_smem[...], b_smem)

        start = jnp.full((64, 64), 100.0, F32)
        o[...] = pl.run_state(scope)(plgpu.ACC.init(start))

    trace = run(body, out(64, 64), *OPERANDS, TMA, args=[A, B])
    close(trace.outputs, PRODUCT + 100)


def test_transposed_operand():
    def body(a, b, o, a_smem, b_smem, barrier):
        load(a, b, a_smem, b_smem, barrier)

        def scope(acc):
            plgpu.wgmma(acc, a_smem, b_smem.transpose((1, 0)))
            return acc[...]

        o[...] = pl.run_scoped(scope, plgpu.ACC((64, 64), F32))

    scratch = [OPERANDS[0], plgpu.SMEM((64, 128), F16)]
    trace = run(body, out(64, 64), *scratch, TMA, args=[A, B.T])
    close(trace.outputs, PRODUCT)


def test_integers_are_exact():
    def body(a, b, o, a_smem, b_smem, barrier):
        load(a, b, a_smem, b_smem, barrier)

        def scope(acc):
            plgpu.wgmma(acc, a_smem, b_smem)
            return acc[...]

        o[...] = pl.run_scoped(scope, plgpu.ACC((64, 64), jnp.int32))

    a = jnp.asarray(numbers(64, 128) - 100, jnp.int8)
    b = jnp.asarray(numbers(128, 64) - 90, jnp.int8)
    scratch = [plgpu.SMEM(x.shape, jnp.int8) for x in (a, b)]
    trace = run(body, out(64, 64, dtype=jnp.int32), *scratch, TMA, args=[a, b])
    wanted = np.asarray(a, np.int32) @ np.asarray(b, np.int32)
    np.testing.assert_array_equal(trace.outputs, wanted)
