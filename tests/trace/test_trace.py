import numpy as np
import pytest
from helpers import TraceBuilder
from hypothesis import given, settings
from trace_strategies import memory_traces, thread_traces

from pallas_debug.errors import BadOption
from pallas_debug.trace import Kind, close


def small():
    b = TraceBuilder(grid=(2, 4), name="matmul")
    x = b.buffer("x", (8, 8), initial=np.zeros((8, 8), np.float32), role="input")
    acc = b.buffer("acc", (8,), space="smem", scope="block", block=3, line=2)
    t = b.thread("warpgroup", block=3, index=1)
    t.alloc(acc, line=2)
    t.read(x, [(0, 4), (3, 1)], line=3)
    t.write(acc, [(0, 4, 2)], np.ones(4, np.float32), line=4)
    t.free(acc, line=5)
    return b


def test_columns_are_read_only_and_typed():
    trace = small().close()
    assert len(trace) == len(trace.events) == 4
    assert trace.columns.kind.dtype == np.uint8
    assert trace.columns.payload.dtype == np.int32
    assert trace.columns.clock.tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        trace.columns.kind[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        trace.values(2)[0] = 1


def test_the_writer_may_go_on_after_close():
    b = small()
    before = b.close()
    b.thread("core").print("more")
    assert len(before) == 4
    assert len(close(b.writer)) == 5


def test_values_and_payloads():
    trace = small().close()
    assert trace.values(2).tolist() == [1, 1, 1, 1]
    assert trace.values(1) is None


def test_buffers_have_owners_and_lifetimes():
    x, acc = small().close().buffers
    assert (x.name, x.space, x.role, x.nbytes) == ("x", "gmem", "input", 256)
    assert (x.owner, x.alloc, x.free, x.block) == ("the launch", -1, -1, None)
    assert (acc.owner, acc.alloc, acc.free) == ("block (0, 3)", 0, 3)
    assert (acc.block, acc.loc.line) == ((0, 3), 2)
    assert repr(acc) == "<buffer 1 acc: float32[8] in smem, 32 bytes of block (0, 3)>"


@pytest.mark.parametrize(
    ("dtype", "nbytes"),
    [
        ("int4", 16),
        ("float8_e4m3fn", 32),
        ("bool", 32),
        ("bfloat16", 64),
        ("barrier", 256),
    ],
)
def test_bytes_of_small_types_are_packed(dtype, nbytes):
    b = TraceBuilder()
    b.buffer("x", (4, 8), dtype)
    assert b.close().buffers[0].nbytes == nbytes


def test_launches_say_what_they_are():
    trace = small().close(outcome="truncated", message="limit")
    (launch,) = trace.launches
    assert (launch.name, launch.backend, launch.grid) == (
        "matmul",
        "mosaic_gpu",
        (2, 4),
    )
    assert (launch.events, launch.blocks) == (range(4), 8)
    assert launch.coordinates(5) == (1, 1)
    assert launch.linear((1, 1)) == 5
    assert launch.coordinates(-1) is None
    assert launch.coordinates(8) is None
    assert launch.linear((2, 0)) == launch.linear((0,)) == -1
    assert repr(trace) == (
        "<Trace of matmul: 4 events, 1 launches, 2 threads, 2 buffers, truncated>"
    )


def test_a_grid_without_axes_has_one_block():
    (launch,) = TraceBuilder(grid=()).close().launches
    assert launch.coordinates(0) == ()
    assert launch.linear(()) == 0


def test_clusters_count_blocks():
    from pallas_debug import ir

    b = TraceBuilder(grid=(2,))
    b.kernel["grid"] = ir.Grid(shape=(2,), cluster=(2,))
    (launch,) = b.close().launches
    assert (launch.blocks, launch.coordinates(3)) == (4, (1, 1))


def test_several_launches():
    b = TraceBuilder(name="first")
    b.thread().print("a")
    c = b.next_launch(name="second")
    c.thread().print("b")
    trace = c.close()
    assert [launch.name for launch in trace.launches] == ["first", "second"]
    assert trace.columns.launch.tolist() == [0, 1]
    assert trace[:1].launches[-1].outcome.kind == "running"
    assert [repr(trace[0]), repr(trace.events[-1])] == [
        "#0 print 'a' by warpgroup 0 at kernel.py:1",
        "#1 print 'b' by warpgroup 0 at kernel.py:1",
    ]


@settings(deadline=None, max_examples=30)
@given(memory_traces() | thread_traces())
def test_a_prefix_of_a_trace_is_a_trace(trace):
    for count in range(len(trace) + 1):
        part = trace[:count]
        assert len(part) == count
        assert [repr(e) for e in part.events] == [
            repr(e) for e in list(trace.events)[:count]
        ]
        np.testing.assert_array_equal(part.columns.clock, trace.columns.clock[:count])
        np.testing.assert_array_equal(
            part.events.where(kind="read"),
            [seq for seq in trace.events.where(kind="read") if seq < count],
        )
        assert part[: count // 2].launches[0].events == range(count // 2)
    assert trace[:] is trace


def test_other_slices_are_refused():
    trace = small().close()
    for part in (slice(1, None), slice(None, None, 2)):
        with pytest.raises(BadOption, match=r"trace\[:n\]"):
            trace[part]
    assert trace[2].kind is Kind.WRITE
    assert trace[-1].kind is Kind.FREE
    with pytest.raises(IndexError):
        trace[4]
