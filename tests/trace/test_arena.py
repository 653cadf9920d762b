"""The arena: what it takes over, and that nothing is ever overwritten."""

import ml_dtypes
import numpy as np
import pytest

from pallas_debug.trace.arena import ALIGNMENT, LEAST, MOST, PIECES, Arena


def fresh(bytes_, value=1, dtype=np.float32):
    return np.full(bytes_ // np.dtype(dtype).itemsize, value, dtype)


def test_kept_values_stay_as_they_were():
    arena, count = Arena(), 3 * PIECES[1] // MOST
    kept = [arena.keep(fresh(MOST, value)) for value in range(count)]
    assert [(array == n).all() for n, array in enumerate(kept)] == [True] * count
    assert not any(array.flags.writeable for array in kept)
    assert all(array.ctypes.data % ALIGNMENT == 0 for array in kept)


def test_values_of_several_types_do_not_meet():
    arena = Arena()
    sizes = [LEAST, LEAST + 4, MOST // 2, LEAST]
    values = [fresh(size, n) for n in range(40) for size in sizes]
    values += [fresh(LEAST, n, np.int8) for n in range(9)]
    kept = [arena.keep(value) for value in values]
    for value, copy in zip(values, kept, strict=True):
        assert copy is not value
        assert (copy.dtype, copy.shape) == (value.dtype, value.shape)
        assert copy.tobytes() == value.tobytes()


def test_copy_does_not_follow_its_original():
    value = fresh(LEAST)
    kept = Arena().keep(value)
    value[:] = 2
    assert (kept == 1).all()


@pytest.mark.parametrize("dtype", [np.int8, np.float16, ml_dtypes.bfloat16, np.bool_])
def test_copy_has_the_same_type_and_shape(dtype):
    value = np.ones((64, 128), dtype)
    kept = Arena().keep(value)
    assert kept is not value
    assert (kept.shape, kept.dtype) == (value.shape, value.dtype)
    assert kept.tobytes() == value.tobytes()


def read_only(value):
    value.flags.writeable = False
    return value


@pytest.mark.parametrize(
    "value",
    [
        fresh(LEAST - 4),
        fresh(MOST + 4),
        fresh(2 * LEAST)[2:],
        read_only(fresh(LEAST)),
        np.asfortranarray(np.ones((64, 64), np.float32)),
    ],
    ids=["small", "large", "view", "read-only", "by columns"],
)
def test_what_others_hold_or_is_not_worth_it_stays_where_it_is(value):
    assert Arena().keep(value) is value


@pytest.mark.parametrize("operation", [np.add, np.subtract, np.multiply])
@pytest.mark.parametrize("scalar_first", [False, True])
def test_what_is_made_in_its_place_is_what_the_operation_gives(operation, scalar_first):
    values = np.arange(1024, dtype=np.float32).reshape(32, 32)
    other = np.float32(3)
    operands = (other, values) if scalar_first else (values, other)
    made = Arena().made(operation, *operands)
    np.testing.assert_array_equal(made, operation(*operands))
    assert made.dtype == values.dtype
    assert not made.flags.writeable


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (np.ones((32, 32), np.float32), np.ones((2, 32, 32), np.float32)),
        (np.ones((32, 32), np.float32), np.ones((32, 32), np.float64)),
        (np.ones((32, 32), np.float32), 2.0),
        (np.ones(4, np.float32), np.float32(1)),
        (np.float32(1), np.float32(2)),
    ],
)
def test_an_operation_whose_result_may_be_of_another_type_is_left_alone(left, right):
    made, expected = Arena().made(np.add, left, right), left + right
    np.testing.assert_array_equal(made, expected)
    assert (made.shape, made.dtype) == (expected.shape, expected.dtype)


def test_a_transposed_operand_gives_an_array_in_rows():
    left = np.arange(2048, dtype=np.float32).reshape(32, 64).T
    made = Arena().made(np.add, left, np.float32(1))
    assert made.flags.c_contiguous
    np.testing.assert_array_equal(made, left + 1)
