import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pallas_debug.trace import Region, RegionKind
from pallas_debug.trace.regions import clip


def box(*spans, mask=None):
    start, size, stride = zip(*[(*span, 1)[:3] for span in spans], strict=True)
    kind = RegionKind.BOX if mask is None else RegionKind.MASKED
    return Region(kind=kind, start=start, size=size, stride=stride, mask=mask)


@given(st.integers(-9, 9), st.integers(0, 9), st.integers(1, 4), st.integers(0, 9))
def test_clip_keeps_the_steps_inside(start, size, stride, dim):
    first, begin, count = clip((start, size, stride), dim)
    steps = [k for k in range(size) if 0 <= start + k * stride < dim]
    assert count == len(steps)
    if steps:
        assert (first, begin) == (steps[0], start + steps[0] * stride)


@given(st.data())
def test_effective_is_the_part_inside(data):
    shape = (4, 5)
    spans = [
        data.draw(st.tuples(st.integers(-3, 6), st.integers(0, 4), st.integers(1, 3)))
        for _ in shape
    ]
    sizes = tuple(size for _, size, _ in spans)
    mask = np.random.default_rng(data.draw(st.integers(0, 99))).random(sizes) < 0.5
    region = box(*spans, mask=data.draw(st.sampled_from([None, mask])))
    flat = set()
    outside = 0
    for index in np.ndindex(*sizes):
        if region.mask is not None and not mask[index]:
            continue
        place = [s + k * t for k, (s, _, t) in zip(index, spans, strict=True)]
        if all(0 <= i < n for i, n in zip(place, shape, strict=True)):
            flat.add(place[0] * 5 + place[1])
        else:
            outside += 1
    assert set(region.flat(shape).tolist()) == flat
    assert set(region.effective(shape).flat(shape).tolist()) == flat
    assert region.is_inside(shape) == (outside == 0)
    if region.covers(shape):
        assert len(flat) == 20


def test_covers_needs_every_element():
    assert box((0, 4), (0, 5)).covers((4, 5))
    assert box((-1, 9), (0, 5)).covers((4, 5))
    assert box((0, 1, 7)).covers((1,))
    assert not box((0, 4), (0, 4)).covers((4, 5))
    assert not box((0, 2, 2)).covers((3,))
    assert not box((0, 2), mask=np.ones(2, bool)).covers((2,))
    assert Region(kind=RegionKind.BOX).covers(())


@pytest.mark.parametrize(
    ("region", "text"),
    [
        (box((0, 64), (32, 32)), "[0:64, 32:64]"),
        (box((3, 1), (0, 4, 2)), "[3, 0:7:2]"),
        (box((-2, 4)), "[-2:2]"),
        (box((0, 2), mask=np.array([True, False])), "[0:2, 1 of 2 by mask]"),
        (Region(kind=RegionKind.BOX), ""),
        (
            Region(kind=RegionKind.ELEMENTS, elements=np.array([[7, 9]])),
            "[7, 9]",
        ),
    ],
)
def test_text(region, text):
    assert region.text == text
