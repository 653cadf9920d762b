import numpy as np
import pytest
from helpers import TraceBuilder
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_strategies import memory_traces, thread_traces

from pallas_debug import errors
from pallas_debug.trace import Kind


@pytest.fixture(scope="module")
def trace():
    b = TraceBuilder(grid=(2, 2), name="matmul")
    x = b.buffer("x", (8,), initial=np.zeros(8, np.float32))
    bar, sem = b.barrier("bar", 2, arrivals=2, block=3), b.semaphore("sem")
    s = b.buffer("s", (8, 8), space="smem", block=3)
    t = b.thread("warpgroup", block=3, index=1)
    t.alloc(s, line=1)
    agent = t.spawn("tma", line=4, op="gpu.copy")
    agent.read(x, line=4, op="gpu.copy")
    agent.write(s, [(0, 4), (4, 4)], np.zeros((4, 4)), line=4, op="gpu.copy")
    agent.arrive(bar, 1, line=4)
    agent.phase(bar, 1, line=4)
    agent.end(line=4)
    t.wait(bar, 1, line=5)
    t.blocked(-1, aux=agent.number, line=6)
    t.join(agent, line=6)
    t.signal(sem, aux=3, line=7)
    t.write(s, elements=[1, 2, 3, 4, 5, 6], line=8)
    t.write(s, [(0, 8, 1), (0, 2, 3)], mask=np.eye(8, 2), line=9)
    t.print("hello", line=9)
    t.grid(1)
    t.emit(Kind.ASSERT, aux=0, line=9)
    c = b.next_launch(name="softmax", grid=(4,))
    c.buffer("x", (8,), initial=np.zeros(8, np.float32))
    c.thread("block", block=2).read(4, line=4)
    return c.close()


def test_rows_read_like_sentences(trace):
    assert [repr(event).partition(" ")[2] for event in trace.events] == [
        "alloc s by warpgroup 1 of block (1, 1) at kernel.py:1",
        "spawn tma 2 of block (1, 1) by warpgroup 1 of block (1, 1) at kernel.py:4",
        "read x[0:8] by tma 2 of block (1, 1) at kernel.py:4",
        "write s[0:4, 4:8] by tma 2 of block (1, 1) at kernel.py:4",
        "arrive bar[1] by tma 2 of block (1, 1) at kernel.py:4",
        "phase bar[1] (1) by tma 2 of block (1, 1) at kernel.py:4",
        "end by tma 2 of block (1, 1) at kernel.py:4",
        "wait bar[1] (1) by warpgroup 1 of block (1, 1) at kernel.py:5",
        "block by warpgroup 1 of block (1, 1) at kernel.py:6",
        "join tma 2 of block (1, 1) by warpgroup 1 of block (1, 1) at kernel.py:6",
        "signal sem[0] (3) by warpgroup 1 of block (1, 1) at kernel.py:7",
        "write s[1, 2, 3, 4, … 6 elements] by warpgroup 1 of block (1, 1) at kernel.py:8",
        "write s[0:8, 0:4:3, 2 of 16 by mask] by warpgroup 1 of block (1, 1) "
        "at kernel.py:9",
        "print 'hello' by warpgroup 1 of block (1, 1) at kernel.py:9",
        "grid (0, 1) by warpgroup 1 of block (1, 1) at kernel.py:1",
        "assert failed by warpgroup 1 of block (1, 1) at kernel.py:9",
        "read x[0:8] by block (2,) at kernel.py:4",
    ]


def test_semaphores_of_an_array_are_named_by_their_place():
    b = TraceBuilder()
    sems = b.buffer("sems", (2, 3), "dma_semaphore", space="semaphore", role="sync")
    t = b.thread("core")
    t.signal(sems, 4, aux=3, line=7)
    t.wait(sems, 9, line=8)
    one, outside = b.close().events
    assert (one.part, one.what) == ("[1, 1]", "signal sems[1, 1] (3)")
    assert outside.part == "[9]"


