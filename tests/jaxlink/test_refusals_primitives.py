"""Operations that GPU interpret mode refuses, on the installed JAX."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import triton as pltriton
from jaxlink.refusals import (
    BARRIER,
    CLUSTER,
    GPU,
    GRID,
    PAIR,
    SMEM,
    X,
    accepted,
    copied,
    foreseen,
    kernel,
    law,
    refused,
)

from pallas_debug.jaxlink.privates import InterpretGPUParams
from pallas_debug.jaxlink.versions import JAX

ROW = jnp.arange(128, dtype=jnp.int32)
SHAPE = jax.ShapeDtypeStruct((8,), jnp.int32)
STRIDED = plgpu.Layout.WG_STRIDED((128,), vec_size=1)


def pallas_call(body):
    return pl.pallas_call(body, out_shape=SHAPE, interpret=GPU)


def test_masked_access():
    def load(x_ref, o_ref):
        mask = jnp.arange(8) < 5
        o_ref[...] = pltriton.load(x_ref.at[:], mask=mask, other=-1)  # refused

    def store(x_ref, o_ref):
        pltriton.store(o_ref.at[:], x_ref[...])  # refused

    def chosen(x_ref, o_ref):
        o_ref[...] = jnp.where(jnp.arange(8) < 5, x_ref[...], -1)

    law("PD310", True, pallas_call(load), X)
    law("PD310", True, pallas_call(store), X)
    accepted(pallas_call(chosen), X)


def print_layout(x_ref, o_ref):
    v = x_ref[...]
    plgpu.print_layout("{}", v)  # refused
    o_ref[...] = v


def delay(x_ref, o_ref):
    pl.delay(10)  # refused
    o_ref[...] = x_ref[...]


def dependents(x_ref, o_ref):
    plgpu.griddepcontrol_wait()  # refused
    o_ref[...] = x_ref[...]


def layout_cast(x_ref, o_ref):
    o_ref[...] = plgpu.layout_cast(x_ref[...], STRIDED)  # refused


def prefetch(x_ref, o_ref):
    plgpu.async_prefetch(x_ref)  # refused
    o_ref[...] = x_ref[...]


def warps(x_ref, o_ref):
    @plgpu.warp_map
    def _(i):
        @pl.when(i == 0)
        def _():
            o_ref[0] = x_ref[0]


def atomic(x_ref, o_ref):
    o_ref[...] = x_ref[...]
    plgpu.atomic_add(o_ref, x_ref[...])  # refused


def atomic_part(x_ref, o_ref):
    o_ref[...] = x_ref[...]
    plgpu.atomic_add(o_ref.at[0:4], x_ref[0:4])  # refused


@pytest.mark.parametrize(
    ("body", "is_refused"),
    [
        (print_layout, True),
        (delay, True),
        (dependents, True),
        (layout_cast, JAX < (0, 11, 2)),
        (prefetch, JAX < (0, 11, 2)),
        (atomic, True),
        (atomic_part, True),
    ],
)
def test_unimplemented_primitive(body, is_refused):
    law("PD311", is_refused, kernel(body, out=(128,)), ROW)
    accepted(kernel(copied, out=(128,)), ROW)


def test_warp_map():
    if JAX < (0, 11, 1):
        refused("PD311", kernel(warps), X)
    else:
        accepted(kernel(warps), X)


def test_barrier_test():
    def body(x_ref, o_ref, barrier):
        plgpu.barrier_arrive(barrier)
        passed = plgpu.barrier_test(barrier)  # refused
        o_ref[...] = x_ref[...] + passed.astype(jnp.int32)

    law("PD311", True, kernel(body, BARRIER), X)


def inline(x_ref, o_ref):
    @plgpu.inline_mgpu(arg_types=(plgpu.RefType(),))
    def nothing(ctx, ref):
        del ctx, ref

    nothing(x_ref)  # refused
    o_ref[...] = x_ref[...]


def test_inline_mgpu():
    law("PD311", True, kernel(inline), X)


@pytest.mark.skipif(JAX < (0, 11, 2), reason="the option came with JAX 0.11.2")
def test_inline_mgpu_that_is_to_be_ignored():
    ignoring = InterpretGPUParams(inline_mgpu="ignore")
    fn = kernel(inline, interpret=ignoring)
    assert not foreseen(fn, X)
    fn(X)


@pytest.mark.skipif(JAX < (0, 11, 1), reason="the parameter came with JAX 0.11.1")
def test_load_with_a_reduction():
    def body(x_ref, o_ref, tmem):
        plgpu.async_load_tmem(tmem, reduce="max")  # refused
        plgpu.wait_load_tmem()
        o_ref[...] = x_ref[...]

    law("PD311", True, kernel(body, plgpu.TMEM((128, 128), jnp.float32)), X)


# --- run_state ----------------------------------------------------------------------


def stateful(inner):
    """A body that runs a stateful part on a value."""

    def body(x_ref, o_ref, *scratch):
        def part(state):
            inner(*scratch)
            state[...] = state[...] + 1

        o_ref[...] = pl.run_state(part)(x_ref[...])  # refused

    return body


def arrive(barrier):
    plgpu.barrier_arrive(barrier)
    plgpu.barrier_wait(barrier)


TWO = plgpu.Barrier(num_arrivals=2)
PARTS = {
    "barrier": (arrive, (BARRIER,), {}),
    "commit": (plgpu.commit_smem, (), {}),
    "barrier, two threads": (arrive, (TWO,), PAIR),
    "commit, two threads": (plgpu.commit_smem, (), PAIR),
    "commit, cluster": (plgpu.commit_smem, (), CLUSTER),
}


@pytest.mark.parametrize("name", PARTS)
def test_run_state(name):
    inner, scratch, mesh = PARTS[name]
    refused("PD321", kernel(stateful(inner), *scratch, **mesh), X)


@pytest.mark.parametrize("mesh", [{}, PAIR], ids=["alone", "two threads"])
def test_run_state_of_values_alone(mesh):
    law("PD321", JAX < (0, 11, 0), kernel(stateful(lambda: None), **mesh), X)


# --- jitted helpers -----------------------------------------------------------------


def helper(function):
    """A body that calls a function of two references."""

    def body(x_ref, o_ref):
        function(x_ref, o_ref)

    return kernel(body, **GRID)


@jax.jit
def reading(ref):
    return ref[...]  # refused


@jax.jit
def writing(ref, value):
    ref[...] = value  # refused


@jax.jit
def on_axis(value):
    return value + lax.axis_index("g")  # refused


@jax.jit
def on_values(value):
    return value + 1


@jax.jit
def with_scratch(value):
    def inner(smem):
        smem[...] = value
        return smem[...]

    return pl.run_scoped(inner, SMEM)


def read(x_ref, o_ref):
    o_ref[...] = reading(x_ref)


def write(x_ref, o_ref):
    writing(o_ref, x_ref[...])


def axis(x_ref, o_ref):
    o_ref[...] = on_axis(x_ref[...])


def values(x_ref, o_ref):
    o_ref[...] = on_values(x_ref[...])


def own_scratch(x_ref, o_ref):
    o_ref[...] = with_scratch(x_ref[...])


@pytest.mark.parametrize(
    ("function", "is_refused"),
    [
        (read, True),
        (write, True),
        (axis, True),
        (values, False),
        (own_scratch, False),
    ],
)
def test_jitted_helper(function, is_refused):
    law("PD322", is_refused, helper(function), X)
