"""Elements, values and unions of regions: what the checks of memory count with."""

import numpy as np
import pytest
from helpers import TraceBuilder
from hypothesis import given, settings
from hypothesis import strategies as st

from pallas_debug.checks import stored
from pallas_debug.trace import fold

SPANS = st.tuples(
    st.integers(-3, 8), st.integers(0, 6), st.sampled_from([1, 1, 1, 2, 3])
)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(SPANS, SPANS), max_size=6))
def test_union_of_regions_is_that_of_their_elements(boxes):
    b = TraceBuilder()
    x = b.buffer("x", (7, 5), initial=np.zeros((7, 5), np.float32))
    t = b.thread()
    for box in boxes:
        t.write(x, list(box))
    t.write(x, elements=[3, 34, 99])
    mask = np.arange(4).reshape(2, 2) % 2 == 0
    t.write(x, [(5, 2), (3, 2)], mask=mask)
    trace = b.close()
    wanted = np.zeros((7, 5), bool)
    regions = np.unique(trace.columns.region)
    for region in regions.tolist():
        fold.put(wanted, trace.region(region), np.True_)
    np.testing.assert_array_equal(stored.union(trace, (7, 5), regions), wanted)


def one_write(value, **place):
    b = TraceBuilder()
    x = b.buffer("x", (4, 3), initial=np.zeros((4, 3), np.float32))
    b.thread().write(x, place.pop("box", None), value, **place)
    return b.close()


NAN = np.float32("nan")


@pytest.mark.parametrize(
    ("trace", "elements"),
    [
        (one_write(np.full((4, 3), NAN)), list(range(12))),
        (one_write(NAN, box=[(1, 1), (0, 3)]), [3, 4, 5]),
        (one_write(np.array([[0, NAN], [NAN, 0]]), box=[(3, 2), (0, 2)]), [10]),
        (one_write(np.array([NAN, 0, NAN]), elements=[2, 5, 77]), [2]),
        (
            one_write(
                np.array([[NAN, NAN]]),
                box=[(0, 1), (0, 2)],
                mask=np.array([[False, True]]),
            ),
            [1],
        ),
    ],
)
def test_bad_elements_are_those_inside_the_buffer_that_were_written(trace, elements):
    assert stored.bad_elements(trace, 0, np.isnan).tolist() == elements
    assert stored.bad_writes(trace, np.isnan, "NaN").tolist() == [0]


def test_spans_and_runs_in_words():
    flat = np.array([0, 1, 6, 7])
    assert stored.ranges(flat, (3, 3)) == ((0, 3), (0, 2))
    assert stored.box_text(flat, (3, 3)) == "[0:3, 0:2]"
    runs = stored.runs(flat, (3, 3))
    assert runs == (((0, 1), (2, 3)), ((0, 2),))
    assert stored.runs_text(runs) == "[0 and 2, 0:2]"
    assert stored.box_text(np.array([4]), ()) == ""
