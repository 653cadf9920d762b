"""Asynchronous copies, fences, groups: as JAX's GPU interpreter, and beyond it."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jaxlink.gpu_kernels import F32, TILED, agree, kinds, numbers, out, run

N = 128
X = numbers(N)


def smem(*shape, dtype=F32, transforms=()):
    return plgpu.SMEM(shape, dtype, transforms=transforms)


def there_and_back(x, o, s, b):
    plgpu.copy_gmem_to_smem(x, s, b)
    plgpu.barrier_wait(b)
    s[...] = s[...] + 1.0
    plgpu.commit_smem()
    plgpu.copy_smem_to_gmem(s, o)
    plgpu.wait_smem_to_gmem(0)


def test_copies_are_threads_that_read_write_and_arrive():
    trace = agree(there_and_back, out(N), smem(N), plgpu.Barrier(), args=[X])
    assert kinds(trace, "tma") == [
        *("READ", "WRITE", "ARRIVE", "PHASE", "END"),
        *("READ", "WRITE", "END"),
    ]
    assert kinds(trace, "warpgroup").count("FENCE") == 1
    load, store = trace.events.where(kind="spawn")[-2:]
    lines = [trace[seq].loc.line for seq in (load, store)]
    first = there_and_back.__code__.co_firstlineno
    assert lines == [first + 1, first + 5]
    of_agents = [t for t in trace.threads if t.kind == "tma"]
    reads = [trace.events.where(kind="read", thread=t)[0] for t in of_agents]
    assert [trace[seq].loc.line for seq in reads] == lines


def test_tiled_and_transposed_views():
    def body(x, o, s, b):
        plgpu.copy_gmem_to_smem(x, s, b)
        plgpu.barrier_wait(b)
        o[...] = s.transpose((1, 0))[...]

    x = numbers(64, 128)
    scratch = smem(64, 128, transforms=(plgpu.TilingTransform((8, 32)),))
    trace = run(body, out(128, 64), scratch, plgpu.Barrier(), args=[x])
    np.testing.assert_array_equal(trace.outputs, np.asarray(x).T)


def test_copy_past_the_end_brings_zeros_and_says_what_was_asked():
    def body(x, o, s, b):
        start = lax.axis_index("g") + 96
        plgpu.copy_gmem_to_smem(x.at[pl.ds(start, 64)], s, b)
        plgpu.barrier_wait(b)
        plgpu.copy_smem_to_gmem(s, o.at[pl.ds(start - 16, 64)])
        plgpu.wait_smem_to_gmem(0)

    mesh = {"grid": (1,), "grid_names": ("g",)}
    trace = run(body, out(N), smem(64), plgpu.Barrier(), args=[X], **mesh)
    np.testing.assert_array_equal(trace.outputs[80:112], X[96:])
    np.testing.assert_array_equal(trace.outputs[112:], 0)
    (seq,) = trace.events.where(kind="read", buffer="x")
    region = trace[seq].region
    assert region.spans == ((96, 64, 1),)
    assert region.effective((N,)).spans == ((96, 32, 1),)


@pytest.mark.parametrize("taken", [False, True])
def test_predicate_decides_whether_a_copy_starts(taken):
    def body(x, o, s):
        s[...] = x[...]
        plgpu.commit_smem()
        wanted = x[0] == (0.0 if taken else 1.0)
        plgpu.copy_smem_to_gmem(s, o, predicate=wanted)
        plgpu.wait_smem_to_gmem(0)

    trace = run(body, out(N), smem(N), args=[X])
    assert kinds(trace).count("JOIN") == taken
    assert np.isnan(trace.outputs).all() != taken


@pytest.mark.parametrize("operation", ["add", "max", "min"])
def test_store_with_a_reduction_updates(operation):
    def body(x, o, s):
        s[...] = x[...]
        o[...] = x[...][::-1] if operation == "none" else jnp.full((N,), 60.0, F32)
        plgpu.commit_smem()
        plgpu.copy_smem_to_gmem(s, o, reduction_op=operation)
        plgpu.wait_smem_to_gmem(0)

    trace = run(body, out(N), smem(N), args=[X])
    combine = {"add": np.add, "max": np.maximum, "min": np.minimum}[operation]
    np.testing.assert_array_equal(trace.outputs, combine(np.asarray(X), 60.0))
    assert kinds(trace, "tma") == ["READ", "UPDATE", "END"]


def test_groups_are_waited_for_in_order():
    def body(x, o, s):
        for i in range(4):
            s[i] = x[pl.ds(i * 32, 32)]
            plgpu.commit_smem()
            together = i in (0, 2)
            target = o.at[pl.ds(i * 32, 32)]
            plgpu.copy_smem_to_gmem(s.at[i], target, commit_group=not together)
        plgpu.wait_smem_to_gmem(1, wait_read_only=True)
        plgpu.wait_smem_to_gmem(1)
        plgpu.wait_smem_to_gmem(0)

    trace = agree(body, out(N), smem(4, 32), args=[X])
    joins = [trace[seq].column("aux") for seq in trace.events.where(kind="join")]
    assert joins == [1, 1, 0, 0, 0, 0]
    assert kinds(trace).count("COMMIT") == 2


def test_pipeline_with_a_predicate():
    """JAX's interpreter refuses the predicated copy that this unrolls to."""

    def step(_, x_smem, o_smem):
        o_smem[...] = x_smem[...] * 2.0

    def body(x, o):
        spec = plgpu.BlockSpec((32, 64), lambda i: (i, 0))
        plgpu.emit_pipeline(
            step, grid=(4,), in_specs=[spec], out_specs=[spec], max_concurrent_steps=2
        )(x, o)

    x = numbers(128, 64)
    trace = run(body, out(128, 64), args=[x])
    np.testing.assert_array_equal(trace.outputs, x * 2)
    assert any(i.params.get("predicate") for i in trace.launches[0].kernel.tape)


