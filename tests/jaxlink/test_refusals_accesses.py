"""Barriers, copies and accesses that GPU interpret mode refuses, on the installed JAX."""

import os
import subprocess
import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jaxlink.gpu_kernels import F16, F32, TILED
from jaxlink.refusals import (
    BARRIER,
    CLUSTER,
    GRID,
    SMEM,
    X2,
    X,
    accepted,
    asked,
    foreseen,
    kernel,
    law,
    refused,
    stuck,
)

from pallas_debug.jaxlink.versions import JAX

IS_NEW = JAX >= (0, 11, 2)
HAS_COPY_OPTIONS = pytest.mark.skipif(
    JAX < (0, 11, 1), reason="the options came with JAX 0.11.1"
)
SEVERAL = plgpu.Barrier(num_barriers=4)


def picked(pick):
    """A body that uses one of several barriers."""

    def body(x_ref, o_ref, barriers):
        barrier = pick(barriers)
        plgpu.barrier_arrive(barrier)  # refused
        plgpu.barrier_wait(barrier)  # refused
        o_ref[...] = x_ref[...]

    return kernel(body, SEVERAL)


@pytest.mark.parametrize(
    ("pick", "is_refused"),
    [
        (lambda b: b, True),
        (lambda b: b.at[pl.ds(0, 2, 2)], True),
        (lambda b: b.at[pl.ds(1, 1)], JAX < (0, 11, 2)),
        (lambda b: b.at[pl.ds(0, 2)], JAX < (0, 11, 2)),
        (lambda b: b.at[1], False),
    ],
    ids=["none", "stride", "slice of one", "slice of two", "integer"],
)
def test_barrier_index(pick, is_refused):
    law("PD312", is_refused, picked(pick), X)


def test_barrier_of_a_copy_without_an_index():
    def body(x_ref, o_ref, smem, barriers):
        plgpu.copy_gmem_to_smem(x_ref, smem, barriers)  # refused
        plgpu.barrier_wait(barriers.at[0])
        o_ref[...] = smem[...]

    law("PD312", True, kernel(body, SMEM, SEVERAL), X)


# --- options of copies --------------------------------------------------------------


def copied_out(**options):
    def body(x_ref, o_ref, smem):
        smem[...] = x_ref[...]
        plgpu.commit_smem()
        given = {k: v(x_ref) if callable(v) else v for k, v in options.items()}
        plgpu.copy_smem_to_gmem(smem, o_ref, **given)  # refused
        plgpu.wait_smem_to_gmem(0)

    return kernel(body, SMEM)


def test_options_of_a_copy_to_global_memory():
    law("PD313", True, copied_out(predicate=lambda x: x[0] == 0), X)
    law("PD313", True, copied_out(reduction_op="add"), X)
    accepted(copied_out(), X)


def test_a_predicate_that_is_false_is_refused_all_the_same():
    law("PD313", True, copied_out(predicate=lambda x: x[0] == 1), X)


def test_a_copy_that_is_never_reached_is_not_refused():
    def body(x_ref, o_ref, smem):
        smem[...] = x_ref[...]
        o_ref[...] = smem[...]
        first = x_ref[0]

        @pl.when(first == 1)
        def _():
            plgpu.copy_smem_to_gmem(smem, o_ref, predicate=first == 1)
            plgpu.wait_smem_to_gmem(0)

    accepted(kernel(body, SMEM), X)
    refused("PD313", kernel(body, SMEM), X + 1)


@HAS_COPY_OPTIONS
def test_options_of_a_copy_to_shared_memory():
    def predicate(x_ref, o_ref, smem, barrier):
        is_first = x_ref[0] == 0
        plgpu.copy_gmem_to_smem(x_ref, smem, barrier, predicate=is_first)  # refused
        plgpu.barrier_wait(barrier)
        o_ref[...] = smem[...]

    def no_barrier(x_ref, o_ref, smem):
        plgpu.copy_gmem_to_smem(x_ref, smem)  # refused
        o_ref[...] = smem[...]

    law("PD313", True, kernel(predicate, SMEM, BARRIER), X)
    law("PD313", True, kernel(no_barrier, SMEM), X)


# --- views --------------------------------------------------------------------------


def turned(ref):
    return ref.transpose((1, 0)) if IS_NEW else plgpu.transpose_ref(ref, (1, 0))


def read(view, out, dtype=jnp.int32):
    def body(x_ref, o_ref):
        o_ref[...] = view(x_ref)[...]  # refused

    return kernel(body, out=out, dtype=dtype)


