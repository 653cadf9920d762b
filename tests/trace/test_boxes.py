"""Parts of buffers as people write them, against sets of elements."""

import numpy as np
import pytest
from helpers import TraceBuilder
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_strategies import SHAPE, memory_traces

from pallas_debug.errors import BadOption
from pallas_debug.trace import Kind, boxes, wording

bounds = st.one_of(st.none(), st.integers(-8, 8))
dims = st.one_of(st.integers(-8, 8), st.builds(slice, bounds, bounds))
boxes_of_dims = st.builds(
    lambda dims, at, ends: (*dims[:at], *[...] * (at < ends), *dims[at:]),
    st.lists(dims, max_size=2),
    st.integers(0, 2),
    st.integers(0, 3),
)
NUMBERS = np.arange(24).reshape(SHAPE)


def elements(box):
    """Flat numbers as NumPy would select them; a number outside selects nothing."""
    try:
        return set(np.ravel(NUMBERS[tuple(box)]).tolist())
    except IndexError:
        return set()


@settings(max_examples=200, deadline=None)
@given(trace=memory_traces(), box=boxes_of_dims)
def test_region_finds_the_events_that_touch_the_box(trace, box):
    wanted = elements(box)
    expected = [
        event.seq
        for event in trace.events
        if event.buffer and event.region
        if wanted & set(event.region.flat(event.buffer.shape).tolist())
    ]
    assert trace.events.where(region=boxes.text_of(box)).tolist() == expected
    assert trace.events.where(region=box).tolist() == expected


@given(boxes_of_dims)
def test_text_of_a_box_is_read_again(box):
    assert boxes.box_of(boxes.text_of(box)) == box


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (np.s_[0:64, 3], "[0:64, 3]"),
        (np.s_[np.int64(2) :, np.int8(-1)], "[2:, -1]"),
        (slice(np.array(1), np.uint8(4)), "[1:4]"),
        ((np.array(3), 0), "[3, 0]"),
        (np.array([1, 2]), "[1, 2]"),
        (np.int64(7), "[7]"),
        (np.s_[0:4:1, ...], "[0:4, ...]"),
        (..., "[...]"),
        ((), "[]"),
    ],
)
def test_box_is_what_numpy_takes_in_numbers_of_python(given, text):
    assert boxes.text_of(boxes.box_of(given)) == text
    assert "np." not in repr(boxes.box_of(given))


@pytest.mark.parametrize(
    "value",
    [
        *("[a]", "1:2:3", "[0:4", "1,,2", "..., ...", "[....]"),
        *(1.5, True, [None], slice(0, 4, 2), None, (..., 0, ...)),
        *(slice(0.5, 2), slice("a", None), slice(True, 3), (slice(None, 2.0), 0)),
        *(slice(0, 4, 1.0), slice(0, 4, np.array([1, 2]))),
        *(np.zeros((2, 2), int), np.array([True]), np.array(1.5), [[0, 1]]),
    ],
)
def test_box_of_something_else_is_refused_with_an_example(value):
    with pytest.raises(BadOption, match="subscript"):
        boxes.box_of(value)


def test_region_of_more_dimensions_than_the_buffer_touches_nothing():
    b = TraceBuilder()
    x, scalar = b.buffer("x", (4,)), b.buffer("c", ())
    t = b.thread()
    t.read(x)
    t.read(scalar)
    trace = b.close()
    assert trace.events.where(region="[0, 0]").tolist() == []
    assert trace.events.where(region="[0]").tolist() == [0]
    assert trace.events.where(region="[]").tolist() == [0, 1]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e5m2", "complex64"])
def test_values_with_nan_and_infinity_are_found(dtype):
    from pallas_debug.trace.dtypes import numpy_dtype

    b = TraceBuilder()
    x = b.buffer("x", (2,), dtype)
    t = b.thread()
    for value in (1, np.nan, np.inf, -np.inf):
        t.write(x, None, np.array([0, value]).astype(numpy_dtype(dtype)))
    t.write(x, None, np.array([1, 2], np.int32))
    t.write(x)
    where = b.close().events.where
    assert where(nan=True).tolist() == [1]
    assert where(inf=True).tolist() == [2, 3]
    assert where(nan=False, inf=False).tolist() == [0, 4, 5]
    for yes in (np.True_, np.array(True)):
        assert where(nan=yes).tolist() == [1]
    for wrong in ("yes", 2, np.nan, np.array([True]), np.array([[True]]), np.array([])):
        with pytest.raises(BadOption, match="nan"):
            where(nan=wrong)


def test_scalars_in_arrays_are_conditions_as_others_are():
    b = TraceBuilder()
    x, c = b.buffer("x", (4,)), b.buffer("c", ())
    t = b.thread()
    for buffer in (x, c):
        t.read(buffer)
        t.write(buffer)
    trace = b.close()
    for name in ("c", 1, trace.buffers[1]):
        for way in (name, np.array(name), [np.array(name)]):
            assert trace.events.where(buffer=way).tolist() == [2, 3]
    assert trace.events.where(kind=np.array("read")).tolist() == [0, 2]
    for wrong in ({"c": 1}, np.array(1.0), np.zeros((2, 2), int), np.array([None])):
        with pytest.raises(BadOption, match="buffer"):
            trace.events.where(buffer=wrong)


literals = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(),
        st.text("a\"'\\\\é\n,=) ", max_size=8),
        st.floats(-9, 9),
    ),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from(["kind", "block", "region"]), literals))
def test_text_of_conditions_is_read_again(given):
    assert wording.conditions(wording.text_of(given)) == given


def test_text_of_conditions_is_literals_for_what_where_takes():
    b = TraceBuilder()
    x, t = b.buffer("x", (4,)), b.thread()
    t.read(x)
    t.write(x)
    trace = b.close()
    for conditions, text in [
        ({"kind": Kind.WRITE}, 'kind="write"'),
        ({"kind": {"write", Kind.READ}}, 'kind=("read", "write")'),
        ({"kind": np.array(["write"])}, 'kind=("write",)'),
        ({"buffer": trace.buffers[0]}, "buffer=0"),
        ({"thread": [trace.threads[0]]}, "thread=(0,)"),
        ({"thread": range(1)}, "thread=(0,)"),
        ({"nan": np.array(False)}, "nan=False"),
    ]:
        assert wording.text_of(conditions) == text
        found = trace.events.where(**wording.conditions(text))
        assert found.tolist() == trace.events.where(**conditions).tolist()


@pytest.mark.parametrize(
    "text",
    ["1", "x=y", "**{}", "a=1)+(2", "a=1) #", "a=1 b", "a=", "a=1, a=2", "a=(" * 9],
)
def test_text_that_is_no_conditions_is_refused(text):
    with pytest.raises(BadOption, match="where"):
        wording.conditions(text)
