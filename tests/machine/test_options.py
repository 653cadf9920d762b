"""Options as people write them become plain, frozen and comparable ones."""

import itertools

import numpy as np
import pytest
from tapes import Tape

from pallas_debug.errors import BadOption
from pallas_debug.machine import Options

F32 = np.float32
THREE = (0, 1, 2)
WAYS = {
    "range": lambda: range(3),
    "array": lambda: np.arange(3),
    "bytes of an array": lambda: np.array(THREE, np.uint8),
    "tuple": lambda: THREE,
    "set in another order": lambda: {2, 0, 1},
    "frozenset": lambda: frozenset(THREE),
    "generator": lambda: (i for i in THREE),
    "scalars, one twice": lambda: [np.int64(2), 0, np.array(1), 2],
    "keys": lambda: dict.fromkeys(THREE).keys(),
}


@pytest.mark.parametrize("way", WAYS)
def test_blocks_are_numbers_however_they_are_given(way):
    made, plain = Options(blocks=WAYS[way]()), Options(blocks=[*THREE])
    assert made.blocks == THREE
    assert {type(number) for number in made.blocks} == {int}
    assert made == plain
    assert len({made, plain}) == 1
    assert made.blocks == THREE  # a generator is gone through once


@pytest.mark.parametrize("number", [3, np.int64(3), np.array(3)])
def test_one_number_is_one_block(number):
    assert Options(blocks=number) == Options(blocks=[3])


@pytest.mark.parametrize(
    "places",
    [
        [(1, 2), (0, 1)],
        np.array([[0, 1], [1, 2]]),
        ([0, 1], np.array([1, 2])),
        zip([0, 1], [1, 2], strict=True),
    ],
)
def test_coordinates_are_tuples_of_numbers(places):
    assert Options(blocks=places).blocks == ((0, 1), (1, 2))


def test_numbers_and_coordinates_may_be_mixed():
    mixed = Options(blocks=[(np.int8(1), 2), np.int32(4), 0])
    assert mixed.blocks == (0, 4, (1, 2))
    t = Tape(grid=(2, 3))
    y = t.output("y", (2, 3))
    t.set(y, [t.grid_id(0), t.grid_id(1)], F32(1))
    (result,) = t.run(blocks=mixed.blocks, uninitialized="zero").results()
    assert np.flatnonzero(result).tolist() == [0, 4, 5]


@pytest.mark.parametrize("none", [[], (), set(), np.array([], int), range(0)])
def test_no_block_is_no_block_and_not_all(none):
    assert Options(blocks=none).blocks == ()


@pytest.mark.parametrize(
    ("blocks", "said"),
    [
        ("0,1", "got '0,1'"),
        (b"01", "got b'01'"),
        (True, "got True"),
        ([0, True], "got True"),
        (np.array([True, False]), "got True"),
        (2.5, "got 2.5"),
        ([0, 2.5], "got 2.5"),
        (np.array(2.5), "got 2.5"),
        (np.zeros((2, 2)), r"got an array float64\[2\]"),
        (np.zeros((1, 1, 1), int), r"got an array int64\[1, 1\]"),
        ({0: 1}, "got {0: 1}"),
        (slice(0, 3), "got slice"),
        ([(0, "a")], r"got \(0, 'a'\)"),
        (["a"], "got 'a'"),
        (object(), "got <object"),
        (itertools.count(), "got count"),
    ],
)
def test_what_is_no_block_is_refused(blocks, said):
    with pytest.raises(BadOption, match=f"`blocks` {said}.*accepted: a linear index"):
        Options(blocks=blocks)


def test_no_seed_is_the_default_seed():
    assert Options(seed=None) == Options()
    assert Options(seed=None).seed == 0
    with pytest.raises(BadOption, match="`seed` got 'a'; accepted: a whole number"):
        Options(seed="a")
