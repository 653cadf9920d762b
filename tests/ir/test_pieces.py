"""Pieces of memory: lent once at a time, aligned, and no more kept than was said."""

import gc

import numpy as np
import pytest

from pallas_debug.ir import pieces

F32 = np.dtype(np.float32)


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(pieces, "_free", [])


def address(array):
    return array.ctypes.data


def test_memory_is_lent_again_when_the_last_view_is_gone():
    values = pieces.unset((1 << 20,), F32)
    first, view = address(values), values[10:20].reshape(2, 5)
    del values
    assert address(pieces.unset((1 << 20,), F32)) != first
    del view
    gc.collect()
    assert first in {address(pieces.unset((1 << 20,), F32)) for _ in range(2)}


def test_small_or_much_larger_memory_is_not_lent_again():
    values = pieces.unset((1 << 22,), F32)
    first = address(values)
    del values
    assert address(pieces.unset((1 << 18,), F32)) != first
    assert address(pieces.unset((16,), F32)) != first


def test_no_more_is_kept_than_said(monkeypatch):
    monkeypatch.setattr(pieces, "KEPT", 5 << 20)
    lent = [pieces.piece(2 << 20) for _ in range(4)]
    del lent
    assert sum(map(len, pieces._free)) == 4 << 20


@pytest.mark.parametrize("shape", [(), (3,), (1 << 19, 3)])
def test_array_is_aligned_and_writable(shape):
    values = pieces.unset(shape, F32)
    values[...] = 1
    assert (values.shape, values.dtype) == (shape, F32)
    assert address(values) % pieces.ALIGNMENT == 0
