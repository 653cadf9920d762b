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
