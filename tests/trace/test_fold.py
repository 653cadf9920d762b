import numpy as np
import pytest
from helpers import TraceBuilder
from hypothesis import given, settings
from trace_strategies import memory_traces

from pallas_debug import errors
from pallas_debug.trace import Kind, RegionKind, dumps, fold, loads, memory, position


def slow_memory(trace, number, at):
    """The same fold, element by element."""
    roots = {i: r.alias if r.alias >= 0 else i for i, r in enumerate(trace.buffer_rows)}
    root = roots[number]
    row = trace.buffer_rows[root]
    values = np.zeros(row.shape, row.dtype)
    known = np.zeros(row.shape, bool)
    if row.initial >= 0:
        values[...], known[...] = trace.payload(row.initial), True
    for event in list(trace.events)[:at]:
        mine = event.buffer is not None and roots[event.buffer.number] == root
        if not mine or event.kind in (Kind.READ, Kind.FREE):
            continue
        if event.kind is Kind.ALLOC:
            if event.buffer.number == root:
                known[...] = row.initial >= 0
                values[...] = trace.payload(row.initial) if row.initial >= 0 else 0
            continue
        for place, value in touched(event, row.shape):
            known[place] = event.kind is not Kind.PAD
            values[place] = 0 if value is None else value
    return values, known


def touched(event, shape):
    region, value = event.region, event.value
    if region.kind is RegionKind.ELEMENTS:
        for i, number in enumerate(region.elements):
            if 0 <= number < np.prod(shape):
                yield (
                    np.unravel_index(number, shape),
                    None if value is None else value[i],
                )
        return
    for index in np.ndindex(*region.size):
        spans = zip(index, region.start, region.stride, strict=True)
        place = tuple(start + k * stride for k, start, stride in spans)
        inside = all(0 <= i < n for i, n in zip(place, shape, strict=True))
        if inside and (region.mask is None or region.mask[index]):
            yield place, None if value is None else value[index]


@settings(deadline=None, max_examples=40)
@given(memory_traces())
def test_fold_equals_element_by_element_at_every_event(trace):
    for at in range(len(trace) + 1):
        for number in range(len(trace.buffer_rows)):
            values, known = slow_memory(trace, number, at)
            got = memory(trace, number, at)
            np.testing.assert_array_equal(got.values, values)
            np.testing.assert_array_equal(got.initialized, known)


@settings(deadline=None, max_examples=40)
@given(memory_traces())
def test_memory_at_n_is_the_end_of_the_prefix(trace):
    for at in range(len(trace) + 1):
        for whole, part in zip(
            memory(trace, 1, at), memory(trace[:at], 1), strict=True
        ):
            np.testing.assert_array_equal(whole, part)


@settings(deadline=None, max_examples=40)
@given(memory_traces())
def test_fold_of_a_loaded_trace_is_the_same(trace):
    again = loads(dumps(trace))
    for number in range(len(trace.buffer_rows)):
        for here, there in zip(
            memory(trace, number), memory(again, number), strict=True
        ):
            np.testing.assert_array_equal(here, there)


def test_keyframes_do_not_change_the_answer(monkeypatch):
    monkeypatch.setattr(fold, "KEYFRAME_EVENTS", 4)
    b = TraceBuilder()
    t = b.thread()
    s = b.buffer("s", (8,))
    t.alloc(s)
    for i in range(40):
        t.write(s, [(i % 8, 1)], np.float32([i]))
    trace = b.close()
    answers = [memory(trace, "s", at).values.tolist() for at in range(len(trace))]
    backwards = [
        memory(trace, "s", at).values.tolist() for at in reversed(range(len(trace)))
    ]
    assert answers == backwards[::-1]
    assert answers[-1][6] == 38  # the last event is not in yet


def test_mask_is_known_where_values_were_not_recorded():
    b = TraceBuilder()
    t = b.thread()
    s = b.buffer("s", (4,))
    t.alloc(s)
    t.write(s, [(1, 2)])
    trace = b.close()
    assert memory(trace, "s").initialized.tolist() == [False, True, True, False]
    assert not fold.recorded(trace, "s").any()


def test_bfloat16_and_aliased_memory():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    b = TraceBuilder()
    t = b.thread()
    x = b.buffer("x", (2,), "bfloat16", initial=np.ones(2, ml_dtypes.bfloat16))
    o = b.buffer("o", (2,), "bfloat16", alias=x)
    t.alloc(o)
    t.write(o, [(0, 1)], np.array([3], ml_dtypes.bfloat16))
    trace = b.close()
    assert memory(trace, "x").values.tolist() == [3, 1]
    assert memory(trace, "o").values.dtype == ml_dtypes.bfloat16
    assert memory(loads(dumps(trace)), "o").values.tolist() == [3, 1]


def test_position_of_a_thread():
    b = TraceBuilder()
    t = b.thread()
    s = b.buffer("s", (4,))
    t.alloc(s, line=3)
    t.write(s, line=4)
    trace = b.close()
    assert position(trace, t.number, 0) is None
    at = position(trace, t.number)
    assert (at.event, at.tick, at.loc.line) == (1, 2, 4)


def test_memory_of_a_barrier_or_an_ambiguous_name_is_refused():
    b = TraceBuilder()
    b.barrier("bar")
    b.buffer("s", (4,))
    b.buffer("s", (4,))
    trace = b.close()
    with pytest.raises(errors.BadOption, match="has values"):
        memory(trace, "bar")
    with pytest.raises(errors.BadOption, match="1, 2 have this name"):
        memory(trace, "s")
    with pytest.raises(errors.BadOption, match="`bar`"):
        memory(trace, "baz")
