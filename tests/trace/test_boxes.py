"""Parts of buffers as people write them, against sets of elements."""

import numpy as np
import pytest
from helpers import TraceBuilder
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_strategies import SHAPE, memory_traces

from pallas_debug.errors import BadOption
from pallas_debug.trace import boxes, wording

bounds = st.one_of(st.none(), st.integers(-8, 8))
dims = st.one_of(st.integers(-8, 8), st.builds(slice, bounds, bounds))
NUMBERS = np.arange(24).reshape(SHAPE)


def elements(box):
    """Flat numbers as NumPy would select them; a number outside selects nothing."""
    for dim, size in zip(box, SHAPE, strict=False):
        if isinstance(dim, int) and not -size <= dim < size:
            return set()
    return set(NUMBERS[tuple(box)].ravel().tolist()) if box else set(range(24))


@settings(max_examples=200, deadline=None)
@given(trace=memory_traces(), box=st.lists(dims, max_size=2))
def test_region_finds_the_events_that_touch_the_box(trace, box):
    wanted = elements(box)
    expected = [
        event.seq
        for event in trace.events
        if event.buffer and event.region
        if wanted & set(event.region.flat(event.buffer.shape).tolist())
    ]
    assert trace.events.where(region=boxes.text_of(tuple(box))).tolist() == expected
    assert trace.events.where(region=box).tolist() == expected


@given(st.lists(dims, max_size=4))
def test_text_of_a_box_is_read_again(box):
    assert boxes.box_of(boxes.text_of(tuple(box))) == tuple(box)


@pytest.mark.parametrize(
    "value", ["[a]", "1:2:3", "[0:4", "1,,2", 1.5, True, [None], slice(0, 4, 2), None]
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
    with pytest.raises(BadOption, match="nan"):
        where(nan="yes")


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


@pytest.mark.parametrize(
    "text",
    ["1", "x=y", "**{}", "a=1)+(2", "a=1) #", "a=1 b", "a=", "a=1, a=2", "a=(" * 9],
)
def test_text_that_is_no_conditions_is_refused(text):
    with pytest.raises(BadOption, match="where"):
        wording.conditions(text)
