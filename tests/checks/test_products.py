"""Products of Hopper's matrix unit whose operands are given back, or left, too early."""

import jax
import jax.numpy as jnp
import numpy as np
from helpers import line_of, only
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu

import pallas_debug as pldb

F32, F16 = jnp.float32, jnp.float16
TILES = 3
A = jnp.ones((TILES, 64, 64), F16)
B = jnp.ones((TILES, 64, 64), F16)


def kernel(body, *barriers, **mesh):
    operands = [plgpu.SMEM((64, 64), F16), plgpu.SMEM((64, 64), F16)]
    return plgpu.kernel(
        body,
        out_type=jax.ShapeDtypeStruct((64, 64), F32),
        scratch_types=[*operands, *barriers],
        **mesh,
    )


def pipeline(*, waits):
    """One warpgroup copies tiles; the other multiplies and gives the slot back."""

    def body(a, b, o, a_smem, b_smem, full, free):
        who = lax.axis_index("wg")

        @pl.when(who == 0)
        def _():
            for tile in range(TILES):
                if tile:
                    plgpu.barrier_wait(free)
                plgpu.copy_gmem_to_smem(a.at[tile], a_smem, full)
                plgpu.copy_gmem_to_smem(b.at[tile], b_smem, full)

        @pl.when(who == 1)
        def _():
            def multiply(acc):
                for _ in range(TILES):
                    plgpu.barrier_wait(full)
                    plgpu.wgmma(acc, a_smem, b_smem)
                    if waits:
                        plgpu.wgmma_wait(0)
                    plgpu.barrier_arrive(free)  # given back
                return acc[...]

            o[...] = pl.run_scoped(multiply, plgpu.ACC((64, 64), F32))

    barriers = [plgpu.Barrier(num_arrivals=2), plgpu.Barrier()]
    return kernel(body, *barriers, num_threads=2, thread_name="wg")


def test_slot_given_back_before_the_product_is_over_asks_for_a_wait_there():
    report = pldb.check(pipeline(waits=False), A, B, select="PD2")
    races = [one for one in report.findings if one.code == "PD201"]
    assert {one.buffer for one in races} == {"a_smem", "b_smem"}
    hint = f"call `plgpu.wgmma_wait(0)` before line {line_of(__file__, 'given back')}"
    assert {one.hint for one in races} == {hint}
    trace = pldb.trace(pipeline(waits=True), A, B)
    assert not pldb.check(trace, select=["PD1", "PD201", "PD202", "PD221"]).findings
    np.testing.assert_array_equal(trace.outputs, np.full((64, 64), TILES * 64.0))


def alone(*, waits):
    """A product whose sum nobody looks at."""

    def body(a, b, o, a_smem, b_smem, full):
        plgpu.copy_gmem_to_smem(a.at[0], a_smem, full)
        plgpu.copy_gmem_to_smem(b.at[0], b_smem, full)
        plgpu.barrier_wait(full)

        def multiply(acc):
            plgpu.wgmma(acc, a_smem, b_smem)  # the product
            if waits:
                plgpu.wgmma_wait(0)

        pl.run_scoped(multiply, plgpu.ACC((64, 64), F32))
        o[...] = jnp.zeros((64, 64), F32)

    return kernel(body, plgpu.Barrier(num_arrivals=2))


def test_product_in_flight_at_the_end_asks_for_a_wait_before_it():
    left = only(pldb.check(alone(waits=False), A, B, select="PD2"), "PD221")
    assert left.loc.line == line_of(__file__, "the product")
    assert left.hint == "call `plgpu.wgmma_wait(0)` before the end"
    assert not pldb.check(alone(waits=True), A, B).findings