def test_assertions_say_whether_they_held_and_why_not():
    b = TraceBuilder()
    t = b.thread()
    t.emit(Kind.ASSERT, aux=1)
    t.asserted("too large")
    t.emit(Kind.ASSERT, aux=0)  # as older files have it
    t.print("hello")
    trace = b.close()
    assert [event.what for event in trace.events] == [
        "assert held",
        "assert failed: 'too large'",
        "assert failed",
        "print 'hello'",
    ]
    assert [event.text for event in trace.events] == ["", "too large", "", "hello"]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ({}, list(range(17))),
        ({"kind": "write"}, [3, 11, 12]),
        ({"kind": Kind.WRITE}, [3, 11, 12]),
        ({"kind": ("READ", Kind.PRINT)}, [2, 13, 16]),
        ({"buffer": "x"}, [2, 16]),
        ({"buffer": 0}, [2]),
        ({"buffer": ["bar", "sem"]}, [4, 5, 7, 10]),
        ({"buffer": "x", "launch": "softmax"}, [16]),
        ({"launch": 1}, [16]),
        ({"thread": "tma"}, [2, 3, 4, 5, 6]),
        ({"thread": 2, "kind": "read"}, [2]),
        ({"block": 2}, [16]),
        ({"block": (2,)}, [16]),
        ({"block": (1, 1), "kind": "alloc"}, [0]),
        ({"line": 4, "kind": "read"}, [2, 16]),
        ({"line": "kernel.py:8"}, [11]),
        ({"line": "kernel.py:98"}, []),
        ({"line": 77}, []),
        ({"space": "smem"}, [0, 3, 11, 12]),
        ({"op": "gpu.copy"}, [1, 2, 3]),
    ],
    ids=str,
)
def test_where(trace, condition, found):
    result = trace.events.where(**condition)
    assert result.dtype == np.int64
    assert result.tolist() == found


def test_where_takes_entries_of_the_tables(trace):
    assert trace.events.where(buffer=trace.buffers[0]).tolist() == [2]
    assert trace.events.where(thread=trace.threads[2], kind="read").tolist() == [2]


@pytest.mark.parametrize(
    ("condition", "nearest"),
    [
        ({"bufer": "x"}, "buffer"),
        ({"kind": "writ"}, "write"),
        ({"kind": 99}, ""),
        ({"buffer": "semm"}, "sem"),
        ({"buffer": 99}, ""),
        ({"thread": "tmma"}, ""),
        ({"thread": 99}, ""),
        ({"block": (9, 9)}, ""),
        ({"block": 4}, ""),
        ({"block": np.int64(-2)}, ""),
        ({"line": "kernl.py:4"}, "kernel.py"),
        ({"within": "zzz.py:4"}, "kernel.py"),
        ({"line": "kernel"}, ""),
        ({"line": 3.5}, ""),
        ({"within": "kernel"}, ""),
        ({"within": 3.5}, ""),
        ({"launch": "softmx"}, "softmax"),
        ({"launch": 5}, ""),
        ({"space": "smen"}, "smem"),
        ({"op": "gpu.cpy"}, "gpu.copy"),
    ],
    ids=str,
)
def test_unknown_is_refused_with_the_nearest(trace, condition, nearest):
    with pytest.raises(errors.BadOption) as caught:
        trace.events.where(**condition)
    name = next(iter(condition))
    assert str(caught.value).startswith(
        ("[PD910] `where` got", f"[PD910] `{name}` got")
    )
    assert f"`{nearest}`" in str(caught.value) or not nearest


def test_places_without_events_that_are_there_have_none(trace):
    where = trace.events.where
    assert not len(where(block=0))
    assert not len(where(block=-1))
    assert not len(where(line="kernel.py:99"))
    assert where(block=3, line="kernel.py:1").tolist() == [0]


def test_columns_are_attributes(trace):
    assert trace.events.kind is trace.columns.kind
    assert trace.events.clock is trace.columns.clock
    with pytest.raises(AttributeError):
        trace.events.nonsense
    assert trace.events[3].value.shape == (4, 4)
    assert trace.events[3].region.start == (0, 4)
    assert trace.events[3].op == "gpu.copy"
    assert trace.events[9].buffer is None


@settings(deadline=None, max_examples=30)
@given(memory_traces() | thread_traces(), st.data())
def test_where_equals_a_filter_over_rows(trace, data):
    kind = data.draw(st.sampled_from(["read", "write", "wait", "alloc", "spawn"]))
    name = data.draw(st.sampled_from([row.name for row in trace.buffer_rows]))
    line = data.draw(st.integers(1, 3))
    rows = [
        event.seq
        for event in trace.events
        if event.kind.name.lower() == kind
        and event.buffer is not None
        and event.buffer.name == name
        and event.loc.line == line
    ]
    found = trace.events.where(kind=kind, buffer=name, line=line)
    assert found.tolist() == rows
