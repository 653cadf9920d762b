"""Barriers out of step, as GPU interpret mode sees them, on the installed JAX."""

import jax.numpy as jnp
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jaxlink.refusals import BARRIER, PAIR, SMEM, X, accepted, kernel, refused

from pallas_debug.jaxlink.versions import JAX

IS_OLD = JAX < (0, 11, 0)
TELLS_AT_THE_END = JAX < (0, 12, 0)
TWO = plgpu.Barrier(num_arrivals=2)


def both(barrier):
    plgpu.barrier_arrive(barrier)
    plgpu.barrier_wait(barrier)


def unseen(x_ref, o_ref, barrier):
    o_ref[...] = x_ref[...]
    plgpu.barrier_arrive(barrier)
    plgpu.barrier_arrive(barrier)


def late(x_ref, o_ref, barrier):
    o_ref[...] = x_ref[...]
    both(barrier)
    plgpu.barrier_arrive(barrier)
    plgpu.barrier_arrive(barrier)
    plgpu.barrier_wait(barrier)


def behind(x_ref, o_ref, barrier):
    o_ref[...] = x_ref[...]
    both(barrier)
    for _ in range(3):
        plgpu.barrier_arrive(barrier)


def missed(x_ref, o_ref, barrier):
    o_ref[...] = x_ref[...]
    both(barrier)
    plgpu.barrier_arrive(barrier)


def missed_before_another(x_ref, o_ref):
    def first(barrier):
        both(barrier)
        plgpu.barrier_arrive(barrier)

    pl.run_scoped(first, BARRIER)
    pl.run_scoped(both, BARRIER)
    o_ref[...] = x_ref[...]


def in_turn(x_ref, o_ref, barrier):
    o_ref[...] = x_ref[...]
    both(barrier)
    both(barrier)


def two_copies(x_ref, o_ref, a_smem, b_smem, barrier):
    plgpu.copy_gmem_to_smem(x_ref, a_smem, barrier)
    plgpu.copy_gmem_to_smem(x_ref, b_smem, barrier)
    plgpu.barrier_wait(barrier)
    plgpu.barrier_wait(barrier)
    o_ref[...] = a_smem[...] + b_smem[...]


def one_wait(x_ref, o_ref, a_smem, b_smem, barrier):
    plgpu.copy_gmem_to_smem(x_ref, a_smem, barrier)
    plgpu.copy_gmem_to_smem(x_ref, b_smem, barrier)
    plgpu.barrier_wait(barrier)
    o_ref[...] = a_smem[...] + b_smem[...]


def ring(x_ref, o_ref, smem, barriers):
    def step(i, carry):
        plgpu.copy_gmem_to_smem(x_ref, smem, barriers.at[i % 2])
        plgpu.barrier_wait(barriers.at[i % 2])
        return carry

    lax.fori_loop(0, 4, step, ())
    o_ref[...] = smem[...]


@pytest.mark.parametrize(
    ("body", "scratch"),
    [
        (unseen, (BARRIER,)),
        (late, (BARRIER,)),
        (behind, (BARRIER,)),
        (missed_before_another, ()),
        (two_copies, (SMEM, SMEM, BARRIER)),
    ],
)
def test_out_of_step(body, scratch):
    refused("PD318", kernel(body, *scratch), X)


@pytest.mark.parametrize(
    ("body", "scratch"),
    [
        (in_turn, (BARRIER,)),
        (one_wait, (SMEM, SMEM, TWO)),
        (ring, (SMEM, plgpu.Barrier(num_barriers=2))),
    ],
)
def test_in_step(body, scratch):
    accepted(kernel(body, *scratch), X)


def test_last_phase_that_nobody_sees():
    if TELLS_AT_THE_END:
        refused("PD318", kernel(missed, BARRIER), X)
    else:
        accepted(kernel(missed, BARRIER), X)


def test_arrivals_that_are_left_over():
    def body(x_ref, o_ref, barrier):
        o_ref[...] = x_ref[...]
        plgpu.barrier_arrive(barrier)

    if IS_OLD:
        accepted(kernel(body, TWO), X)
    else:
        refused("PD318", kernel(body, TWO), X)


def test_threads_that_wait_for_each_other():
    def body(x_ref, o_ref, barrier):
        t = lax.axis_index("t")
        half = pl.ds(t * 4, 4)
        for _ in range(2):
            both(barrier)
        o_ref[half] = x_ref[half] * jnp.int32(2)

    accepted(kernel(body, TWO, **PAIR), X)
