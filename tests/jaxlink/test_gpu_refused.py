"""What JAX's GPU interpreter refuses, aborts on or gets wrong: recorded, and right."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jaxlink.differential import traced
from jaxlink.gpu_kernels import F32, kinds, numbers, out, run

N = 64
X = numbers(N)
WARPGROUPS = {"num_threads": 2, "thread_name": "wg"}


def smem(*shape):
    return plgpu.SMEM(shape, F32)


@pytest.mark.parametrize("fenced", [False, True])
def test_store_before_a_copy_is_seen_with_or_without_a_fence(fenced):
    """The result is right either way: what is missing is a fact for a check."""

    def body(x, o, s, b):
        plgpu.copy_gmem_to_smem(x, s, b)
        plgpu.barrier_wait(b)
        s[...] = s[...] * 2.0
        if fenced:
            plgpu.commit_smem()
        plgpu.copy_smem_to_gmem(s, o)
        plgpu.wait_smem_to_gmem(0)

    trace = run(body, out(N), smem(N), plgpu.Barrier(), args=[X])
    np.testing.assert_array_equal(trace.outputs, X * 2)
    store = trace.events.where(kind="write", thread=1)[0]
    read = trace.events.where(kind="read", buffer="s")[-1]
    assert trace[read].thread.kind == "tma"
    between = [trace[seq].kind.name for seq in range(store, read)]
    assert ("FENCE" in between) == fenced


@pytest.mark.parametrize(("arrivals", "outcome"), [(1, "finished"), (2, "deadlock")])
def test_barrier_sized_for_more_arrivals_than_come(arrivals, outcome):
    def body(x, o, s, ready):
        wg = lax.axis_index("wg")

        @pl.when(wg == 0)
        def _():
            s[...] = x[...] + 1.0
            plgpu.barrier_arrive(ready)

        @pl.when(wg == 1)
        def _():
            plgpu.barrier_wait(ready)
            o[...] = s[...]

    barrier = plgpu.Barrier(num_arrivals=arrivals)
    trace = run(body, out(N), smem(N), barrier, args=[X], outcome=outcome, **WARPGROUPS)
    if outcome == "finished":
        np.testing.assert_array_equal(trace.outputs, X + 1)
    else:
        ((thread, *_),) = trace.launches[0].outcome.waiting
        assert trace.threads[thread].row.index == 1


def test_memory_without_a_space_of_its_own():
    def body(x, o):
        def scope(s):
            s[...] = x[...]
            o[...] = s[...].reshape(8, 8).T.reshape(N)

        pl.run_scoped(scope, pl.MemoryRef(jax.core.ShapedArray((N,), F32), pl.ANY))

    trace = run(body, out(N), args=[X])
    np.testing.assert_array_equal(trace.outputs, np.asarray(X).reshape(8, 8).T.ravel())


def test_reshaped_and_transposed_references():
    def body(x, o, s):
        s.reshape(4, 16)[...] = x[...].reshape(4, 16)
        o[...] = s.reshape(8, 8).transpose((1, 0))[...]

    trace = run(body, out(8, 8), smem(N), args=[X])
    np.testing.assert_array_equal(trace.outputs, np.asarray(X).reshape(8, 8).T)


def test_program_id_is_the_blocks():
    """JAX's interpreter says 0 at each point."""

    def body(x, o):
        i, j = pl.program_id(0), pl.program_id(1)
        o[i, j] = x[...] + (i * 10 + j + pl.num_programs(1)).astype(F32)

    mesh = {"grid": (2, 3), "grid_names": ("i", "j")}
    trace = run(body, out(2, 3, N), args=[X], **mesh)
    shift = np.arange(2)[:, None] * 10 + np.arange(3) + 3
    wanted = np.asarray(X) + shift[..., None].astype(np.float32)
    np.testing.assert_array_equal(trace.outputs, wanted)


def test_phase_that_nobody_waits_for_is_only_recorded():
    def body(x, o, b):
        for _ in range(3):
            plgpu.barrier_arrive(b)
        plgpu.barrier_wait(b)
        o[...] = x[...]

    trace = run(body, out(N), plgpu.Barrier(), args=[X])
    assert kinds(trace).count("PHASE") == 3
    (wait,) = trace.events.where(kind="wait")
    assert trace[wait].column("aux") == 1


def test_barrier_of_an_array_without_an_index_is_the_first():
    def body(x, o, b):
        plgpu.barrier_arrive(b)
        plgpu.barrier_wait(b.at[pl.ds(0, 1, stride=2)])
        o[...] = x[...]

    trace = run(body, out(N), plgpu.Barrier(num_barriers=2), args=[X])
    np.testing.assert_array_equal(trace.outputs, X)


def test_loop_of_calls_that_take_references():
    @jax.jit
    def add(ref, value):
        ref[...] = ref[...] + value

    def body(x, o, s):
        s[...] = x[...]
        lax.fori_loop(0, 3, lambda i, _: add(s, (i + 1).astype(F32)), None)
        o[...] = s[...]

    trace = run(body, out(N), smem(N), args=[X])
    np.testing.assert_array_equal(trace.outputs, X + 6)


@pytest.mark.skipif(
    "reduce" not in inspect.signature(plgpu.async_load_tmem).parameters,
    reason="newer than this JAX",
)
@pytest.mark.parametrize("reduce", ["max", "min", "absmax", "absmin"])
def test_load_that_reduces(reduce):
    def body(x, o, r, acc):
        plgpu.async_store_tmem(acc, x[...])
        plgpu.commit_tmem()
        o[...], r[...] = plgpu.async_load_tmem(acc, reduce=reduce)

    x = numbers(128, 32) - 100
    trace = run(body, (out(128, 32), out(128)), plgpu.TMEM((128, 32), F32), args=[x])
    x = np.asarray(x)
    values = np.abs(x) if reduce.startswith("abs") else x
    wanted = getattr(values, reduce.removeprefix("abs"))(axis=1)
    np.testing.assert_array_equal(trace.outputs[1], wanted)


def test_pallas_call_with_real_blocks():
    def body(x, o):
        value = jnp.where(jnp.arange(16) < 12, x[...], -1.0)
        o[...] = value + pl.program_id(0).astype(F32)

    block = pl.BlockSpec((16,), lambda i: (i,))
    call = pl.pallas_call(
        body,
        grid=(4,),
        in_specs=[block],
        out_specs=block,
        out_shape=out(N),
        compiler_params=plgpu.CompilerParams(),
    )
    trace = traced(call, X)
    x = np.asarray(X).reshape(4, 16)
    wanted = np.where(np.arange(16) < 12, x, -1) + np.arange(4)[:, None]
    np.testing.assert_array_equal(trace.outputs, wanted.ravel())
