"""When two arrays agree."""

import ml_dtypes
import numpy as np
import pytest

from pallas_debug.session.agreement import disagreement, largest, rounding

NAN, INF = np.nan, np.inf


def wrong(got, want, relative=0.0, absolute=0.0):
    found, _ = disagreement(
        np.asarray(got), np.asarray(want), relative=relative, absolute=absolute
    )
    return found.tolist()


@pytest.mark.parametrize(
    ("got", "want", "expected"),
    [
        ([1.0, NAN, INF, -INF], [1.0, NAN, INF, -INF], [False] * 4),
        ([NAN, 1.0, INF, INF], [1.0, NAN, -INF, 1.0], [True] * 4),
        ([1.0], [INF], [True]),
        ([1 + 2j, complex(NAN, 1)], [1 + 2j, complex(NAN, 5)], [False] * 2),
        ([1 + 2j, 1 + 2j], [1 + 3j, complex(1, NAN)], [True] * 2),
        ([complex(INF, 1)], [complex(INF, 2)], [True]),
        ([complex(INF, 1)], [complex(INF, 1)], [False]),
        ([1.0], [1 + 1e-3j], [True]),
    ],
)
def test_special_values(got, want, expected):
    assert wrong(got, want, relative=1e-6, absolute=1e-6) == expected


def test_bounds_add_up_and_the_expected_value_scales_the_relative_one():
    assert wrong([10.9, 11.2], [10.0, 10.0], relative=0.1) == [False, True]
    assert wrong([0.9, 1.2], [0.0, 0.0], absolute=1.0) == [False, True]
    assert wrong([11.9, 12.1], [10.0, 10.0], relative=0.1, absolute=1.0) == [
        False,
        True,
    ]
    assert wrong([1 + 1.1j], [1 + 1j], relative=0.1) == [False]


def test_integers_are_exact_beyond_what_a_float_can_tell_apart():
    big = 2**62
    assert wrong(np.int64([big + 1]), np.int64([big])) == [True]
    assert wrong(np.int8([3]), np.int8([4]), absolute=1.0) == [False]


def test_short_types_of_ml_dtypes_are_compared_as_numbers():
    x = np.array([1.0, NAN], ml_dtypes.float8_e4m3fn)
    assert wrong(x, x) == [False, False]
    i = np.array([1, -3], ml_dtypes.int4)
    assert wrong(i, i + np.array(1, ml_dtypes.int4)) == [True, True]


def test_the_difference_is_zero_where_nothing_is_different():
    _, error = disagreement(
        np.array([NAN, 3.0]), np.array([NAN, 1.0]), relative=0.0, absolute=0.0
    )
    assert error.tolist() == [0.0, 2.0]


@pytest.mark.parametrize(
    ("array", "least", "expected"),
    [
        ([1.0, -3.0, NAN, INF], 0.0, 3.0),
        ([], 1.0, 1.0),
        ([3 + 4j, complex(NAN, 0)], 0.0, 5.0),
        ([0.5], 1.0, 1.0),
    ],
)
def test_largest_finite_magnitude(array, least, expected):
    assert largest(np.array(array), least) == expected


def test_rounding_is_coarser_for_short_floats_and_none_for_whole_numbers():
    names = ("float64", "float32", "bfloat16", "float8_e4m3fn")
    found = [rounding(np.zeros(1, name)) for name in names]
    assert found == sorted(found)
    assert rounding(np.zeros(1, "complex64")) == rounding(np.zeros(1, "float32"))
    assert rounding(np.zeros(1, "int32")) == rounding(np.zeros(1, bool)) == 0.0
