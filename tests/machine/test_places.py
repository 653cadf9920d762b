"""Places against an oracle that knows only element numbers: an array of them, viewed."""

import hypothesis.strategies as st
import ml_dtypes
import numpy as np
import pytest
import tapes
from hypothesis import given, settings

from pallas_debug import ir
from pallas_debug.machine.memory import ELEMENTS, Window
from pallas_debug.machine.places import Plan
from pallas_debug.trace import RegionKind, Regions
from pallas_debug.trace.regions import Region

FILL = np.float32(-77)
sizes = st.integers(0, 5)
starts = st.integers(-4, 7)


def oracle_index(numbers, step):
    """An indexer over an array of element numbers; -1 is outside."""
    lead = [np.asarray(d.index.value) for d in step.dims if isinstance(d, ir.Gather)]
    shape = np.broadcast_shapes(*(g.shape for g in lead)) if lead else ()
    kept = tuple(d.size for d in step.dims if isinstance(d, ir.Slice))
    out = np.full(shape + kept, -1)
    for place in np.ndindex(out.shape):
        at, rest = [], list(place[len(shape) :])
        for dim in step.dims:
            if isinstance(dim, ir.Slice):
                at.append(int(dim.start.value) + rest.pop(0) * dim.stride)
            elif isinstance(dim, ir.At):
                at.append(int(dim.index.value))
            else:
                value = np.broadcast_to(dim.index.value, shape)
                at.append(int(value[place[: len(shape)]]))
        inside = all(0 <= a < n for a, n in zip(at, numbers.shape, strict=True))
        out[place] = numbers[tuple(at)] if inside else -1
    front = range(len(shape))
    # As NumPy: gathers side by side stay where they are, others go in front.
    where = [d for d, dim in enumerate(step.dims) if not isinstance(dim, ir.Slice)]
    together = where == list(range(where[0], where[-1] + 1)) if where else False
    behind = where[0] if lead and together else 0
    return np.moveaxis(out, front, [behind + axis for axis in front])


def oracle(numbers, steps):
    for step in steps:
        if isinstance(step, ir.Index):
            numbers = oracle_index(numbers, step)
        elif isinstance(step, ir.Transpose):
            numbers = numbers.transpose(step.permutation)
        elif isinstance(step, ir.Reshape):
            numbers = numbers.reshape(step.shape)
    return numbers


