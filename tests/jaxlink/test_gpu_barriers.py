"""Barriers, warps, semaphores between blocks, atomics, hints."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jaxlink.gpu_kernels import F32, agree, kinds, numbers, out, run

N = 64
X = numbers(N)
WARPGROUPS = {"num_threads": 2, "thread_name": "wg"}


def smem(*shape, dtype=F32):
    return plgpu.SMEM(shape, dtype)


def test_ring_of_producer_and_consumer():
    def body(x, o, ring, full, free):
        wg = lax.axis_index("wg")

        @pl.when(wg == 0)
        def _():
            @pl.loop(0, 6)
            def _(i):
                slot = lax.rem(i, 2)
                pl.when(i >= 2)(lambda: plgpu.barrier_wait(free.at[slot]))
                ring[slot] = x[pl.ds(i * N, N)] + 1.0
                plgpu.barrier_arrive(full.at[slot])

        @pl.when(wg == 1)
        def _():
            @pl.loop(0, 6)
            def _(i):
                slot = lax.rem(i, 2)
                plgpu.barrier_wait(full.at[slot])
                o[pl.ds(i * N, N)] = ring[slot] * 2.0
                pl.when(i < 4)(lambda: plgpu.barrier_arrive(free.at[slot]))

    x = numbers(6 * N)
    barriers = [plgpu.Barrier(num_barriers=2)] * 2
    trace = agree(body, out(6 * N), smem(2, N), *barriers, args=[x], **WARPGROUPS)
    assert kinds(trace).count("PHASE") == 10
    assert kinds(trace).count("WAIT") == 10


@pytest.mark.parametrize("shape", [2, (2, 3)])
def test_views_of_barrier_arrays_name_one_barrier(shape):
    def body(x, o, b):
        last = b.at[1] if shape == 2 else b.at[1].at[pl.ds(1, 2)].at[1]
        plgpu.barrier_arrive(last)
        plgpu.barrier_wait(last)
        o[...] = x[...]

    trace = run(body, out(N), plgpu.Barrier(num_barriers=shape), args=[X])
    (seq,) = trace.events.where(kind="arrive")
    assert trace[seq].region.start == (1 if shape == 2 else 5,)


def test_missing_arrival_is_a_deadlock():
    def body(x, o, b):
        plgpu.barrier_arrive(b)
        plgpu.barrier_wait(b)
        o[...] = x[...]

    trace = run(
        body, out(N), plgpu.Barrier(num_arrivals=2), args=[X], outcome="deadlock"
    )
    assert np.isnan(trace.outputs).all()


@pytest.mark.parametrize("policy", ["round-robin", "random"])
def test_loop_that_tests_a_barrier_ends(policy):
    def body(x, o, s, b):
        @pl.when(lax.axis_index("wg") == 0)
        def _():
            done = lax.while_loop(lambda d: ~d, lambda d: plgpu.barrier_test(b), False)
            pl.when(done)(lambda: o.__setitem__(..., s[...]))

        @pl.when(lax.axis_index("wg") == 1)
        def _():
            s[...] = x[...]
            plgpu.barrier_arrive(b)

    trace = run(
        body,
        out(N),
        smem(N),
        plgpu.Barrier(),
        args=[X],
        options={"policy": policy},
        **WARPGROUPS,
    )
    np.testing.assert_array_equal(trace.outputs, X)


def test_loop_that_tests_in_vain_is_a_deadlock():
    def body(x, o, b):
        lax.while_loop(lambda d: ~d, lambda d: plgpu.barrier_test(b), False)
        o[...] = x[...]

    run(body, out(N), plgpu.Barrier(), args=[X], outcome="deadlock")


def test_warps_are_threads_that_keep_their_phases():
    def body(x, o, s, full, free):
        @pl.loop(0, 3)
        def _(i):
            @plgpu.warp_map
            def _(warp):
                @pl.when(warp == 0)
                def _():
                    pl.when(i > 0)(lambda: plgpu.barrier_wait(free))
                    plgpu.copy_gmem_to_smem(x.at[pl.ds(i * N, N)], s, full)

            plgpu.barrier_wait(full)
            o[pl.ds(i * N, N)] = s[...] + 1.0
            pl.when(i < 2)(lambda: plgpu.barrier_arrive(free))

    barriers = [plgpu.Barrier()] * 2
    trace = run(body, out(3 * N), smem(N), *barriers, args=[numbers(3 * N)])
    np.testing.assert_array_equal(trace.outputs, numbers(3 * N) + 1)
    warps = [t for t in trace.threads if t.kind == "warp"]
    assert [t.row.index for t in warps] == [0, 1, 2, 3] * 3
    assert kinds(trace).count("JOIN") == 12


def test_semaphores_order_blocks():
    def body(x, o, s):
        block = lax.axis_index("g")
        sem = pl.get_global(plgpu.SemaphoreType.REGULAR((2,)))

        @pl.when(block == 0)
        def _():
            pl.semaphore_wait(sem.at[1], 3)
            o[...] = s_of(x) + pl.semaphore_read(sem.at[1]).astype(F32)

        @pl.when(block > 0)
        def _():
            pl.semaphore_signal(sem.at[1], block)

    def s_of(x):
        return x[...]

    mesh = {"grid": (3,), "grid_names": ("g",)}
    trace = run(body, out(N), smem(N), args=[X], **mesh)
    np.testing.assert_array_equal(trace.outputs, X)
    assert kinds(trace).count("SIGNAL") == 2


@pytest.mark.parametrize("name", ["add", "max", "min", "and", "or", "xor"])
def test_atomics_of_all_blocks_land(name):
    atomic = getattr(plgpu, f"atomic_{name}", None)
    if atomic is None:
        pytest.skip("this JAX has no such atomic")

    def body(x, y, o):
        pl.when(lax.axis_index("g") == 0)(lambda: o.__setitem__(..., y[...]))
        atomic(o, x[...])

    x, y = (numbers(N, dtype=jnp.int32) + i for i in (3, 90))
    mesh = {"grid": (2,), "grid_names": ("g",)}
    trace = run(body, out(N, dtype=jnp.int32), args=[x, y], **mesh)
    ufunc = {"max": "maximum", "min": "minimum", "and": "bitwise_and"}
    ufunc |= {"or": "bitwise_or", "xor": "bitwise_xor"}
    combine = getattr(np, ufunc.get(name, name))
    x, y = np.asarray(x), np.asarray(y)
    np.testing.assert_array_equal(trace.outputs, combine(combine(y, x), x))
    assert kinds(trace).count("UPDATE") == 2


def test_hints_change_nothing():
    def body(x, o):
        plgpu.set_max_registers(40, action="decrease")
        plgpu.print_layout("{}", x[...])
        value = plgpu.layout_cast(x[...], plgpu.Layout.WG_STRIDED((N,), 1))
        ids = plgpu.broadcasted_iota(jnp.int32, (N,), 0, layout=plgpu.Layout.WG_STRIDED)
        o[...] = value + ids.astype(F32)

    trace = run(body, out(N), args=[X])
    np.testing.assert_array_equal(trace.outputs, X + np.arange(N, dtype=np.float32))


def splat(value):
    @plgpu.inline_mgpu(
        return_type=plgpu.ShapeDtypeStruct((N,), F32, layout=plgpu.Layout.WG_STRIDED)
    )
    def fn(_):
        raise AssertionError("nobody lowers this")

    return fn() + value


@pytest.mark.parametrize("unsupported", ["stop", "stub"])
def test_inline_code_stops_or_is_skipped(unsupported):
    def body(x, o):
        o[pl.ds(0, 32)] = x[pl.ds(0, 32)]
        o[...] = splat(x[...])

    outcome = "unsupported" if unsupported == "stop" else "finished"
    options = {"unsupported": unsupported}
    trace = run(body, out(N), args=[X], outcome=outcome, options=options)
    np.testing.assert_array_equal(np.isnan(trace.outputs[:32]), unsupported == "stub")
    assert kinds(trace).count("STUB") == (unsupported == "stub")


def test_batched_kernel_has_one_more_grid_axis():
    def body(x, o):
        o[...] = x[...] + lax.axis_index("g").astype(F32)

    fn = plgpu.kernel(body, out_type=out(N), grid=(1,), grid_names=("g",))
    from jaxlink.differential import traced

    trace = traced(jax.vmap(fn), numbers(3, N))
    np.testing.assert_array_equal(trace.outputs, numbers(3, N))
