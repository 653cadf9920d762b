"""Buffers: lifetimes, unset contents, the caller's arrays, what a value is."""

import ml_dtypes
import numpy as np
import pytest
import tapes
from tapes import Tape, ds

from pallas_debug.machine.memory import dtype_of, poison
from pallas_debug.trace import Kind, close

F32 = np.float32


@pytest.mark.parametrize(
    "name",
    ["float16", "float32", "bfloat16", "float8_e4m3fn", "float8_e5m2"],
)
def test_unset_floats_are_nan(name):
    value = poison(dtype_of(name))
    assert value != value
    assert value.dtype == dtype_of(name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("int8", 127), ("uint16", 65535), ("int4", 7), ("uint4", 15), ("bool", True)],
)
def test_unset_integers_are_the_largest(name, expected):
    value = poison(dtype_of(name))
    assert value == dtype_of(name).type(expected)
    assert value.dtype == dtype_of(name)


def test_unset_type_without_nan_is_its_largest():
    largest = ml_dtypes.finfo(ml_dtypes.float4_e2m1fn).max
    assert poison(dtype_of("float4_e2m1fn")) == largest


def test_unset_memory_can_be_zero():
    t = Tape()
    y = t.output("y", (2,))
    with t.alloc(tapes.buffer("s", (2,))) as s:
        t.set(y, (), t.get(s))
    assert np.isnan(t.run().results()[0]).all()
    assert t.run(uninitialized="zero").results()[0].tolist() == [0, 0]


def test_output_that_nobody_writes_is_unset():
    t = Tape()
    t.output("y", (2,), "int32")
    assert t.run().results()[0].tolist() == [2**31 - 1] * 2


def test_buffer_ends_at_its_free():
    t = Tape()
    with t.loop(np.int32(3)), t.alloc(tapes.buffer("s", (4,))):
        pass
    run = t.run()
    assert len(run.m.state.memory) == 0
    trace = close(run.writer)
    assert [b.name for b in trace.buffers] == ["s"] * 3
    assert all(b.free > b.alloc >= 0 for b in trace.buffers)


def test_value_read_is_no_view_of_the_buffer():
    t = Tape()
    y = t.output("y", (2, 2))
    with t.alloc(tapes.buffer("s", (2,))) as s:
        t.set(s, (), np.zeros(2, F32))
        old = t.get(s)
        t.set(s, (), np.ones(2, F32))
        t.set(y, [0, ds(0, 2)], old)
        t.set(y, [1, ds(0, 2)], t.get(s))
    assert t.run().results()[0].tolist() == [[0, 0], [1, 1]]


def test_recorded_value_does_not_change_with_the_buffer():
    t = Tape()
    with t.alloc(tapes.buffer("s", (2,))) as s:
        t.set(s, (), np.zeros(2, F32))
        t.get(s)
        t.set(s, (), np.ones(2, F32))
    trace = t.trace(values="all")
    (read,) = trace.events.where(kind="read")
    assert trace.values(read).tolist() == [0, 0]


def test_scalar_is_a_numpy_scalar():
    t = Tape()
    x, y = t.input("x", (2,)), t.output("y", (), "bool")
    value = t.get(x, [1])
    t.set(y, (), t.pure(lambda a: np.bool_(type(a) is np.float32), value))
    assert t.run(np.zeros(2, F32)).results()[0]


def test_input_that_is_written_leaves_the_callers_array():
    t = Tape()
    x, y = t.input("x", (2,)), t.output("y", (2,))
    t.set(x, [0], F32(9))
    t.set(y, (), t.get(x))
    given = np.zeros(2, F32)
    given.flags.writeable = False
    run = t.run(given)
    assert run.record.outcome.kind == "finished"
    assert run.results()[0].tolist() == [9, 0]
    assert given.tolist() == [0, 0]
    trace = close(run.writer)
    assert trace.payload(trace.buffer_rows[0].initial).tolist() == [0, 0]


def test_input_of_another_memory_order_is_read_right():
    t = Tape()
    x, y = t.input("x", (2, 3)), t.output("y", (6,))
    gathered = [tapes.ir.Reshape(shape=(6,))]
    t.set(y, (), t.get(x, gathered))
    given = np.asfortranarray(np.arange(6, dtype=F32).reshape(2, 3))
    assert t.run(given).results()[0].tolist() == list(range(6))


def test_aliased_output_is_its_input():
    t = Tape()
    x = t.input("x", (2,))
    y = t.output("y", (2,), alias=x)
    t.set(y, [0], F32(7))
    given = np.array([1, 2], F32)
    run = t.run(given)
    assert run.results()[0].tolist() == [7, 2]
    assert given.tolist() == [1, 2]
    trace = close(run.writer)
    assert trace.buffer_rows[1].alias == 0


def masked(t, ref, steps, *ins, op="pallas.masked_store", results=0):
    return t.emit(op, *ins, results=results, accesses=[tapes.view(ref, steps)])