def test_view_of_a_read():
    law("PD314", True, read(lambda r: r.reshape(8), (8,)), X2)
    law("PD314", True, read(lambda r: r.bitcast(F32), (2, 4), F32), X2)
    law("PD314", not IS_NEW, read(turned, (4, 2)), X2)
    accepted(read(lambda r: r.at[0:2], (2, 4)), X2)


def test_view_of_a_write():
    def body(x_ref, o_ref):
        o_ref.reshape(8)[...] = x_ref[...].reshape(8)  # refused

    law("PD314", True, kernel(body, out=(2, 4)), X2)


def test_view_of_another_block():
    def body(x_ref, o_ref, smem):
        smem[...] = x_ref[...]
        o_ref[...] = plgpu.remote_ref(smem, {"c": 0})[...]  # refused

    law("PD314", True, kernel(body, SMEM, **CLUSTER), X)


def copied_in(source, target, shape, smem):
    def body(x_ref, o_ref, smem, barrier):
        plgpu.copy_gmem_to_smem(source(x_ref), target(smem), barrier)  # refused
        plgpu.barrier_wait(barrier)
        o_ref[...] = smem[...]

    return kernel(body, plgpu.SMEM(smem, jnp.int32), BARRIER, out=shape)


def same(ref):
    return ref


def flat(ref):
    return ref.reshape(8)


def test_views_of_a_copy_to_shared_memory():
    law("PD314", True, copied_in(flat, same, (8,), (8,)), X2)
    law("PD314", True, copied_in(same, flat, (2, 4), (2, 4)), X)
    law("PD314", not IS_NEW, copied_in(turned, same, (4, 2), (4, 2)), X2)
    law("PD314", not IS_NEW, copied_in(same, turned, (4, 2), (4, 2)), X2)
    accepted(copied_in(same, same, (2, 4), (2, 4)), X2)


@pytest.mark.parametrize(
    ("source", "target", "is_refused"),
    [(same, turned, True), (turned, same, not IS_NEW)],
    ids=["target", "source"],
)
def test_transposed_view_of_a_copy_to_global_memory(source, target, is_refused):
    def body(x_ref, o_ref, smem):
        smem[...] = x_ref[...]
        plgpu.commit_smem()
        plgpu.copy_smem_to_gmem(source(smem), target(o_ref))  # refused
        plgpu.wait_smem_to_gmem(0)

    fn = kernel(body, plgpu.SMEM((2, 4), jnp.int32), out=(4, 2))
    law("PD314", is_refused, fn, X2)


# --- arrays of indices --------------------------------------------------------------


def test_array_of_indices():
    def rows(x_ref, o_ref):
        o_ref[...] = x_ref[x_ref[...]]  # refused

    def table(x_ref, o_ref):
        o_ref[...] = x_ref[x_ref[...].reshape(2, 4)]  # refused

    def scattered(x_ref, o_ref):
        o_ref[x_ref[...]] = x_ref[...]  # refused

    def of_value(x_ref, o_ref):
        o_ref[...] = x_ref[...][x_ref[...]]

    law("PD315", True, kernel(rows), X)
    law("PD315", True, kernel(table, out=(2, 4)), X)
    law("PD315", True, kernel(scattered), X)
    accepted(kernel(of_value), X)


def test_copy_of_rows_by_an_array():
    def body(x_ref, o_ref, smem, barrier):
        rows = x_ref.at[jnp.arange(8, dtype=jnp.int32)]
        plgpu.copy_gmem_to_smem(rows, smem, barrier)  # refused
        plgpu.barrier_wait(barrier)
        o_ref[...] = smem[...]

    x = jnp.arange(32, dtype=jnp.int32).reshape(8, 4)
    smem = plgpu.SMEM((8, 4), jnp.int32)
    law("PD315", True, kernel(body, smem, BARRIER, out=(8, 4)), x)


# --- the matrix unit ----------------------------------------------------------------


def product(in_registers):
    def body(a_ref, b_ref, o_ref, a_smem, b_smem, barrier):
        for source, target in ((a_ref, a_smem), (b_ref, b_smem)):
            plgpu.copy_gmem_to_smem(source, target, barrier)
            plgpu.barrier_wait(barrier)
        left = a_smem[...] if in_registers else a_smem

        def inner(acc):
            plgpu.wgmma(acc, left, b_smem)  # refused
            return acc[...]

        o_ref[...] = pl.run_scoped(inner, plgpu.ACC((64, 64), F32))

    smem = plgpu.SMEM((64, 64), F16, transforms=TILED)
    return kernel(body, smem, smem, BARRIER, out=(64, 64), dtype=F32)


