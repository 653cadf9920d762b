"""Rules of asynchronous copies: what lies outside, reductions, groups."""

import numpy as np
import pytest
from tapes import Tape, barrier, buffer, ds, view

from pallas_debug import ir

F32 = np.float32


@pytest.mark.parametrize("zeros", [True, False])
def test_outside_is_zero_or_unset(zeros):
    t = Tape()
    x, y = t.input("x", (4,)), t.output("y", (4,))
    params = {"zeros": zeros}
    value = t.emit(
        "gpu.tma_read", results=1, accesses=[view(x, [ds(2, 4)])], params=params
    )
    t.set(y, (), value)
    found = t.run(np.arange(4, dtype=F32)).results()[0]
    np.testing.assert_array_equal(
        found, [2, 3, 0, 0] if zeros else [2, 3, *[np.nan] * 2]
    )


def test_negative_start_is_outside_too():
    t = Tape()
    x, y = t.input("x", (4,)), t.output("y", (4,))
    value = t.emit(
        "gpu.tma_read",
        results=1,
        accesses=[view(x, [ds(-2, 4)])],
        params={"zeros": True},
    )
    t.set(y, (), value)
    found = t.run(np.arange(1, 5, dtype=F32)).results()[0]
    np.testing.assert_array_equal(found, [0, 0, 1, 2])


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("add", [4, 7]),
        ("max", [3, 5]),
        ("min", [1, 2]),
        ("and", [1, 0]),
        ("or", [3, 7]),
        ("xor", [2, 7]),
        ("inc", [2, 0]),
        ("dec", [0, 2]),
    ],
)
def test_reduction_updates_what_is_there(name, wanted):
    t = Tape()
    y = t.output("y", (2,), "int32")
    t.set(y, (), np.array([1, 5], np.int32))
    value = np.array([3, 2], np.int32)
    params = {"reduction": name}
    t.emit("gpu.tma_store", value, accesses=[view(y)], params=params)
    trace = t.trace()
    run = t.run()
    np.testing.assert_array_equal(run.results()[0], wanted)
    assert len(trace.events.where(kind="update")) == 1


def test_copies_without_a_barrier_are_groups():
    t = Tape()
    x, y = t.input("x", (2, 4)), t.output("y", (2, 4))
    params = {"predicate": None, "grouped": True, "extra": 1}
    starts = []
    with t.alloc(buffer("s", (2, 4))) as s:
        for _ in range(2):
            starts.append(t.here)
            t.emit(
                "gpu.copy_gmem_to_smem", x, s, params=params, targets=(-1,), sync=True
            )
        t.emit("gpu.wait_gmem_to_smem", params={"pending": 1}, sync=True)
        t.set(y, [0, ds(0, 4)], t.get(s, [0, ds(0, 4)]))
        t.emit("gpu.wait_gmem_to_smem", params={"pending": 0}, sync=True)
        t.set(y, [1, ds(0, 4)], t.get(s, [1, ds(0, 4)]))
    t.emit("ir.return")
    registers, t.registers = t.registers, 3
    for row, start in enumerate(starts):
        t.patch(start, t.here)
        source, target, value = (ir.Reg(n) for n in range(3))
        read = {"zeros": True}
        access = view(source, [row, ds(0, 4)])
        t.emit("gpu.tma_read", outs=[value], accesses=[access], params=read)
        t.emit("gpu.tma_write", value, accesses=[view(target, [row, ds(0, 4)])])
        t.emit("ir.return")
    t.registers = registers
    trace = t.trace(np.arange(8, dtype=F32).reshape(2, 4))
    joins = trace.events.where(kind="join")
    assert len(joins) == 2
    assert joins[0] < trace.events.where(kind="read", buffer="s")[0] < joins[1]


def test_barrier_out_of_its_array_lets_nobody_go_on():
    t = Tape()
    with t.alloc(barrier("b", 2)) as b:
        t.emit("gpu.tma_arrive", accesses=[view(b, [2])], sync=True)
        t.emit("gpu.barrier_wait", accesses=[view(b, [-1])], sync=True)
    run = t.run()
    assert run.record.outcome.kind == "deadlock"
