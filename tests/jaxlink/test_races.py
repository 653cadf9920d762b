"""Races of real kernels, each beside its fixed twin, under several schedules."""

import functools
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas import triton as plt
from jaxlink.differential import floats, traced
from jaxlink.gpu_kernels import F16, F32, kernel, load, numbers, out, random

from pallas_debug.checks import Severity, run_checks

N = 128
X = numbers(2, N)
SMEM = functools.partial(plgpu.SMEM, dtype=F32)
A, B = random(0, 64, 128), random(1, 128, 64)
OPERANDS = [plgpu.SMEM((64, 128), F16), plgpu.SMEM((128, 64), F16)]
TWO = {"num_threads": 2, "thread_name": "wg"}
PAIR = {"cluster": (2,), "cluster_names": ("c",)}
BLOCKS = {"grid": (4,), "grid_names": ("i",)}
SCHEDULES = [("round-robin", 0), ("last-first", 0), ("random", 0), ("random", 1)]


def judged(fn, *args, **options):
    """Findings of the family by code; no schedule changes them or the lines they name.

    Only which of two unordered accesses came first is the schedule's.
    """
    verdicts = []
    for policy, seed in SCHEDULES:
        trace = traced(fn, *args, policy=policy, seed=seed, **options)
        report = run_checks(trace, select="PD2")
        verdicts.append({one.code: one for one in report.findings})
    assert len({tuple(verdict) for verdict in verdicts}) == 1, verdicts
    return verdicts[0]


def gpu(body, *scratch, args=(X,), shape=(2, N), **mesh):
    return judged(kernel(body, out(*shape), *scratch, **mesh), *args)


def lines(finding):
    """Source texts of both sides."""
    return {finding.loc.text.partition("\n")[0], finding.other.text.partition("\n")[0]}


@pytest.mark.parametrize("wait", [False, True])
def test_threads_that_share_memory_need_a_barrier(wait):
    def body(x, o, s, b):
        @pl.when(lax.axis_index("wg") == 0)
        def _():
            s[...] = x[0]
            plgpu.barrier_arrive(b)

        @pl.when(lax.axis_index("wg") == 1)
        def _():
            if wait:
                plgpu.barrier_wait(b)
            o[0] = s[...]
            if not wait:
                plgpu.barrier_wait(b)

    found = gpu(body, SMEM((N,)), plgpu.Barrier(), **TWO)
    assert list(found) == ([] if wait else ["PD201"])
    if not wait:
        assert lines(found["PD201"]) == {"s[...] = x[0]", "o[0] = s[...]"}


@pytest.mark.parametrize("given_back", [False, True])
def test_slot_of_a_ring_is_refilled_too_early(given_back):
    def body(x, o, s, full, free):
        @pl.when(lax.axis_index("wg") == 0)
        def _():
            for turn in range(2):
                if turn and given_back:
                    plgpu.barrier_wait(free)
                plgpu.copy_gmem_to_smem(x.at[turn], s, full.at[turn])

        @pl.when(lax.axis_index("wg") == 1)
        def _():
            for turn in range(2):
                plgpu.barrier_wait(full.at[turn])
                o[turn] = s[...]
                plgpu.commit_smem()
                plgpu.barrier_arrive(free)

    barriers = [plgpu.Barrier(num_barriers=2), plgpu.Barrier()]
    found = gpu(body, SMEM((N,)), *barriers, **TWO)
    if given_back:
        assert not found
        return
    # The copies overtake each other, and the second one the reader of the first.
    assert {"PD201", "PD202"} <= set(found)
    assert found["PD201"].buffer == "s"
    assert found["PD201"].hint.startswith("wait before line ")


