"""Barriers: phases, indices and waits that nobody answers."""

import warnings

from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu

from refused.build import BARRIER, PAIR, SMEM, kernel


def used(*words, pick=None):
    """A body that arrives (`a`) at a barrier and waits (`w`) for it in this order."""

    def body(x_ref, o_ref, barrier):
        at = barrier if pick is None else pick(barrier)
        for word in words:
            act = plgpu.barrier_arrive if word == "a" else plgpu.barrier_wait
            act(at)
        o_ref[...] = x_ref[...]

    return body


def misses(observes_both):
    """The second thread sees one phase of two, or both."""

    def body(x_ref, o_ref, barrier, done):
        def arrive_and_wait():
            plgpu.barrier_arrive(barrier)
            plgpu.barrier_wait(barrier)

        @pl.when(lax.axis_index("t") == 0)
        def _():
            arrive_and_wait()
            plgpu.barrier_wait(done)
            arrive_and_wait()
            o_ref[...] = x_ref[...]

        @pl.when(lax.axis_index("t") == 1)
        def _():
            plgpu.barrier_wait(barrier)
            plgpu.barrier_arrive(done)
            if observes_both:
                plgpu.barrier_wait(barrier)

    return body


def two_copies(waits):
    def body(x_ref, o_ref, a_smem, b_smem, barrier):
        plgpu.copy_gmem_to_smem(x_ref, a_smem, barrier)
        plgpu.copy_gmem_to_smem(x_ref, b_smem, barrier)
        for _ in range(waits):
            plgpu.barrier_wait(barrier)
        o_ref[...] = a_smem[...] + b_smem[...]

    return body


def one_waits_for_another(is_arrived):
    """Both threads wait; one of them only if the other arrives."""

    def body(x_ref, o_ref, barrier):
        @pl.when(lax.axis_index("t") == 0)
        def _():
            plgpu.barrier_wait(barrier)
            o_ref[...] = x_ref[...]

        @pl.when(lax.axis_index("t") == 1)
        def _():
            if is_arrived:
                plgpu.barrier_arrive(barrier)

    return body


def refused_while_another_waits(is_refused, arrives_before=False):
    """The first thread waits for the second, which does what may be refused."""

    def body(x_ref, o_ref, barrier):
        @pl.when(lax.axis_index("t") == 0)
        def _():
            plgpu.barrier_wait(barrier)

        @pl.when(lax.axis_index("t") == 1)
        def _():
            start = lax.axis_index("g")
            if arrives_before:
                plgpu.barrier_arrive(barrier)
            o_ref[0:4] = x_ref[pl.ds(start > 0 if is_refused else start, 4)]
            if not arrives_before:
                plgpu.barrier_arrive(barrier)

    return body


def copied_while_another_waits(**options):
    """The same with a copy, which the second thread starts and tells the first of."""

    def body(x_ref, o_ref, smem, barrier):
        @pl.when(lax.axis_index("t") == 0)
        def _():
            plgpu.barrier_wait(barrier)

        @pl.when(lax.axis_index("t") == 1)
        def _():
            smem[...] = x_ref[...]
            plgpu.commit_smem()
            plgpu.copy_smem_to_gmem(smem, o_ref, **options)
            plgpu.wait_smem_to_gmem(0)
            plgpu.barrier_arrive(barrier)

    return body


