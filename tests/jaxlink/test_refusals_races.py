"""What JAX's race detector makes of a kernel, foreseen and confirmed."""

import functools

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu
from jaxlink.refusals import (
    BARRIER,
    CLUSTER,
    GRID,
    PAIR,
    accepted,
    kernel,
    law,
    refused,
)

import pallas_debug as pldb
from pallas_debug.jaxlink import targets
from pallas_debug.jaxlink.privates import InterpretGPUParams
from pallas_debug.jaxlink.versions import JAX

RAISES, CHECKS_COPIES = JAX >= (0, 12, 0), JAX >= (0, 11, 0)
X = jnp.arange(256, dtype=jnp.int32)
HALF = plgpu.SMEM((128,), jnp.int32)
DETECTING = InterpretGPUParams(detect_races=True)


@pytest.fixture(autouse=True)
def promotion():
    with jax.numpy_dtype_promotion("standard"):
        yield


def two_copies(waits_between, waits_at_the_end=True):
    """The source of the first copy is filled again for the second."""

    def body(x_ref, o_ref, smem):
        smem[...] = x_ref[0:128]
        plgpu.commit_smem()
        plgpu.copy_smem_to_gmem(smem, o_ref.at[0:128])  # perhaps refused
        if waits_between:
            plgpu.wait_smem_to_gmem(0, wait_read_only=True)
        smem[...] = x_ref[128:256]  # perhaps refused
        plgpu.commit_smem()
        plgpu.copy_smem_to_gmem(smem, o_ref.at[128:256])  # perhaps refused
        if waits_at_the_end:
            plgpu.wait_smem_to_gmem(0)

    return body


def gpu(body, *scratch, interpret=DETECTING, **mesh):
    return kernel(body, *scratch, out=(256,), interpret=interpret, **mesh)


def test_race_with_a_copy_and_its_twin():
    law("PD323", RAISES, gpu(two_copies(False), HALF), X)
    accepted(gpu(two_copies(True), HALF), X)


def test_race_is_not_told_where_nobody_asks_for_it():
    accepted(gpu(two_copies(False), HALF, interpret=InterpretGPUParams()), X)


@pytest.mark.skipif(not RAISES, reason="the option came with JAX 0.12")
def test_race_that_only_warns():
    warning = InterpretGPUParams(detect_races=True, on_race="warn")
    accepted(gpu(two_copies(False), HALF, interpret=warning), X)


def both_write(commits):
    """Two threads store to the same memory, in order or not."""

    def body(x_ref, o_ref, smem, barrier):
        t = jax.lax.axis_index("t")

        @pl.when(t == 0)
        def _():
            smem[...] = x_ref[0:128]  # perhaps refused
            plgpu.barrier_arrive(barrier)

        @pl.when(t == 1)
        def _():
            if commits:
                plgpu.barrier_wait(barrier)
            smem[...] = x_ref[128:256]  # perhaps refused
            if not commits:
                plgpu.barrier_wait(barrier)
            o_ref[0:128] = smem[...]
            o_ref[128:256] = smem[...]

    return body


def test_race_between_two_warpgroups():
    law("PD323", RAISES, gpu(both_write(False), HALF, BARRIER, **PAIR), X)
    accepted(gpu(both_write(True), HALF, BARRIER, **PAIR), X)


def reused(is_fenced):
    """A slot is read and then overwritten by a copy, past a barrier."""

    def body(x_ref, o_ref, smem, filled, read):
        for half in (slice(0, 128), slice(128, 256)):
            plgpu.copy_gmem_to_smem(x_ref.at[half], smem, filled)  # perhaps refused
            plgpu.barrier_wait(filled)
            o_ref[half] = smem[...]
            if is_fenced:
                plgpu.commit_smem()
            plgpu.barrier_arrive(read)
            plgpu.barrier_wait(read)

    return body


def test_overwriting_a_slot_that_was_read_without_a_fence():
    law("PD323", RAISES, gpu(reused(False), HALF, BARRIER, BARRIER), X)
    accepted(gpu(reused(True), HALF, BARRIER, BARRIER), X)


def blocks(body, **mesh):
    return gpu(body, **{**GRID, "grid": (2,)}, **mesh)


def test_race_between_blocks():
    def body(x_ref, o_ref):
        i = jax.lax.axis_index("g")
        o_ref[pl.ds(apart * i, 128)] = x_ref[0:128]  # refused

    apart = 64
    law("PD323", RAISES, blocks(body), X)
    apart = 128
    accepted(blocks(body), X)


def test_read_of_what_another_block_wrote_is_taken():
    def body(x_ref, o_ref):
        i = jax.lax.axis_index("g")

        @pl.when(i == 0)
        def _():
            o_ref[0:128] = x_ref[0:128]

        @pl.when(i == 1)
        def _():
            o_ref[128:256] = o_ref[0:128]

    fn = blocks(body)
    accepted(fn, X)
    assert "PD201" in {one.code for one in pldb.check(pldb.trace(fn, X)).findings}


def test_race_between_clusters():
    def body(x_ref, o_ref):
        i = jax.lax.axis_index("g")
        c = jax.lax.axis_index("c")
        o_ref[pl.ds(apart * i + 64 * c, 64)] = x_ref[0:64]  # refused

    apart = 64
    law("PD323", RAISES, blocks(body, **CLUSTER), X)
    apart = 128
    accepted(blocks(body, **CLUSTER), X)


def test_copy_that_nobody_waits_for():
    law("PD324", CHECKS_COPIES, gpu(two_copies(True, False), HALF), X)
    accepted(
        gpu(two_copies(True, False), HALF, interpret=InterpretGPUParams()),
        X,
    )


# --- on a TPU -----------------------------------------------------------------------


def early(waits, interpret):
    def body(x_ref, o_ref, vmem, semaphore):
        copy = pltpu.make_async_copy(x_ref, vmem, semaphore)
        copy.start()
        if waits:
            copy.wait()
        o_ref[...] = vmem[...]
        if not waits:
            copy.wait()

    return pl.pallas_call(
        body,
        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        scratch_shapes=[
            pltpu.VMEM((8, 128), jnp.float32),
            pltpu.SemaphoreType.DMA,
        ],
        interpret=interpret,
    )


@pytest.mark.parametrize("detects", [False, True])
@pytest.mark.parametrize("waits", [False, True])
def test_race_in_tpu_interpret_mode(waits, detects):
    x = jnp.ones((8, 128))
    fn = early(waits, pltpu.InterpretParams(detect_races=detects))
    mode = targets.interpreters()[1]
    attempt = targets.Subject(fn, (x,), {}, None, None).run(mode, 60)
    found = pldb.check(pldb.trace(fn, x), select="PD323").findings
    if detects and not waits and RAISES:
        assert attempt.exception == "RuntimeError"
        assert attempt.message.startswith(found[0].details["wording"])
        assert found[0].details["where"] == mode.name
    else:
        assert attempt.status == "runs"
        assert not found


def test_table_runs_the_mode_with_the_options_that_were_asked_for():
    ask = functools.partial(pldb.portability, gpu(two_copies(False), HALF))
    row = ask(X)["GPU interpret mode"]
    assert (row.status == "refused") == RAISES
    assert row.code == ("PD323" if RAISES else "")


def test_finding_names_both_lines():
    if not RAISES:
        pytest.skip("only prints")
    finding = refused("PD323", gpu(two_copies(False), HALF), X)
    lines = {finding.loc.line, finding.other.line}
    texts = finding.loc.text + finding.other.text
    assert len(lines) == 2
    assert "smem[...] = x_ref[128:256]" in texts
    assert "o_ref.at[0:128]" in texts
