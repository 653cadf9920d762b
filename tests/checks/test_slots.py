"""Slots of a ring that are filled again: whom the hints make the writer wait for."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import line_of, only
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu

import pallas_debug as pldb
from pallas_debug.checks.races import Fault, races

F32 = jnp.float32


def like(*shape):
    return jax.ShapeDtypeStruct(shape, F32)


def ring(*, waits, reads=True, fences=False, slots=2, tiles=4):
    """A producer and a consumer; `waits` for slots that the consumer gives back."""

    def body(x, o, held, full, free):
        who = lax.axis_index("wg")

        @pl.when(who == 0)
        def _():
            for tile in range(tiles):
                slot = tile % slots
                if waits and tile >= slots:
                    plgpu.barrier_wait(free.at[slot])
                plgpu.copy_gmem_to_smem(x.at[tile], held.at[slot], full.at[slot])

        @pl.when(who == 1)
        def _():
            for tile in range(tiles):
                slot = tile % slots
                plgpu.barrier_wait(full.at[slot])
                if reads:
                    o[tile] = held[slot] * 2.0  # the use
                if fences:
                    plgpu.commit_smem()
                plgpu.barrier_arrive(free.at[slot])

    barriers = [plgpu.Barrier(num_barriers=slots)] * 2
    return plgpu.kernel(
        body,
        out_type=like(tiles, 128),
        num_threads=2,
        thread_name="wg",
        scratch_types=[plgpu.SMEM((slots, 128), F32), *barriers],
    )


def judged(kernel, tiles):
    return pldb.check(kernel, jnp.ones((tiles, 128)), select="PD2")


def test_copy_is_told_to_wait_for_the_reader_of_its_slot():
    report = judged(ring(waits=False), 4)
    race = only(report, "PD201")
    assert "for barrier `free`, at which warpgroup 1" in race.hint
    assert f"arrives after line {race.loc.line}" in race.hint
    assert "the use" in race.loc.text
    assert report.roots == (race,)
    assert {one.code for one in report.following(race)} == {"PD202", "PD211", "PD213"}


@pytest.mark.parametrize("reads", [True, False])
def test_two_copies_into_one_slot_are_ordered_by_its_reader(reads):
    report = judged(ring(waits=False, reads=reads, slots=1, tiles=3), 3)
    race = only(report, "PD202")
    assert "for barrier `free`, at which warpgroup 1" in race.hint
    assert "`full`" not in race.hint


@pytest.mark.parametrize(("slots", "tiles"), [(2, 4), (1, 3)])
def test_ring_that_waits_for_its_slots_is_right(slots, tiles):
    kernel, x = ring(waits=True, slots=slots, tiles=tiles), jnp.ones((tiles, 128))
    trace = pldb.trace(kernel, x)
    assert not pldb.check(trace, select="PD2").errors
    np.testing.assert_array_equal(trace.outputs, 2 * np.ones((tiles, 128)))


def pipeline():
    """The same ring as JAX makes it, which leaves the fence out."""

    def body(x, o):
        def double(_, x_tile, o_tile):
            o_tile[...] = x_tile[...] * 2.0

        tile = plgpu.BlockSpec((64, 128), lambda i: (i, 0))
        plgpu.emit_pipeline_warp_specialized(
            double,
            grid=(4,),
            in_specs=[tile],
            out_specs=[tile],
            max_concurrent_steps=2,
            num_compute_wgs=1,
            memory_registers=40,
            wg_axis="wg",
        )(x, o)

    return plgpu.kernel(body, out_type=like(256, 128), num_threads=2, thread_name="wg")


def test_fence_is_asked_of_the_kernel_that_gives_a_slot_back_not_of_jax():
    found = judged(ring(waits=True), 4).findings
    assert [(one.code, one.severity) for one in found] == [("PD204", "info")]
    assert not judged(ring(waits=True, fences=True), 4).findings
    trace = pldb.trace(pipeline(), jnp.ones((256, 128)))
    np.testing.assert_array_equal(trace.outputs, 2 * np.ones((256, 128)))
    assert {fault.fault for fault in races(trace)} == {Fault.UNFENCED}
    assert not pldb.check(trace, select="PD2").findings


def in_turn(*, waits):
    """One thread copies twice into one tile."""

    def body(x, o, tile, first, second):
        plgpu.copy_gmem_to_smem(x.at[0], tile, first)
        if waits:
            plgpu.barrier_wait(first)
        plgpu.copy_gmem_to_smem(x.at[1], tile, second)
        plgpu.barrier_wait(second)
        if not waits:
            plgpu.barrier_wait(first)
        o[...] = tile[...]

    scratch = [plgpu.SMEM((128,), F32), plgpu.Barrier(), plgpu.Barrier()]
    return plgpu.kernel(body, out_type=like(128), scratch_types=scratch)


def test_thread_that_waits_itself_is_told_to_wait_for_its_first_copy():
    race = only(judged(in_turn(waits=False), 2), "PD202")
    assert race.hint.startswith("wait for barrier `first`, where the copy arrives")
    assert not judged(in_turn(waits=True), 2).findings


def stored(*, gives_back=True, is_told=True, tiles=4):
    """The same with plain stores; the producer waits for the tile, the consumer too."""

    def body(x, o, tile, full, free):
        who = lax.axis_index("wg")

        @pl.when(who == 0)
        def _():
            def produce(i, c):
                @pl.when(i > 0)
                def _():
                    if gives_back:
                        plgpu.barrier_wait(free)

                tile[...] = x[i] + 1.0  # the store
                plgpu.barrier_arrive(full)
                return c

            lax.fori_loop(0, tiles, produce, 0)

        @pl.when(who == 1)
        def _():
            def consume(i, c):
                if is_told:
                    plgpu.barrier_wait(full)
                o[i] = tile[...] * 2.0  # the use
                plgpu.barrier_arrive(free)
                return c

            lax.fori_loop(0, tiles, consume, 0)

    return plgpu.kernel(
        body,
        out_type=like(tiles, 128),
        num_threads=2,
        thread_name="wg",
        scratch_types=[plgpu.SMEM((128,), F32), plgpu.Barrier(), plgpu.Barrier()],
    )


@pytest.mark.parametrize("seed", range(4))
def test_store_is_told_to_wait_for_the_reader_of_the_tile(seed):
    options = pldb.Options(policy="random", seed=seed)
    kernel, x = stored(gives_back=False), jnp.ones((4, 128))
    report = pldb.check(kernel, x, select="PD2", options=options)
    (race,) = report.roots
    store, use = (
        next(loc.line for loc in (race.loc, race.other) if text in loc.text)
        for text in ("# the store", "# the use")
    )
    assert race.hint == (
        f"wait before line {store} for barrier `free`, at which warpgroup 1 of block () "
        f"arrives after line {use}"
    )
    assert {one.code for one in report.following(race)} == {"PD211", "PD213"}
    assert not judged(stored(), 4).findings


def test_reader_that_does_not_wait_is_told_to_wait_for_the_store():
    race = only(judged(stored(is_told=False), 4), "PD201")
    assert "for barrier `full`, at which warpgroup 0 of block () arrives" in race.hint
    assert race.hint.startswith("wait before line ")


def outgoing(semaphores):
    """Copies a tile out of two slots, and waits for the copy before the last one."""

    def body(x_hbm, o_hbm, held, arrived, left):
        def out(i):
            slot = i % 2
            sem = left.at[slot % semaphores]
            return pltpu.make_async_copy(held.at[slot], o_hbm.at[i], sem)

        for i in range(4):
            if i > 1:
                out(i - 2).wait()  # the wait
            copy = pltpu.make_async_copy(x_hbm.at[i], held.at[i % 2], arrived)
            copy.start()
            copy.wait()
            out(i).start()
        out(2).wait()
        out(3).wait()

    sem = pltpu.SemaphoreType.DMA
    return pl.pallas_call(
        body,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec(memory_space=pl.ANY),
        out_shape=like(4, 8, 128),
        scratch_shapes=[pltpu.VMEM((2, 8, 128), F32), sem, sem((semaphores,))],
    )


def test_wait_that_counts_two_outgoing_copies_is_said_to_do_so():
    x = jnp.ones((4, 8, 128))
    race = only(pldb.check(outgoing(1), x), "PD201")
    assert "counts at `left`[0], which more than one copy signals" in race.hint
    assert not pldb.check(outgoing(2), x).findings


def prefetched(*, after_the_use, tiles=4, slots=2):
    """One core copies tiles ahead, into the slot that it uses in this turn."""

    def body(x, o, held, sems):
        def copy(i):
            slot = i % slots
            return pltpu.make_async_copy(x.at[i], held.at[slot], sems.at[slot])

        def ahead(i):
            @pl.when(i + slots < tiles)
            def _():
                copy(i + slots).start()  # the refill

        def turn(i, c):
            if not after_the_use:
                ahead(i)
            copy(i).wait()
            o[i] = held[i % slots] * 2.0  # the use of a tile
            if after_the_use:
                ahead(i)
            return c

        for i in range(slots):
            copy(i).start()  # the start
        lax.fori_loop(0, tiles, turn, 0)

    return in_vmem(body, tiles, slots)


def in_vmem(body, tiles, slots):
    return pl.pallas_call(
        body,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_shape=like(tiles, 8, 128),
        scratch_shapes=[
            pltpu.VMEM((slots, 8, 128), F32),
            pltpu.SemaphoreType.DMA((slots,)),
        ],
    )


@pytest.mark.parametrize("slots", [1, 2])
def test_refill_of_a_slot_in_use_is_told_to_start_after_the_use(slots):
    x = jnp.ones((4, 8, 128))
    kernel = prefetched(after_the_use=False, slots=slots)
    report = pldb.check(kernel, x, select="PD202")
    race = next(one for one in report.findings if "the start" in one.other.text)
    assert race.hint == (
        f"start the copy of line {line_of(__file__, 'the refill')} after the read at line "
        f"{line_of(__file__, 'the use of a tile')} of what the copy of line "
        f"{line_of(__file__, 'the start')} brought"
    )
    assert not pldb.check(prefetched(after_the_use=True, slots=slots), x).findings


def in_one_loop(*, waits):
    """Copies that a loop starts; they are waited for in it, or in a loop behind."""

    def body(x, o, held, sems):
        def copy(i):
            return pltpu.make_async_copy(x.at[i], held.at[i % 2], sems.at[i % 2])

        def turn(i, c):
            copy(i).start()  # each start
            if waits:
                copy(i).wait()
            return c

        lax.fori_loop(0, 4, turn, 0)
        if not waits:
            for i in range(4):
                copy(i).wait()  # all the waits
        for i in range(4):
            o[i] = held[i % 2]

    return in_vmem(body, 4, 2)


def test_copies_of_one_line_are_told_where_they_are_waited_for_too_late():
    x = jnp.ones((4, 8, 128))
    race = only(pldb.check(in_one_loop(waits=False), x, select="PD2"), "PD202")
    start = f"line {line_of(__file__, 'each start')}"
    assert race.hint == (
        f"wait for the copy started at {start} before {start} starts the next one, "
        f"not only at line {line_of(__file__, 'all the waits')}"
    )
    assert not pldb.check(in_one_loop(waits=True), x).findings


def sharing(sems):
    """Two tiles, whose copies count on these elements of an array of semaphores."""

    def body(x, o, held, array):
        made = [
            pltpu.make_async_copy(x.at[i], held.at[i], array.at[sem])
            for i, sem in enumerate(sems)
        ]
        for copy in made:
            copy.start()
        for i, copy in enumerate(made):
            copy.wait()
            o[i] = held[i]

    return pl.pallas_call(
        body,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_shape=like(2, 8, 128),
        scratch_shapes=[
            pltpu.VMEM((2, 8, 128), F32),
            pltpu.SemaphoreType.DMA((2, 3)),
        ],
    )


def test_shared_semaphore_of_an_array_is_named_as_it_is_indexed():
    x = jnp.ones((2, 8, 128))
    race = only(pldb.check(sharing([(1, 2), (1, 2)]), x, select="PD2"), "PD201")
    assert "counts at `array`[1, 2], which more than one copy signals" in race.hint
    assert not pldb.check(sharing([(1, 1), (1, 2)]), x).findings