@st.composite
def inner_indexers(draw, shape):
    """Indexers that stay inside; what lies past a view but in its buffer is real."""
    dims = []
    for size in shape:
        if size and draw(st.booleans()):
            dims.append(draw(st.integers(0, size - 1)))
        else:
            stride = draw(st.integers(1, 3))
            count = draw(st.integers(0, -(-size // stride)))
            last = size - (count - 1) * stride - 1 if count else size
            dims.append(tapes.ds(draw(st.integers(0, max(last, 0))), count, stride))
    return tapes.index(*dims)


@st.composite
def indexers(draw, shape, gathers=True):
    lead = draw(st.sampled_from([(), (2,), (3,), (2, 3)]))
    dims = []
    for _ in shape:
        kind = draw(st.sampled_from(["slice", "slice", "at", "gather"]))
        if kind == "slice" or (kind == "gather" and not gathers):
            stride = draw(st.integers(1, 3))
            dims.append(tapes.ds(draw(starts), draw(sizes), stride))
        elif kind == "at":
            dims.append(draw(starts))
        else:
            count = int(np.prod(lead))
            values = draw(st.lists(starts, min_size=count, max_size=count))
            value = np.array(values, np.int32).reshape(lead)
            dims.append(ir.Gather(index=ir.Const(value)))
    return tapes.index(*dims)


@st.composite
def reshapes(draw, shape):
    """Dimensions cut in two, merged with the next one, or made up."""
    sizes = list(shape)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, max(len(sizes) - 1, 0)))
        kind = draw(st.sampled_from(["cut", "merge", "one"]))
        if kind == "one" or not sizes:
            sizes.insert(at, 1)
        elif kind == "cut":
            divisors = [n for n in range(1, sizes[at] + 1) if sizes[at] % n == 0]
            low = draw(st.sampled_from(divisors or [1]))
            sizes[at : at + 1] = [sizes[at] // low, low]
        else:
            sizes[at : at + 2] = [int(np.prod(sizes[at : at + 2]))]
    return tuple(sizes)


@st.composite
def chains(draw, shape, gathers=True):
    """View steps that fit a shape."""
    steps, numbers = [], np.zeros(shape)
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(["index", "transpose", "reshape"]))
        if kind == "index":
            first = not any(isinstance(step, ir.Index) for step in steps)
            make = indexers(numbers.shape, gathers)
            step = draw(make if first else inner_indexers(numbers.shape))
        elif kind == "transpose":
            permutation = draw(st.permutations(range(numbers.ndim)))
            step = ir.Transpose(permutation=tuple(permutation))
        else:
            step = ir.Reshape(shape=draw(reshapes(numbers.shape)))
        numbers = oracle(numbers, [step])
        steps.append(step)
    return steps


shapes = st.lists(st.sampled_from([0, 1, 2, 3, 4, 5, 6, 8]), max_size=3).map(tuple)
cases = shapes.flatmap(lambda s: st.tuples(st.just(s), chains(s)))


def located(shape, steps, ref=0, dtype=np.float32):
    plan = Plan(ir.Access(ref=ir.Reg(0), steps=tuple(steps)))
    dyn = tuple(o.value for o in plan.constants)
    return plan.locate(shape, np.dtype(dtype), ref, dyn)


def filled(numbers, data):
    """The values at element numbers, FILL outside."""
    if data.size == 0:
        return np.full(numbers.shape, FILL)
    return np.where(numbers < 0, FILL, data.reshape(-1)[numbers])


def numbered(shape):
    return np.arange(int(np.prod(shape))).reshape(shape)


@given(cases)
def test_read_equals_oracle(case):
    shape, steps = case
    data = numbered(shape).astype(np.float32)
    place = located(shape, steps)
    expected = oracle(numbered(shape), steps)
    value = place.read(data, FILL)
    assert np.shape(value) == place.shape == expected.shape
    np.testing.assert_array_equal(value, filled(expected, data))
    assert not (isinstance(value, np.ndarray) and np.shares_memory(value, data))
    assert expected.shape or isinstance(value, np.generic)


@given(cases)
def test_write_touches_just_the_elements_inside(case):
    shape, steps = case
    data = np.full(shape, FILL)
    numbers = oracle(numbered(shape), steps)
    value = np.arange(numbers.size, dtype=np.float32).reshape(numbers.shape)
    expected = data.copy()
    for number, item in zip(numbers.reshape(-1), value.reshape(-1), strict=True):
        if number >= 0:
            expected.reshape(-1)[number] = item
    located(shape, steps).write(data, value)
    np.testing.assert_array_equal(data, expected)


@given(cases)
def test_region_names_the_same_elements(case):
    """What the trace says is touched is what is touched, in the order of the value."""
    shape, steps = case
    place = located(shape, steps)
    numbers = oracle(numbered(shape), steps)
    wanted = sorted(numbers[numbers >= 0].reshape(-1).tolist())
    if place.special is not None:
        flat = place.special.flat.reshape(-1)
        assert flat.tolist() == numbers.reshape(-1).tolist()
        return
    row = place.row
    region = Region(
        kind=RegionKind(row[0]), start=row[1::3], size=row[2::3], stride=row[3::3]
    )
    assert sorted(region.flat(shape).tolist()) == wanted
    assert region.is_inside(shape) == bool((numbers >= 0).all())
    assert Regions([row])[0] == row


@given(cases)
def test_base_order_is_the_buffers(case):
    """A recorded value is laid out as its region: the fold needs no permutation."""
    shape, steps = case
    place = located(shape, steps)
    if place.special is not None:
        return
    numbers = oracle(numbered(shape), steps)
    base = np.asarray(place.base(numbers)).reshape(-1)
    assert base.tolist() == sorted(base.tolist()) or (base < 0).any()


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=3).flatmap(
        lambda shape: st.tuples(
            st.just(tuple(shape)),
            st.tuples(*(st.integers(-3, 6) for _ in shape)),
            st.tuples(*(st.integers(0, 4) for _ in shape)),
            st.sets(st.integers(0, len(shape) - 1)),
        )
    ),
    st.data(),
)
def test_window_is_an_index_before_the_views(case, data):
    shape, origin, box, squeezed = case
    box = tuple(1 if d in squeezed else size for d, size in enumerate(box))
    window = Window(0, origin, box, tuple(sorted(squeezed)))
    kept = tuple(size for d, size in enumerate(box) if d not in squeezed)
    inside = data.draw(st.booleans())
    steps = [] if inside else data.draw(chains(kept, gathers=False))
    before = tapes.index(
        *(at if d in squeezed else tapes.ds(at, size)
          for d, (at, size) in enumerate(zip(origin, box, strict=True)))
    )  # fmt: skip
    contents = numbered(shape).astype(np.float32)
    # Past the window, but in the buffer, is the buffer's next element.
    if any(isinstance(step, ir.Index) for step in steps):
        steps = []
    expected = filled(oracle(numbered(shape), [before, *steps]), contents)
    value = located(shape, steps, ref=window).read(contents, FILL)
    np.testing.assert_array_equal(value, expected)