def on_warps(body):
    """Runs a body on each warp; JAX 0.10.2 has no other way, newer ones warn of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        core_map = pl.core_map
    return core_map(plgpu.WarpMesh(axis_name="warp"))(body)


def by_warps(*turns):
    """A barrier is arrived at (`a`), or waited for by some warps or their warpgroup."""

    def body(x_ref, o_ref, barrier):
        for turn in turns:
            if turn == "a":
                plgpu.barrier_arrive(barrier)
                continue
            if turn == "w":
                plgpu.barrier_wait(barrier)
                continue

            @on_warps
            def _(turn=turn):
                for warp in turn:

                    @pl.when(lax.axis_index("warp") == warp)
                    def _():
                        plgpu.barrier_wait(barrier)

        o_ref[...] = x_ref[...]

    return body


def first(barrier):
    return barrier.at[0]


def every_second(barrier):
    return barrier.at[pl.ds(0, 1, stride=2)]


def a_slice(barrier):
    return barrier.at[pl.ds(0, 1)]


TWO = plgpu.Barrier(num_arrivals=2)
ARRAY = plgpu.Barrier(num_barriers=2)
MEET = ("a", "w")
FOUR, THREE = (0, 1, 2, 3), (1, 2, 3)
PAIRS = {
    "unseen_phase": (
        kernel(used("a", "a"), BARRIER),
        kernel(used("a", "w", "a", "w"), BARRIER),
    ),
    "missed_phase": (
        kernel(misses(False), BARRIER, BARRIER, **PAIR),
        kernel(misses(True), BARRIER, BARRIER, **PAIR),
    ),
    "late_wait": (
        kernel(used("a", "w", "a", "a", "w"), BARRIER),
        kernel(used("a", "w", "a", "w"), BARRIER),
    ),
    "pending_arrival": (
        kernel(used("a"), TWO),
        kernel(used("a", "a", "w"), TWO),
    ),
    "two_copies_one_barrier": (
        kernel(two_copies(2), SMEM, SMEM, BARRIER),
        kernel(two_copies(1), SMEM, SMEM, TWO),
    ),
    "warps_miss_a_phase": (
        kernel(by_warps("a", (0, 1, 2), "a", THREE), BARRIER),
        kernel(by_warps("a", FOUR, "a", FOUR), BARRIER),
    ),
    "some_warps_before_their_warpgroup": (
        kernel(by_warps("a", THREE, "w"), BARRIER),
        kernel(by_warps("a", FOUR, "a", "w"), BARRIER),
    ),
    "warps_out_of_step": (
        kernel(by_warps("a", FOUR, "a", THREE, "a", "w"), BARRIER),
        kernel(by_warps("a", FOUR, "a", FOUR, "a", "w", "a", THREE), BARRIER),
    ),
    "warps_out_of_step_at_a_wait_that_nobody_ends": (
        kernel(by_warps("a", FOUR, "a", THREE, "w"), BARRIER),
        kernel(by_warps("a", FOUR, "a", FOUR), BARRIER),
    ),
    "warp_left_behind_by_its_warpgroup": (
        kernel(by_warps(*MEET, *("a", THREE) * 3), BARRIER),
        kernel(by_warps(*MEET, *("a", FOUR) * 3), BARRIER),
    ),
    "no_index": (
        kernel(used(*MEET), ARRAY),
        kernel(used(*MEET, pick=first), ARRAY),
    ),
    "strided": (
        kernel(used(*MEET, pick=every_second), ARRAY),
        kernel(used(*MEET, pick=first), ARRAY),
    ),
    "sliced": (
        kernel(used(*MEET, pick=a_slice), ARRAY),
        kernel(used(*MEET, pick=first), ARRAY),
    ),
    "nobody_arrives": (kernel(used("w"), BARRIER), kernel(used(*MEET), BARRIER)),
    "other_thread_never_arrives": (
        kernel(one_waits_for_another(False), BARRIER, **PAIR),
        kernel(one_waits_for_another(True), BARRIER, **PAIR),
    ),
    "refused_while_another_waits": (
        kernel(refused_while_another_waits(True), BARRIER, **PAIR),
        kernel(refused_while_another_waits(False), BARRIER, **PAIR),
    ),
    "refused_after_arriving": (
        kernel(refused_while_another_waits(True, True), BARRIER, **PAIR),
        kernel(refused_while_another_waits(False, True), BARRIER, **PAIR),
    ),
    "copy_refused_while_another_waits": (
        kernel(copied_while_another_waits(predicate=True), SMEM, BARRIER, **PAIR),
        kernel(copied_while_another_waits(), SMEM, BARRIER, **PAIR),
    ),
}