def test_product_of_registers():
    ones = jnp.ones((64, 64), F16)
    law("PD316", True, product(in_registers=True), ones, ones)
    accepted(product(in_registers=False), ones, ones)


# --- while it runs ------------------------------------------------------------------


def shifted(by, copy):
    def body(x_ref, o_ref):
        at = lax.axis_index("g") + by
        copy(x_ref, o_ref, at)

    return kernel(body, **GRID)


def past_read(x_ref, o_ref, at):
    o_ref[0:4] = x_ref[pl.ds(at, 4)]  # refused


def past_write(x_ref, o_ref, at):
    o_ref[pl.ds(at, 4)] = x_ref[0:4]  # refused


def one_read(x_ref, o_ref, at):
    o_ref[0] = x_ref[at]  # refused


def one_write(x_ref, o_ref, at):
    o_ref[at] = x_ref[0]  # refused


@pytest.mark.parametrize(
    ("copy", "at"),
    [
        (past_read, 6),
        (past_read, 8),
        (past_read, -2),
        (past_write, 6),
        (past_write, 8),
        (past_write, -2),
        (one_read, 8),
        (one_write, 8),
        (one_write, -1),
    ],
)
def test_access_out_of_bounds(copy, at):
    law("PD317", True, shifted(at, copy), X)


@pytest.mark.parametrize("copy", [past_read, past_write, one_read, one_write])
def test_access_within_bounds(copy):
    accepted(shifted(4, copy), X)


def test_negative_index_of_a_read():
    (finding,) = foreseen(shifted(-1, one_read), X)
    assert (finding.code, finding.severity) == ("PD332", "error")
    assert "refused" in finding.loc.text
    assert asked(shifted(-1, one_read), X).outputs[0][0] == 7


@pytest.mark.skipif(JAX < (0, 11, 1), reason="the class has the option from 0.11.1 on")
def test_reads_past_the_end_that_are_to_be_filled():
    fill = plgpu.InterpretGPUParams(out_of_bounds_reads="uninitialized")

    def body(x_ref, o_ref):
        past_read(x_ref, o_ref, lax.axis_index("g") + 6)

    fn = kernel(body, interpret=fill, **GRID)
    assert not foreseen(fn, X)
    fn(X)


def test_copy_past_the_end():
    def body(x_ref, o_ref, smem, barrier):
        at = lax.axis_index("g") + 6
        source = x_ref.at[pl.ds(at, 8)]
        plgpu.copy_gmem_to_smem(source, smem, barrier)  # refused
        plgpu.barrier_wait(barrier)
        o_ref[...] = smem[...]

    fn = kernel(body, SMEM, BARRIER, **GRID)
    if not IS_NEW:
        law("PD317", True, fn, X)
        return
    (finding,) = foreseen(fn, X)
    assert (finding.code, finding.severity) == ("PD333", "info")
    assert asked(fn, X).outputs[0].tolist() == [6, 7, 0, 0, 0, 0, 0, 0]


HANGING = """
import jax, jax.numpy as jnp
from jaxlink.refusals import kernel, stuck, BARRIER, X
print("it begins", flush=True)
jax.block_until_ready(kernel(stuck, BARRIER)(X))
"""


def test_deadlock():
    """JAX is asked in another process: a hanging callback stays for ever."""
    (finding,) = foreseen(kernel(stuck, BARRIER), X)
    assert finding.code == "PD320"
    folder = str(Path(__file__).parent.parent)
    path = os.pathsep.join([folder, *filter(None, sys.path)])
    command = [sys.executable, "-c", HANGING]
    environment = {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env=environment, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "it begins\n"
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=5)
        finally:
            process.kill()


def test_program_id():
    def body(x_ref, o_ref):
        i = pl.program_id(0)
        o_ref[i] = x_ref[i]  # refused

    def named(x_ref, o_ref):
        i = lax.axis_index("i")
        o_ref[i] = x_ref[i]

    grid = {"grid": (8,), "grid_names": ("i",)}
    (finding,) = foreseen(kernel(body, **grid), X)
    assert (finding.code, finding.severity) == ("PD331", "error")
    (wrong,) = asked(kernel(body, **grid), X).outputs
    assert (wrong == X).tolist() == [True] + [False] * 7
    accepted(kernel(named, **grid), X)
    np.testing.assert_array_equal(asked(kernel(named, **grid), X).outputs[0], X)
