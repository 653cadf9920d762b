"""Scratch and blocks that GPU interpret mode refuses, on the installed JAX."""

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu
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

from pallas_debug.jaxlink.versions import JAX

ACC = plgpu.ACC((64, 64), jnp.float32)
ANY = pl.MemoryRef(jax.core.ShapedArray((8,), jnp.int32), pl.ANY)
TMEM = plgpu.TMEM((128, 128), jnp.float32)
SHAPE = jax.ShapeDtypeStruct((8,), jnp.int32)
TENSOR_CORE = {"orders_tensor_core": True}
LEADER = {"leader_tracked": plgpu.CopyPartition.REPLICATED}


def scoped(*types, **options):
    """A body that allocates and copies."""

    def body(x_ref, o_ref):
        def inner(*scratch):
            o_ref[...] = x_ref[...]

        pl.run_scoped(inner, *types, **options)  # refused

    return body


def pallas_call(*scratch, **options):
    return pl.pallas_call(
        copied, out_shape=SHAPE, scratch_shapes=scratch, interpret=GPU, **options
    )


@pytest.mark.parametrize(
    ("types", "is_refused"),
    [
        ((ANY,), True),
        ((pltpu.VMEM((8,), jnp.int32),), True),
        ((TMEM,), JAX < (0, 11, 0)),
        ((SMEM,), False),
        ((ACC,), False),
        ((BARRIER, SMEM), False),
    ],
    ids=["any", "vmem", "tmem", "smem", "registers", "barrier"],
)
def test_memory_space(types, is_refused):
    law("PD306", is_refused, kernel(scoped(*types)), X)


@pytest.mark.parametrize("scratch", [ANY, pltpu.VMEM((8,), jnp.int32)])
def test_memory_space_of_a_pallas_call(scratch):
    refused("PD306", pallas_call(scratch), X)


@pytest.mark.parametrize("space", [pl.ANY, pltpu.VMEM, pltpu.SMEM])
def test_memory_space_of_an_operand(space):
    def fn(space):
        spec = pl.BlockSpec(memory_space=space)
        return pl.pallas_call(
            copied,
            out_shape=jax.ShapeDtypeStruct((8,), jnp.int32),
            in_specs=[spec],
            out_specs=pl.BlockSpec(memory_space=plgpu.GMEM),
            interpret=GPU,
        )

    refused("PD306", fn(space), X)
    accepted(fn(plgpu.GMEM), X)
    accepted(fn(None), X)


def test_union_in_the_scratch_of_a_pallas_call():
    union = plgpu.RefUnion(SMEM, plgpu.SMEM((4,), jnp.float32))

    def body(x_ref, o_ref, union):
        o_ref[...] = x_ref[...]

    fn = pl.pallas_call(body, out_shape=SHAPE, scratch_shapes=[union], interpret=GPU)
    if JAX >= (0, 11, 2):
        refused("PD306", fn, X)
    else:
        accepted(fn, X)
    accepted(pallas_call(SMEM), X)


@pytest.mark.parametrize(
    ("axes", "mesh"),
    [
        ({}, PAIR),
        ({"collective_axes": "c"}, CLUSTER),
        ({"collective_axes": "g"}, GRID),
        ({"collective_axes": "g"}, GRID | CLUSTER | PAIR),
        ({"collective_axes": ("c", "t")}, CLUSTER | PAIR),
    ],
    ids=["missing", "no threads", "grid", "grid and threads", "cluster"],
)
def test_collective_axes(axes, mesh):
    refused("PD307", kernel(scoped(SMEM, **axes), **mesh), X)


def test_collective_axes_that_are_right():
    accepted(kernel(scoped(SMEM, collective_axes="t"), **PAIR), X)
    accepted(kernel(scoped(SMEM), **GRID), X)
    accepted(kernel(copied, SMEM, **PAIR), X)
    accepted(kernel(scoped(ACC), **PAIR), X)


def test_registers_mixed_with_other_memory():
    refused("PD308", kernel(scoped(ACC, SMEM)), X)
    refused("PD308", kernel(scoped(ACC, BARRIER)), X)
    refused("PD308", kernel(scoped(ACC, collective_axes="t"), **PAIR), X)
    accepted(kernel(scoped(ACC), **PAIR), X)


def test_semaphores():
    refused("PD309", kernel(copied, plgpu.SemaphoreType.REGULAR), X)
    refused("PD309", kernel(copied, plgpu.SemaphoreType.BARRIER), X)
    refused("PD309", kernel(scoped(pltpu.SemaphoreType.DMA)), X)
    refused("PD309", pallas_call(plgpu.SemaphoreType.REGULAR), X)
    accepted(kernel(copied, BARRIER), X)


@pytest.mark.parametrize(
    ("options", "is_refused"),
    [
        ({}, JAX < (0, 11, 0)),
        (LEADER, True),
        (TENSOR_CORE, JAX < (0, 11, 1)),
    ],
    ids=["plain", "leader", "tensor core"],
)
def test_cluster_barrier(options, is_refused):
    barrier = plgpu.ClusterBarrier(collective_axes=("c",), **options)
    law("PD309", is_refused, kernel(scoped(barrier), **CLUSTER), X)


def test_blocks():
    block = pl.BlockSpec((4,), lambda i: (i,))
    whole = pl.BlockSpec((8,), lambda i: (0,))
    given = {"grid": (2,), "in_specs": [block], "out_specs": block}
    finding = refused("PD305", pallas_call(**given), X)
    assert "raises AssertionError without a message" in finding.message
    assert finding.message.startswith("2 operands are cut into blocks")
    accepted(pallas_call(grid=(2,), in_specs=[whole], out_specs=whole), X)


def test_a_kernel_that_no_interpreter_is_asked_to_run_is_told_as_information():
    def lowered(*scratch, **mesh):
        return foreseen(kernel(copied, *scratch, interpret=None, **mesh), X)

    (finding,) = lowered(plgpu.SemaphoreType.REGULAR)
    assert (finding.code, finding.severity) == ("PD309", "info")
    assert not lowered(SMEM)
