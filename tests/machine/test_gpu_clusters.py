"""Clusters: peers' memory, landings, barriers of several blocks, the launch queue."""

import numpy as np
import pytest
from tapes import Tape, barrier, buffer, ds, run, view

from pallas_debug import ir
from pallas_debug.trace import close

F32 = np.float32
NOWHERE = {"groups": (), "leader": False}


def arrive(t, ref, **params):
    access = view(ref, [0])
    params = NOWHERE | params
    t.emit("gpu.barrier_arrive", np.True_, accesses=[access], params=params, sync=True)


def wait(t, ref):
    t.emit("gpu.barrier_wait", accesses=[view(ref, [0])], sync=True)


def cluster_id(t, axis=0):
    return t.emit("grid.id", results=1, params={"axis": f"c{axis}"})


def test_peer_is_the_same_allocation_of_another_block():
    t = Tape(cluster=(2,))
    y = t.output("y", (2, 4))
    me = cluster_id(t)
    other = t.pure(lambda c: np.int32(1) - c, me)
    with t.alloc(
        buffer("a", (4,)), buffer("s", (4,)), barrier("b", arrivals=2)
    ) as refs:
        _, s, b = refs
        peer = ir.Peer(ids=(other,), axes=("c0",))
        value = t.pure(lambda c: np.full(4, c, F32), me)
        t.emit("state.set", value, accesses=[ir.Access(ref=s, steps=(peer,))])
        arrive(t, b, groups=(("c0",),))
        wait(t, b)
        t.set(y, [me, ds(0, 4)], t.get(s))
    this = t.run()
    np.testing.assert_array_equal(this.results()[0][:, 0], [1, 0])
    assert not this.m.state.memory.keys() - {0}  # the output alone is left
    assert not this.m.state.clusters


def test_peer_outside_the_cluster_is_an_error_with_its_line():
    t = Tape(cluster=(2,))
    with t.alloc(buffer("s", (4,))) as s:
        peer = ir.Peer(ids=(ir.Const(np.int32(2)),), axes=("c0",))
        t.emit("state.get", results=1, accesses=[ir.Access(ref=s, steps=(peer,))])
    outcome = t.run().record.outcome
    assert outcome.kind == "unsupported"
    assert "outside the cluster" in outcome.message


@pytest.mark.parametrize("leader", [False, True])
def test_cluster_barrier_reaches_each_block_or_the_first(leader):
    t = Tape(cluster=(2, 2))
    with t.alloc(barrier("b", arrivals=2)) as b:
        arrive(t, b, groups=(("c1",),), leader=leader)
        if not leader:
            wait(t, b)
    trace = t.trace()
    assert len(trace.events.where(kind="arrive")) == (4 if leader else 8)
    assert len(trace.events.where(kind="phase")) == (2 if leader else 4)


def land(t, ref, amount, **params):
    params = {"axes": ("c0",), "amount": amount, "leader": False} | params
    t.emit("gpu.tma_land", accesses=[view(ref, [0])], params=params, sync=True)


def test_landing_arrives_when_every_block_has_landed():
    t = Tape(cluster=(2,))
    with t.alloc(barrier("b")) as b:
        land(t, b, 8)
        wait(t, b)
    trace = t.trace()
    assert len(trace.events.where(kind="arrive")) == 2
    assert len(trace.events.where(kind="land")) == 2
    for seq in trace.events.where(kind="wait"):
        sources = np.concatenate(
            [trace.events.where(kind=k) for k in ("land", "arrive")]
        )
        mine = [s for s in sources if trace[s].buffer == trace[seq].buffer]
        assert trace.order.before(np.array(mine), seq).all()


def test_landing_counts_bytes_not_copies():
    """A fast block's second copy does not stand in for a slow block's first."""
    t = Tape(cluster=(2,))
    with t.alloc(barrier("b", arrivals=2)) as b:
        with t.when(t.pure(lambda c: c == 0, cluster_id(t))):
            land(t, b, 8)
            land(t, b, 8)
        wait(t, b)
    this = t.run()
    assert this.record.outcome.kind == "deadlock"
    assert not any(bars.completed[0] for bars in this.m.state.barriers.values())


def test_multicast_writes_a_share_to_all():
    t = Tape(cluster=(2,))
    y = t.output("y", (2, 4))
    me = cluster_id(t)
    with t.alloc(buffer("s", (4,)), barrier("b")) as (s, b):
        rank = t.emit("gpu.cluster_rank", results=1, params={"axes": ("c0",)})
        start = t.pure(lambda r: r * np.int32(2), rank)
        value = t.pure(lambda r: np.full(2, r + 1, F32), rank)
        access = view(s, [ds(start, 2)])
        params = {"axes": ("c0",)}
        t.emit("gpu.tma_multicast", value, accesses=[access], params=params)
        land(t, b, 8)
        wait(t, b)
        t.set(y, [me, ds(0, 4)], t.get(s))
    found = t.run().results()[0]
    np.testing.assert_array_equal(found, [[1, 1, 2, 2]] * 2)


@pytest.mark.parametrize(("cores", "begun"), [(None, 6), (2, 2), (1, 1)])
def test_only_what_the_chip_has_no_room_for_is_taken_off_the_queue(cores, begun):
    t = Tape(grid=(6,))
    y = t.output("y", (6,), "int32")
    params = {"axes": (), "thread_name": ""}
    with t.alloc(buffer("r", (4,), "int32"), barrier("b")) as (r, b):
        at, more = t.reg(), t.reg()
        t.move(t.grid_id(0), at)
        top = t.here
        t.set(y, [at], np.int32(7))
        here = [view(b, [0])]
        t.emit("gpu.cluster_cancel_arrive", accesses=here, params=params, sync=True)
        start = t.here
        t.emit(
            "gpu.try_cluster_cancel",
            r,
            b,
            params={**params, "extra": 0},
            targets=(-1,),
            sync=True,
        )
        wait(t, b)
        t.emit(
            "gpu.query_cluster_cancel",
            outs=[at, more],
            accesses=[view(r)],
            params={"axes": (0,)},
        )
        t.emit("ir.branch", more, targets=(t.here + 1, top))
    t.emit("ir.return")
    t.patch(start, t.here)
    answer = [view(ir.Reg(0)), view(ir.Reg(1), [0])]
    t.emit("gpu.cluster_cancel_answer", accesses=answer, sync=True)
    launch = t.launch(chip="h100") if cores is None else t.launch()
    this = run(launch, cores=cores)
    assert this.record.outcome.kind == "finished"
    np.testing.assert_array_equal(this.results()[0], 7)
    kinds = [thread.kind for thread in close(this.writer).threads]
    assert kinds.count("warpgroup") == begun


def test_checkpoint_of_a_cluster_is_independent():
    t = Tape(cluster=(2,))
    with t.alloc(barrier("b", arrivals=3)) as b:
        arrive(t, b, groups=(("c0",),))
        wait(t, b)
    state = t.run().m.state
    twin = state.copy()
    (number,) = state.clusters
    for block, copy in zip(state.clusters[number], twin.clusters[number], strict=True):
        assert copy is not block
        assert copy.linear == block.linear
    thread = next(iter(twin.threads.values()))
    assert thread.block in twin.clusters[number]