def test_warp_specialized_pipeline():
    def body(x, o):
        def step(index, x_smem):
            rows = lax.axis_index("wg") * 64
            o[pl.ds(index[0] * 128 + rows, 64)] = x_smem[pl.ds(rows, 64)] + 1

        spec = plgpu.BlockSpec((128, 64), lambda i: (i, 0), transforms=TILED)
        plgpu.emit_pipeline_warp_specialized(
            step,
            grid=(3,),
            in_specs=[spec],
            max_concurrent_steps=2,
            num_compute_wgs=2,
            memory_registers=40,
            wg_axis="wg",
        )(x)

    x = numbers(384, 64, dtype=jnp.float16)
    wanted = out(384, 64, dtype=jnp.float16)
    trace = run(body, wanted, args=[x], num_threads=3, thread_name="wg")
    np.testing.assert_array_equal(trace.outputs, x + 1)


def test_prefetch_is_no_read():
    def body(x, o):
        plgpu.async_prefetch(x.at[pl.ds(0, 64)])
        o[...] = x[...]

    trace = run(body, out(N), args=[X])
    assert kinds(trace).count("READ") == 1


def test_gather_by_an_array_of_rows():
    def body(x, rows, o, s, b):
        plgpu.copy_gmem_to_smem(x.at[rows[...]], s, b)
        plgpu.barrier_wait(b)
        o[...] = s[...]

    x, rows = numbers(16, 64), jnp.array([3, 3, 15, 0, 20, 1, 2, 4], jnp.int32)
    trace = run(body, out(8, 64), smem(8, 64), plgpu.Barrier(), args=[x, rows])
    wanted = np.concatenate([np.asarray(x), np.zeros((8, 64), np.float32)])[rows]
    np.testing.assert_array_equal(trace.outputs, wanted)


@pytest.mark.skipif(not hasattr(plgpu, "im2col_ref"), reason="newer than this JAX")
def test_windows_of_an_image_are_rows():
    pad, size = (1, 1), (3, 3)

    def body(x, o, s, b):
        windows = plgpu.im2col_ref(x, window_shape=size, padding=(pad, pad))

        @pl.loop(0, 9)
        def _(k):
            pixel = windows.at[pl.ds(8, 64), lax.div(k, 3), lax.rem(k, 3), :]
            plgpu.copy_gmem_to_smem(pixel, s, b)
            plgpu.barrier_wait(b)
            o[k] = s[...]

    x = numbers(2, 6, 6, 32)
    trace = run(body, out(9, 64, 32), smem(64, 32), plgpu.Barrier(), args=[x])
    padded = np.pad(np.asarray(x), ((0, 0), pad, pad, (0, 0)))
    rows = np.zeros((9, 80, 32), np.float32)
    for r in range(72):
        n, h, w = np.unravel_index(r, (2, 6, 6))
        rows[:, r] = padded[n, h : h + 3, w : w + 3].reshape(9, 32)
    np.testing.assert_array_equal(trace.outputs, rows[:, 8:72])