def test_masked_store_touches_only_true_elements():
    t = Tape()
    y = t.output("y", (4,))
    t.set(y, (), np.zeros(4, F32))
    mask = np.array([True, False, True, False])
    masked(t, y, (), np.ones(4, F32), mask)
    run = t.run()
    assert run.results()[0].tolist() == [1, 0, 1, 0]
    trace = close(run.writer)
    write = trace.events.where(kind="write")[-1]
    region = trace.region(int(trace.columns.region[write]))
    assert region.mask.tolist() == mask.tolist()


def test_masked_load_gives_other_or_unset():
    t = Tape()
    x, y = t.input("x", (2,)), t.output("y", (3, 4))
    mask = np.array([True, True, False, False])
    for row, other in enumerate([None, F32(5)]):
        value = masked(
            t, x, [ds(0, 4)], mask, other, op="pallas.masked_load", results=1
        )
        t.set(y, [row, ds(0, 4)], value)
    run = t.run(np.array([1, 2], F32))
    y = run.results()[0]
    assert y[0, :2].tolist() == [1, 2]
    assert np.isnan(y[0, 2:]).all()
    assert y[1].tolist() == [1, 2, 5, 5]
    # The lanes under a false mask are outside, and no access says so.
    trace = close(run.writer)
    for seq in trace.events.where(kind="read"):
        assert trace.region(int(trace.columns.region[seq])).is_inside((2,))


def test_masked_store_of_the_same_element_twice_keeps_the_true_one():
    t = Tape()
    y = t.output("y", (4,))
    t.set(y, (), np.zeros(4, F32))
    mask = np.array([True, False])
    masked(t, y, [np.array([3, 3])], np.array([1, 2], F32), mask)
    assert t.run().results()[0].tolist() == [0, 0, 0, 1]


def test_store_outside_drops_and_is_recorded_as_requested():
    t = Tape()
    y = t.output("y", (4,))
    t.set(y, (), np.zeros(4, F32))
    t.set(y, [ds(-1, 3)], np.array([1, 2, 3], F32))
    run = t.run()
    assert run.results()[0].tolist() == [2, 3, 0, 0]
    trace = close(run.writer)
    write = trace.events.where(kind="write")[-1]
    region = trace.region(int(trace.columns.region[write]))
    assert region.spans == ((-1, 3, 1),)


def test_equal_regions_and_masks_are_stored_once():
    t = Tape()
    x = t.input("x", (4,))
    mask = np.array([True, False])
    with t.loop(np.int32(5)):
        t.get(x, [np.array([2, 0])])
        masked(t, x, [ds(0, 2)], mask, None, op="pallas.masked_load", results=1)
    trace = t.trace(np.zeros(4, F32))
    assert len(trace.events.where(kind="read")) == 10
    assert len(trace.regions) == 3  # the elements, the box, its masked part
    assert len(trace.payloads) == 3  # the input, the elements, the mask


def test_collective_allocation_is_one_buffer_of_the_block():
    t = Tape(grid=(2,), threads=3)
    with t.loop(np.int32(2)), t.alloc(tapes.buffer("s", (4,)), users=3):
        pass
    trace = t.trace()
    assert len(trace.buffers) == 4
    assert sorted(b.block for b in trace.buffers) == [(0,), (0,), (1,), (1,)]
    frees = trace.events.where(kind="free")
    assert len(frees) == 4


def test_private_allocation_is_one_buffer_for_each_thread():
    t = Tape(threads=3)
    with t.alloc(tapes.buffer("r", (4,), scope="thread")):
        pass
    trace = t.trace()
    assert len(trace.buffers) == 3
    assert [b.row.thread for b in trace.buffers] == [1, 2, 3]


def test_freed_buffer_stays_for_a_copy_in_flight():
    """The issuer has left the scope; the agent's write lands in memory of its own."""

    def late(t, s):
        t.set(s, (), np.ones(2, F32))

    t = Tape()
    with t.alloc(tapes.buffer("s", (2,))) as s:
        t.start(late, s)
    run = t.run()
    assert run.record.outcome.kind == "finished"
    trace = close(run.writer)
    (write,) = trace.events.where(kind="write")
    (free,) = trace.events.where(kind="free")
    assert free < write
    assert len(run.m.state.memory) == 0


def test_alloc_event_carries_the_bytes():
    t = Tape()
    with t.alloc(tapes.buffer("s", (2, 3), "bfloat16"), tapes.barrier("b", 4)):
        pass
    trace = t.trace()
    allocs = trace.events.where(kind=Kind.ALLOC)
    assert trace.columns.aux[allocs].tolist() == [12, 32]


def test_whole_write_and_then_a_part_leave_the_recorded_value():
    """A buffer takes a written array over; what was recorded must not change."""
    t = tapes.Tape()
    y = t.output("y", (4,))
    with t.alloc(tapes.buffer("b", (4,))) as b:
        value = t.pure(lambda: np.arange(4, dtype=np.float32))
        t.set(b, (), value)
        t.set(b, [tapes.ds(1, 2)], np.float32([7, 8]))
        t.set(y, (), t.get(b))
    run = t.run()
    assert run.results()[0].tolist() == [0, 7, 8, 3]
    assert run.writer.payloads[0].tolist() == [0, 1, 2, 3]
