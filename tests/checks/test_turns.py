"""Hints of races name the wait that a kernel lacks, in whatever order it ran."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import line_of, only
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu

import pallas_debug as pldb

F32, F16 = jnp.float32, jnp.float16
ORDERS = ["round-robin", "last-first"]
SILENT = ["PD102", "PD201", "PD202", "PD203", "PD221"]


def at(text):
    return f"line {line_of(__file__, text)}"


def judged(kernel, *args, policy="round-robin", select="PD2"):
    options = pldb.Options(policy=policy, chip="b200")
    return pldb.check(pldb.trace(kernel, *args, options=options), select=select)


def copied_out(*, waits, tiles=1, gives_back=True):
    """Two warpgroups fill a buffer that one of them copies out, tile by tile."""

    def body(x, o, s, done, free):
        wg = lax.axis_index("wg")
        for tile in range(tiles):
            s[wg] = x[tile, wg] * 2  # the store
            plgpu.commit_smem()
            plgpu.barrier_arrive(done)
            if waits:
                plgpu.barrier_wait(done)

            @pl.when(wg == 0)
            def _(tile=tile):
                plgpu.copy_smem_to_gmem(s, o.at[tile])  # the way out
                plgpu.wait_smem_to_gmem(0)  # it is out

            if tiles > 1:
                plgpu.barrier_arrive(free)
                if gives_back:
                    plgpu.barrier_wait(free)

    barriers = [plgpu.Barrier(num_arrivals=2)] * 2
    return plgpu.kernel(
        body,
        out_type=jax.ShapeDtypeStruct((tiles, 2, 128), F32),
        num_threads=2,
        thread_name="wg",
        scratch_types=[plgpu.SMEM((2, 128), F32), *barriers],
    )


@pytest.mark.parametrize("policy", ORDERS)
@pytest.mark.parametrize("tiles", [1, 3])
def test_copy_out_is_told_to_wait_for_the_store_that_it_brings(policy, tiles):
    x = jnp.ones((tiles, 2, 128))
    found = judged(copied_out(waits=False, tiles=tiles), x, policy=policy)
    start = f"wait before {at('the way out')} for barrier `done`, at which warpgroup 1 "
    assert (
        only(found, "PD201").hint
        == f"{start}of block () arrives after {at('the store')}"
    )
    right = judged(copied_out(waits=True, tiles=tiles), x, policy=policy, select=SILENT)
    assert not right.findings


@pytest.mark.parametrize("policy", ORDERS)
def test_store_is_told_to_wait_until_the_tile_before_it_is_out(policy):
    kernel = copied_out(waits=True, tiles=3, gives_back=False)
    race = only(judged(kernel, jnp.ones((3, 2, 128)), policy=policy), "PD201")
    start = f"wait before {at('the store')} for barrier `free`, at which warpgroup 0 "
    assert race.hint == f"{start}of block () arrives after {at('it is out')}"


A, B = jnp.ones((128, 64), F16), jnp.ones((64, 128), F16)
TENSOR = [
    plgpu.SMEM((64, 128), F16, transforms=(
        plgpu.TilingTransform((8, 64)), plgpu.SwizzleTransform(128)
    )),
    plgpu.TMEM((128, 64), F16, packed=True),
    plgpu.TMEM((128, 128), F32),
    plgpu.Barrier(),
    plgpu.Barrier(orders_tensor_core=True),
]  # fmt: skip


def product(*, waits=True, again=0, accumulate=False):
    """A product of tensor memory; `again`: when its operand is written once more."""

    def body(a, b, o, b_smem, a_tmem, acc, full, done):
        plgpu.copy_gmem_to_smem(b, b_smem, full)
        plgpu.async_store_tmem(a_tmem, a[...] * 2)
        plgpu.commit_tmem()
        plgpu.barrier_wait(full)
        for _ in range(2):
            plgpu.tcgen05_mma(acc, a_tmem, b_smem, accumulate=accumulate)
        if again == 1:
            plgpu.async_store_tmem(a_tmem, a[...] * 3)  # too early
        plgpu.tcgen05_commit_arrive(done)  # it tells
        if waits:
            plgpu.barrier_wait(done)
        if again == 2:
            plgpu.async_store_tmem(a_tmem, a[...] * 3)
            plgpu.commit_tmem()
        o[...] = plgpu.async_load_tmem(acc)  # the load
        plgpu.wait_load_tmem()

    out = jax.ShapeDtypeStruct((128, 128), F32)
    return plgpu.kernel(body, out_type=out, scratch_types=TENSOR)


def test_load_of_a_sum_is_told_to_wait_for_the_product():
    race = only(judged(product(waits=False), A, B), "PD201")
    told = f"wait for barrier `done`, where {at('it tells')} arrives"
    assert race.hint == f"before {at('the load')}, {told}"
    assert not judged(product(), A, B, select=SILENT).findings


def test_operand_written_under_a_product_is_told_to_wait_for_it():
    race = only(judged(product(again=1), A, B), "PD201")
    call = f"call the `tcgen05_commit_arrive` of {at('it tells')}"
    assert (
        race.hint == f"before {at('too early')}, {call} and wait for its barrier `done`"
    )
    assert not judged(product(again=2), A, B, select=SILENT).findings


def test_sum_that_nothing_began_asks_for_a_beginning_not_for_a_wait():
    first = only(judged(product(accumulate=True), A, B, select="PD102"), "PD102")
    assert first.hint.startswith("begin `acc` with `accumulate=False`")


def in_turns(*, waits):
    """One warpgroup multiplies, the other looks at the sums in their only place."""

    def body(a, b, o, b_smem, a_tmem, acc, full, done, seen):
        wg = lax.axis_index("wg")

        @pl.when(wg == 0)
        def _():
            plgpu.copy_gmem_to_smem(b, b_smem, full)
            plgpu.async_store_tmem(a_tmem, a[...])
            plgpu.commit_tmem()
            plgpu.barrier_wait(full)
            for tile in range(3):
                if tile and waits:
                    plgpu.barrier_wait(seen)
                plgpu.tcgen05_mma(acc, a_tmem, b_smem, accumulate=False)  # next sum
                plgpu.tcgen05_commit_arrive(done)

        @pl.when(wg == 1)
        def _():
            for _ in range(3):
                plgpu.barrier_wait(done)
                o[...] = plgpu.async_load_tmem(acc)  # its look
                plgpu.wait_load_tmem()
                plgpu.barrier_arrive(seen)

    return plgpu.kernel(
        body,
        out_type=jax.ShapeDtypeStruct((128, 128), F32),
        num_threads=2,
        thread_name="wg",
        scratch_types=[*TENSOR, plgpu.Barrier(orders_tensor_core=True)],
    )


@pytest.mark.parametrize("policy", ORDERS)
def test_next_product_is_told_to_wait_for_the_load_of_its_place(policy):
    race = only(judged(in_turns(waits=False), A, B, policy=policy), "PD201")
    start = f"wait before {at('next sum')} for barrier `seen`, at which warpgroup 1 "
    assert race.hint == f"{start}of block () arrives after {at('its look')}"
    assert not judged(in_turns(waits=True), A, B, policy=policy, select=SILENT).findings


TILES = 6
K_TILES = jnp.ones((TILES, 64, 64), F16)


def ring(*, late, slots=2):
    """Two copies fill a slot, whose product gives it back; `late` by so many tiles."""

    def body(a, b, o, a_smem, b_smem, full, free):
        wg = lax.axis_index("wg")

        @pl.when(wg == 0)
        def _():
            for tile in range(TILES):
                slot = tile % slots
                if tile >= slots + late:
                    plgpu.barrier_wait(free.at[slot])  # their wait
                plgpu.copy_gmem_to_smem(a.at[tile], a_smem.at[slot], full.at[slot])
                plgpu.copy_gmem_to_smem(b.at[tile], b_smem.at[slot], full.at[slot])

        @pl.when(wg == 1)
        def _():
            def multiply(acc):
                for tile in range(TILES):
                    plgpu.barrier_wait(full.at[tile % slots])
                    at = tile % slots
                    plgpu.wgmma(acc, a_smem.at[at], b_smem.at[at])  # their use
                    plgpu.wgmma_wait(0)
                    plgpu.barrier_arrive(free.at[tile % slots])
                return acc[...]

            o[...] = pl.run_scoped(multiply, plgpu.ACC((64, 64), F32))

    return plgpu.kernel(
        body,
        out_type=jax.ShapeDtypeStruct((64, 64), F32),
        num_threads=2,
        thread_name="wg",
        scratch_types=[
            *[plgpu.SMEM((slots, 64, 64), F16)] * 2,
            plgpu.Barrier(num_arrivals=2, num_barriers=slots),
            plgpu.Barrier(num_barriers=slots),
        ],
    )


@pytest.mark.parametrize("policy", ORDERS)
@pytest.mark.parametrize("late", [2, TILES])
def test_copies_that_count_together_are_told_to_wait_for_the_slot(policy, late):
    trace = pldb.trace(
        ring(late=late), K_TILES, K_TILES, options=pldb.Options(policy=policy)
    )
    races = pldb.check(trace, select=["PD201", "PD202"]).findings
    assert {race.code for race in races} == {"PD201", "PD202"}
    for race in races:
        assert "for barrier `free`, at which warpgroup 1" in race.hint
        told = f"the wait at {at('their wait')} does not cover that arrival"
        assert race.hint.endswith(told) is (late < TILES)
    trace = pldb.trace(ring(late=0), K_TILES, K_TILES)
    assert not pldb.check(trace).findings
    np.testing.assert_array_equal(trace.outputs, np.full((64, 64), TILES * 64.0))
