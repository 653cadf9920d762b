"""Clusters: collective copies, barriers, peers, pairs of blocks, the launch queue."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jaxlink.gpu_kernels import F16, F32, TILED, agree, kinds, numbers, out, random, run

from pallas_debug.jaxlink import versions

PAIR = {"cluster": (2,), "cluster_names": ("c",)}
X = numbers(64, 128)


def smem(*shape, dtype=F32, transforms=()):
    return plgpu.SMEM(shape, dtype, transforms=transforms)


def cluster_barrier(*axes, **options):
    return plgpu.ClusterBarrier(collective_axes=axes or ("c",), **options)


@pytest.mark.parametrize("policy", ["round-robin", "random"])
def test_multicast_gives_each_block_all_shares(policy):
    def body(x, o, s, b):
        plgpu.copy_gmem_to_smem(x, s, b, collective_axes="c")
        plgpu.barrier_wait(b)
        o[lax.axis_index("c")] = s[...]

    options = {"policy": policy}
    scratch = [smem(64, 128), plgpu.Barrier()]
    trace = run(body, out(2, 64, 128), *scratch, args=[X], options=options, **PAIR)
    np.testing.assert_array_equal(trace.outputs, np.stack([X, X]))
    reads = [trace[seq].region.spans[0] for seq in trace.events.where(kind="read")]
    assert sorted(reads)[:3] == [(0, 32, 1), (0, 64, 1), (0, 64, 1)]
    # Each block's wait comes after what both agents wrote to its memory.
    for seq in trace.events.where(kind="wait"):
        mine = trace[seq].block
        written = [
            write
            for write in trace.events.where(kind="write", buffer=None)
            if trace[write].buffer.name == "s" and trace[write].buffer.block == mine
        ]
        assert len(written) == 2
        assert trace.order.before(np.array(written), seq).all()


def test_multicast_completes_only_when_all_blocks_take_part():
    def body(x, o, s, b):
        @pl.when(lax.axis_index("c") == 0)
        def _():
            plgpu.copy_gmem_to_smem(x, s, b, collective_axes="c")
            plgpu.barrier_wait(b)

        o[lax.axis_index("c")] = s[...]

    scratch = [smem(64, 128), plgpu.Barrier()]
    run(body, out(2, 64, 128), *scratch, args=[X], outcome="deadlock", **PAIR)


@pytest.mark.parametrize("axis", [0, 1, None])
def test_leader_counts_what_came_in_both_blocks(axis):
    partition = plgpu.CopyPartition
    tracked = partition.REPLICATED if axis is None else partition.PARTITIONED(axis)
    part = [64, 128]
    if axis is not None:
        part[axis] //= 2

    def body(x, o, s, b, done):
        plgpu.copy_gmem_to_smem(x, s, b, collective_axes="c", leader_tracked=tracked)
        pl.when(lax.axis_index("c") == 0)(lambda: plgpu.barrier_wait(b))
        plgpu.barrier_arrive(done)
        plgpu.barrier_wait(done)
        o[lax.axis_index("c")] = s[...]

    scratch = [smem(*part), plgpu.Barrier(), cluster_barrier()]
    trace = run(body, out(2, *part), *scratch, args=[X], **PAIR)
    x = np.asarray(X)
    wanted = [x, x] if axis is None else np.split(x, 2, axis)
    np.testing.assert_array_equal(trace.outputs, np.stack(wanted))
    arrivals = [trace[seq].buffer for seq in trace.events.where(kind="arrive")]
    assert sum(b.name == "b" for b in arrivals) == 1


def test_cluster_barrier_orders_all_blocks():
    def body(x, o, s, b):
        me = lax.axis_index("c")
        s[...] = x[...] + me.astype(F32)
        plgpu.barrier_arrive(b)
        plgpu.barrier_wait(b)
        o[me] = plgpu.cluster_ref(s, {"c": 1 - me})[...]
        plgpu.barrier_arrive(b)
        plgpu.barrier_wait(b)

    trace = run(
        body, out(2, 64, 128), smem(64, 128), cluster_barrier(), args=[X], **PAIR
    )
    np.testing.assert_array_equal(trace.outputs, np.stack([X + 1, X]))
    assert kinds(trace).count("ARRIVE") == 8


@pytest.mark.skipif(not versions.COPIES_SAY_HAS_BARRIER, reason="refused by JAX 0.10.2")
def test_cluster_barrier_as_in_jax():
    def body(x, o, b):
        plgpu.barrier_arrive(b)
        plgpu.barrier_wait(b)
        o[lax.axis_index("c")] = x[...]

    agree(body, out(2, 64, 128), cluster_barrier(), args=[X], **PAIR)


def test_cluster_barrier_of_two_axes_reaches_rows_and_columns():
    def body(o, b):
        plgpu.barrier_arrive(b)
        plgpu.barrier_wait(b)
        o[lax.axis_index("c"), lax.axis_index("d")] = jnp.ones((128,), F32)

    mesh = {"cluster": (2, 2), "cluster_names": ("c", "d")}
    trace = run(body, out(2, 2, 128), cluster_barrier("c", "d"), **mesh)
    assert kinds(trace).count("ARRIVE") == 4 * 3  # not the block across
    assert kinds(trace).count("PHASE") == 4


def test_store_to_a_peer_arrives_at_its_barrier():
    def body(x, o, s, b, start):
        me = lax.axis_index("c")
        plgpu.barrier_arrive(start)
        plgpu.barrier_wait(start)
        plgpu.async_store_smem(x[me], s, b, cluster_idx=1 - me, cluster_dim="c")
        plgpu.barrier_wait(b)
        o[me] = s[...]

    x = numbers(2, 64, 64)
    transforms = (plgpu.TilingTransform((8, 32)), plgpu.SwizzleTransform(128))
    scratch = [smem(64, 64, transforms=transforms), plgpu.Barrier(), cluster_barrier()]
    trace = run(body, out(2, 64, 64), *scratch, args=[x], **PAIR)
    np.testing.assert_array_equal(trace.outputs, x[::-1])


def test_pair_of_blocks_multiplies_together():
    m, n, k = 256, 128, 64

    def body(a, b, o, a_smem, b_smem, tma, mma, acc):
        partition = plgpu.CopyPartition.PARTITIONED
        copy = {"collective_axes": "c"}
        plgpu.copy_gmem_to_smem(a, a_smem, tma, leader_tracked=partition(0), **copy)
        plgpu.copy_gmem_to_smem(b, b_smem, tma, leader_tracked=partition(1), **copy)

        @pl.when(lax.axis_index("c") == 0)
        def _():
            plgpu.barrier_wait(tma)
            options = {"accumulate": False, "collective_axis": "c"}
            plgpu.tcgen05_mma(acc, a_smem, b_smem, mma, **options)

        plgpu.barrier_wait(mma)
        rows = pl.ds(lax.axis_index("c") * 128, 128)
        o[rows] = plgpu.async_load_tmem(acc)

    scratch = [
        smem(m // 2, k, dtype=F16, transforms=TILED),
        smem(k, n // 2, dtype=F16, transforms=TILED),
        plgpu.Barrier(num_arrivals=2),
        plgpu.Barrier(orders_tensor_core=True),
        plgpu.TMEM((m // 2, n), F32, collective=True),
    ]
    a, b = random(0, m, k), random(1, k, n)
    trace = run(body, out(m, n), *scratch, args=[a, b], **PAIR)
    wanted = np.asarray(a, np.float32) @ np.asarray(b, np.float32)
    np.testing.assert_allclose(trace.outputs, wanted, atol=1e-3)
    assert [t.kind for t in trace.threads].count("tcgen05") == 1


@pytest.mark.parametrize("cores", [None, 1, 2])
def test_running_blocks_take_the_rest_of_the_grid(cores):
    """With a place for all of them no block is taken off the queue."""

    def body(o):
        @plgpu.dynamic_scheduling_loop(grid_names=("g",), thread_axis="wg")
        def _(info):
            @pl.when(lax.axis_index("wg") == 0)
            def _():
                (at,) = info.index
                o[at] = jnp.full((128,), at * 10 + info.local_index, jnp.int32)

    mesh = {"grid": (5,), "grid_names": ("g",), "num_threads": 2, "thread_name": "wg"}
    options = {"cores": cores}
    trace = run(body, out(5, 128, dtype=jnp.int32), options=options, **mesh)
    found = np.asarray(trace.outputs)[:, 0]
    np.testing.assert_array_equal(found // 10, np.arange(5))
    begun = len({t.row.block for t in trace.threads if t.kind == "warpgroup"})
    assert begun == {None: 5, 1: 1, 2: 2}[cores]
    assert (found % 10).sum() == {None: 0, 1: 10, 2: 6}[cores]


def test_cluster_takes_a_whole_cluster():
    def body(o):
        options = {"thread_axis": None, "cluster_axes": ("c",)}

        @plgpu.dynamic_scheduling_loop(grid_names=("g",), **options)
        def _(info):
            (at,) = info.index
            o[at, lax.axis_index("c")] = jnp.ones((128,), jnp.int32)

    mesh = {"grid": (3,), "grid_names": ("g",), **PAIR}
    wanted = out(3, 2, 128, dtype=jnp.int32)
    trace = run(body, wanted, options={"cores": 2}, **mesh)
    np.testing.assert_array_equal(trace.outputs, 1)