@pytest.mark.parametrize("wait", ["none", "wait", "next"])
def test_operand_of_a_product_in_flight(wait):
    """The next product waits for the one before it, as the reference says."""

    def body(a, b, o, a_smem, b_smem, barrier, again):
        load(a, b, a_smem, b_smem, barrier)

        def scope(acc):
            plgpu.wgmma(acc, a_smem.at[:, :64], b_smem.at[:64])
            if wait == "next":
                plgpu.wgmma(acc, a_smem.at[:, 64:], b_smem.at[64:])
            if wait == "wait":
                plgpu.wgmma_wait(0)
            plgpu.copy_gmem_to_smem(b.at[:64], b_smem.at[:64], again)
            plgpu.barrier_wait(again)
            return acc[...]

        o[...] = pl.run_scoped(scope, plgpu.ACC((64, 64), F32))

    barriers = [plgpu.Barrier(num_arrivals=2), plgpu.Barrier()]
    found = gpu(body, *OPERANDS, *barriers, args=(A, B), shape=(64, 64))
    assert list(found) == (["PD201"] if wait == "none" else [])
    if wait == "none":
        assert "plgpu.wgmma_wait(0)" in found["PD201"].hint


@pytest.mark.parametrize("wait", [False, True])
def test_blocks_of_a_cluster_need_a_cluster_barrier(wait):
    def body(x, g, o, b):
        c = lax.axis_index("c")
        g[c] = x[c]
        plgpu.barrier_arrive(b)
        if wait:
            plgpu.barrier_wait(b)
        o[c] = g[1 - c]
        if not wait:
            plgpu.barrier_wait(b)

    barrier = plgpu.ClusterBarrier(collective_axes=("c",))
    found = gpu(body, barrier, args=(X, X), **PAIR)
    assert list(found) == ([] if wait else ["PD201"])
    if not wait:
        assert "ClusterBarrier" in found["PD201"].hint


@pytest.mark.parametrize("own", [False, True])
def test_blocks_of_the_grid_write_each_their_own(own):
    def body(x, o):
        i = lax.axis_index("i")
        o[i if own else 0] = x[0] + i.astype(F32)

    found = gpu(body, shape=(4, N), **BLOCKS)
    assert list(found) == ([] if own else ["PD202"])
    if not own:
        assert "run in any order" in found["PD202"].hint


@pytest.mark.parametrize("reads", [False, True])
def test_copy_out_that_has_read_is_not_done_writing(reads):
    def body(x, o, s):
        s[...] = x[0]
        plgpu.commit_smem()
        plgpu.copy_smem_to_gmem(s, o.at[0])
        plgpu.wait_smem_to_gmem(0, wait_read_only=reads)
        o[1] = o[0]

    found = gpu(body, SMEM((N,)))
    assert list(found) == (["PD201"] if reads else [])


@pytest.mark.parametrize("wait", [False, True])
def test_copy_out_at_the_end_of_the_kernel(wait):
    def body(x, o, s):
        s[...] = x[0]
        plgpu.commit_smem()
        plgpu.copy_smem_to_gmem(s, o.at[0])
        if wait:
            plgpu.wait_smem_to_gmem(0, wait_read_only=True)

    assert list(gpu(body, SMEM((N,)))) == ([] if wait else ["PD221"])


@pytest.mark.parametrize("commit", [False, True])
def test_store_to_tensor_memory_needs_a_commit(commit):
    def body(x, o, t):
        plgpu.async_store_tmem(t, x[...])
        if commit:
            plgpu.commit_tmem()
        o[...] = plgpu.async_load_tmem(t)

    scratch = plgpu.TMEM((N, 64), F32)
    found = gpu(body, scratch, args=(numbers(N, 64),), shape=(N, 64))
    assert list(found) == ([] if commit else ["PD201"])
    if not commit:
        assert "plgpu.commit_tmem()" in found["PD201"].hint


@pytest.mark.parametrize("count", [1, 2])
def test_two_phases_in_flight_on_one_barrier(count):
    def body(x, o, s, b):
        for turn in range(2):
            bar = b.at[turn % count]
            plgpu.copy_gmem_to_smem(x.at[turn], s.at[turn], bar)
        for turn in range(2):
            plgpu.barrier_wait(b.at[turn % count])
        o[...] = s[...]

    found = gpu(body, SMEM((2, N)), plgpu.Barrier(num_barriers=count))
    assert list(found) == (["PD211"] if count == 1 else [])