@given(
    st.sampled_from(["int8", "bfloat16", "int16", "float32", "int32", "int64"]),
    st.sampled_from(["int8", "bfloat16", "int16", "float32", "int32", "int64"]),
    st.integers(0, 3),
    st.integers(0, 3),
)
@settings(max_examples=60)
def test_bitcast_sees_the_same_bytes(old, new, skip, count):
    old, new = dtype(old), dtype(new)
    unit = max(8 // old.itemsize, 1)
    data = np.arange(64, dtype=np.int8).view(old).copy()
    part = tapes.index(tapes.ds(skip * unit, count * unit))
    size = count * unit * old.itemsize // new.itemsize
    steps = [part, ir.Bitcast(dtype=new.name, shape=(size,))]
    place = located(data.shape, steps, dtype=old)
    raw = data.view(np.int8)
    begin = skip * unit * old.itemsize
    expected = raw[begin : begin + size * new.itemsize].view(new)
    value = place.read(data, data.dtype.type(0))
    assert value.dtype == new
    assert value.tobytes() == expected.tobytes()
    place.write(data, np.zeros(size, new))
    raw = data.view(np.int8)
    changed = raw[begin : begin + size * new.itemsize]
    assert not changed.any()
    assert raw[begin + changed.size :].tolist() == list(range(begin + changed.size, 64))


def dtype(name):
    return np.dtype(getattr(ml_dtypes, name, name))


def test_bitcast_of_a_strided_view_takes_its_own_elements():
    data = np.arange(8, dtype=np.int32)
    steps = [tapes.index(tapes.ds(0, 4, 2)), ir.Bitcast(dtype="int16", shape=(8,))]
    value = located(data.shape, steps, dtype=np.int32).read(data, np.int32(0))
    assert value.tolist() == [0, 0, 2, 0, 4, 0, 6, 0]


def test_alias_begins_at_its_byte_offset():
    data = np.arange(16, dtype=np.int8)
    step = ir.Alias(dtype="int16", shape=(2, 2), offset=4)
    value = located(data.shape, [step], dtype=np.int8).read(data, np.int8(0))
    assert value.tolist() == data[4:12].view(np.int16).reshape(2, 2).tolist()


def test_gather_outside_an_empty_buffer_reads_fill():
    steps = [tapes.index(np.array([0, 1]))]
    value = located((0,), steps).read(np.zeros(0, np.float32), FILL)
    assert value.tolist() == [-77, -77]


def test_place_of_a_gather_is_a_set_of_elements():
    assert located((4,), [tapes.index(np.array([3, 0]))]).row == (ELEMENTS,)


@pytest.mark.parametrize("start", [np.float32(2), np.array([2]), np.bool_(True)])
def test_index_of_odd_type_is_accepted(start):
    steps = [ir.Index(dims=(ir.Slice(start=ir.Const(start), size=1),))]
    place = located((4,), steps)
    assert place.read(np.arange(4.0), FILL)[0] == int(np.reshape(start, -1)[0])


def test_dynamic_size_comes_after_its_start():
    dim = ir.Slice(start=ir.Const(1), size=-1, size_operand=ir.Const(2))
    place = located((4,), [ir.Index(dims=(dim,))])
    assert place.row == (0, 1, 2, 1)


@pytest.mark.parametrize(
    ("shape", "steps", "row"),
    [
        ((64, 4), [((8, 8, 4)), (3,)], (0, 24, 8, 1, 0, 4, 1)),
        ((64, 4), [((8, 8, 4)), (3, 2)], (0, 26, 1, 1, 0, 4, 1)),
        ((64, 4), [((8, 8, 4)), (tapes.ds(0, 8, 1), 2)], (0, 2, 8, 8, 0, 4, 1)),
        ((64, 4), [((256,)), (tapes.ds(8, 8, 1),)], (0, 2, 2, 1, 0, 4, 1)),
        ((64, 4), [((256,)), (tapes.ds(5, 3, 1),)], (0, 1, 1, 1, 1, 3, 1)),
        ((64, 4), [((8, 8, 4)), (tapes.ds(2, 2, 1),)], (0, 16, 16, 1, 0, 4, 1)),
    ],
)
def test_reshaped_rows_are_a_box(shape, steps, row):
    reshaped, dims = steps
    whole = [tapes.ds(0, size, 1) for size in reshaped[len(dims) :]]
    views = [ir.Reshape(shape=reshaped), tapes.index(*dims, *whole)]
    assert located(shape, views).row == row


@pytest.mark.parametrize("start", [6, 8, -1])
def test_what_lies_past_a_reshaped_view_or_across_its_rows_is_no_box(start):
    views = [ir.Reshape(shape=(256,)), tapes.index(tapes.ds(start, 4, 1))]
    assert (located((64, 4), views).special is None) == (start == 8)
