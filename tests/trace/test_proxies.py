import numpy as np
import pytest
from helpers import TraceBuilder

from pallas_debug.trace.proxies import Engine, Proxies, Standing

ISSUES = {
    "mma": ("gpu.tcgen05_mma", "tcgen05"),
    "cp": ("gpu.tcgen05_copy_start", "tcgen05"),
    "commit": ("gpu.tcgen05_commit_arrive", "tcgen05"),
    "tma": ("gpu.copy_gmem_to_smem", "tma"),
    "wgmma": ("gpu.wgmma", "wgmma"),
}


class Unit:
    """One or two warpgroups, tensor memory, and operations issued by them."""

    def __init__(self):
        self.b = TraceBuilder(grid=(1,))
        self.t = self.b.buffer("t", (8,), space="tmem", block=0)
        self.bar = self.b.barrier("bar")
        self.groups = [self.b.thread(block=0, index=i) for i in range(2)]

    def issue(self, what, group=0, after=()):
        op, kind = ISSUES[what]
        agent = self.groups[group].spawn(kind, op=op)
        row = self.b.writer.threads[agent.number]
        self.b.writer.threads[agent.number] = row._replace(instr=self.b.instr(op=op))
        for previous in after:
            agent.join(previous)
        return agent

    def hand_over(self, agent=None):
        """The second warpgroup waits for the first, or for an operation."""
        (agent or self.groups[0]).arrive(self.bar)
        (agent or self.groups[0]).phase(self.bar)
        self.groups[1].wait(self.bar)

    def standing(self, a, b):
        trace = self.b.close()
        return Standing(int(Proxies(trace).standing(np.array([a]), np.array([b]))[0]))


@pytest.mark.parametrize(
    ("first", "second", "standing"),
    [
        ("mma", "mma", Standing.ORDERED),
        ("cp", "mma", Standing.ORDERED),
        ("mma", "cp", Standing.UNORDERED),
        ("cp", "cp", Standing.UNORDERED),
    ],
)
@pytest.mark.parametrize("across", [False, True])
def test_matrix_unit_keeps_the_order_of_pipelined_pairs(
    first, second, standing, across
):
    u = Unit()
    one = u.issue(first)
    a = one.write(u.t)
    if across:
        u.hand_over()
        two = u.issue(second, group=1)
    else:
        # The recording runs them one after the other; that is no order.
        two = u.issue(second, after=[one])
    assert u.standing(a, two.write(u.t)) is standing


def test_products_of_threads_in_no_order_are_in_none():
    u = Unit()
    a = u.issue("mma").write(u.t)
    assert u.standing(a, u.issue("mma", group=1).write(u.t)) is Standing.UNORDERED


@pytest.mark.parametrize("waits", [False, True])
def test_commit_carries_all_operations_of_its_thread(waits):
    u = Unit()
    product = u.issue("mma")
    a = product.write(u.t)
    commit = u.issue("commit", after=[product])
    if waits:
        u.hand_over(commit)
    b = u.groups[1].read(u.t, op="gpu.async_load_tmem")
    assert u.standing(a, b) is (Standing.ORDERED if waits else Standing.UNORDERED)


@pytest.mark.parametrize(
    ("op", "scope", "standing"),
    [
        ("gpu.async_store_tmem", 1, Standing.ORDERED),
        ("gpu.async_store_tmem", 2, Standing.UNORDERED),
        ("gpu.async_load_tmem", 2, Standing.ORDERED),
        ("gpu.async_load_tmem", 0, Standing.UNORDERED),
        ("state.set", None, Standing.ORDERED),
    ],
)
def test_tensor_memory_is_done_at_the_fence_of_its_own_thread(op, scope, standing):
    for consumer in (0, 1):
        u = Unit()
        touch = u.groups[0].read if "load" in op else u.groups[0].write
        a = touch(u.t, op=op)
        if scope is not None:
            u.groups[0].fence(scope)
        if consumer:
            u.hand_over()
            u.groups[1].fence(1)
            u.groups[1].fence(2)
        assert u.standing(a, u.groups[consumer].write(u.t)) is standing


def test_engines_are_known_by_what_issued_them():
    u = Unit()
    agents = {what: u.issue(what).number for what in ISSUES}
    plain = u.groups[0].spawn("tma", op="gpu.async_store_smem").number
    engine = Proxies(u.b.close()).engine
    assert {what: Engine(int(engine[n])) for what, n in agents.items()} == {
        "mma": Engine.PRODUCT,
        "cp": Engine.TENSOR_COPY,
        "commit": Engine.ARRIVAL,
        "tma": Engine.TMA,
        "wgmma": Engine.WGMMA,
    }
    assert engine[plain] == Engine.PROGRAM


def test_answers_for_many_pairs_are_those_for_each():
    u = Unit()
    a = [u.groups[0].write(u.t, op="gpu.async_store_tmem") for _ in range(3)]
    u.groups[0].fence(1)
    u.hand_over()
    b = [u.groups[1].write(u.t), u.issue("mma", group=1).write(u.t)]
    first, second = np.array([*a, a[0]] * 2), np.repeat(b, 4)
    rules = Proxies(u.b.close())
    together = rules.standing(first, second)
    alone = [
        rules.standing(first[i : i + 1], second[i : i + 1])[0]
        for i in range(len(first))
    ]
    np.testing.assert_array_equal(together, alone)