@pytest.mark.parametrize("atomic", [False, True])
def test_programs_of_triton_add_up_with_atomics(atomic):
    def body(x_ref, y_ref, o_ref):
        at = jnp.arange(N, dtype=jnp.int32)
        if atomic:
            plt.atomic_add(o_ref, at, x_ref[0])
        else:
            o_ref[...] += x_ref[0]

    call = pl.pallas_call(
        body,
        out_shape=out(N),
        grid=(2,),
        input_output_aliases={1: 0},
        compiler_params=plt.CompilerParams(),
    )
    found = judged(call, X, jnp.zeros(N, F32))
    assert set(found) == (set() if atomic else {"PD201", "PD202"})


def revisits(semantics):
    """Every grid point adds to the same block of the output."""

    def body(x_ref, o_ref):
        o_ref[...] = jnp.where(pl.program_id(0) == 0, 0.0, o_ref[...]) + x_ref[...]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        params = pltpu.CompilerParams(dimension_semantics=(semantics,))
    return pl.pallas_call(
        body,
        grid=(4,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: (0, 0)),
        out_shape=out(8, 128),
        compiler_params=params,
    )


@pytest.mark.parametrize("semantics", ["parallel", "arbitrary"])
def test_parallel_grid_points_share_no_block_of_an_output(semantics):
    found = judged(revisits(semantics), floats(32, 128))
    if semantics == "arbitrary":
        assert not found
        return
    assert set(found) == {"PD201", "PD202"}
    assert 'call it "arbitrary"' in found["PD202"].hint


@pytest.mark.parametrize("waits", [0, 1, 2])
def test_every_copy_of_a_tpu_is_waited_for(waits):
    def body(x_ref, o_ref, v_ref, sem):
        copies = [
            pltpu.make_async_copy(x_ref.at[n], v_ref.at[n], sem) for n in range(2)
        ]
        for copy in copies:
            copy.start()
        for copy in copies[:waits]:
            copy.wait()
        if waits == 2:
            o_ref[...] = v_ref[...]

    call = pl.pallas_call(
        body,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_shape=out(2, 8, 128),
        scratch_shapes=[pltpu.VMEM((2, 8, 128), F32), pltpu.SemaphoreType.DMA],
    )
    found = judged(call, floats(2, 8, 128))
    assert list(found) == ([] if waits == 2 else ["PD221"])


@pytest.mark.parametrize("units", [1, 2])
def test_semaphore_that_keeps_a_unit(units):
    def body(x_ref, o_ref, sem):
        pl.semaphore_signal(sem, 2)
        pl.semaphore_wait(sem, units)
        o_ref[...] = x_ref[...]

    call = pl.pallas_call(
        body, out_shape=out(8, 128), scratch_shapes=[pltpu.SemaphoreType.REGULAR]
    )
    found = judged(call, floats(8, 128))
    assert list(found) == ([] if units == 2 else ["PD220"])


def test_report_is_the_same_on_a_saved_trace(tmp_path):
    trace = traced(jax.jit(revisits("parallel")), floats(32, 128))
    trace.save(tmp_path / "t.pldb")
    from pallas_debug.trace import load as loaded

    ours = run_checks(trace, select="PD2")
    theirs = run_checks(loaded(tmp_path / "t.pldb"), select="PD2")
    assert ours.findings == theirs.findings
    assert {one.code: one.severity for one in ours.findings} == {
        "PD201": Severity.ERROR,
        "PD202": Severity.WARNING,
    }
    assert np.all(
        [
            dict(a.details) == dict(b.details)
            for a, b in zip(ours.findings, theirs.findings, strict=True)
        ]
    )
