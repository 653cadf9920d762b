"""Memory for recorded values: a few large pieces instead of very many small ones.

A small array that is kept costs more in page faults than its contents in copying; the
system gives large pieces in large pages. A piece lives as long as any value in it.
Values of one type lie in rows: then a value's place is the next row of an array.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pallas_debug.ir import pieces

LEAST, MOST = 1 << 11, 1 << 20  # bytes of a value that is worth it
PIECES = (4 << 20, 16 << 20)  # the first one, the others
RESERVED = 1 << 20  # bytes for the rows of one type
ALIGNMENT = 64
_ARRAYS = (np.ndarray, np.generic)


class Arena:
    """Gives values a place to stay."""

    def __init__(self) -> None:
        self._piece = np.empty(0, np.uint8)
        self._used = 0
        self._shape: Any = None
        self._dtype: Any = None
        self._free: Any = iter(())
        self._types: dict[Any, Any] = {}

    def keep(self, value: np.ndarray) -> np.ndarray:
        """The value to record: read-only, perhaps a copy in place of a fresh array.

        A fresh array owns its memory and is writable, as the result of an operation is;
        all else is kept by others, too.
        """
        flags = value.flags
        if (
            not LEAST <= value.nbytes <= MOST
            or value.base is not None
            or not flags.writeable
            or not flags.c_contiguous
        ):
            return value
        row, twin = self._place(value)
        row[...] = value
        return twin

    def made(self, operation: np.ufunc, left: Any, right: Any) -> Any:
        """`keep(operation(left, right))`, computed where it is to stay if it can be.

        `operation` gives a result of its operands' type, as a sum does.
        """
        like, other = (left, right) if type(left) is np.ndarray else (right, left)
        if type(like) is not np.ndarray or not isinstance(other, _ARRAYS):
            return operation(left, right)
        shape, dtype = like.shape, like.dtype
        if other.dtype is not dtype or (other.ndim and other.shape != shape):
            return operation(left, right)
        place = None
        if dtype is self._dtype and shape == self._shape:
            place = next(self._free, None)
        elif not LEAST <= like.nbytes <= MOST:
            return operation(left, right)
        row, twin = place or self._place(like)
        operation(left, right, row)
        return twin

    def _place(self, like: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the next value of a type goes: to write to, and to read from."""
        if like.shape != self._shape or like.dtype is not self._dtype:
            self._shape, self._dtype = key = like.shape, like.dtype
            self._free = self._types.get(key) or iter(())
        place = next(self._free, None)
        if place is None:
            self._free = self._types[self._shape, self._dtype] = self._rows(like)
            place = next(self._free)
        return place

    def _rows(self, value: np.ndarray) -> Any:
        """Places for some values of a type."""
        size = value.nbytes + -value.nbytes % ALIGNMENT
        count = max(RESERVED // size, 1)
        first = self._used
        if first + count * size > self._piece.size:
            self._piece = pieces.piece(PIECES[self._piece.size > 0])
            first = -self._piece.ctypes.data % ALIGNMENT
            count = min(count, (self._piece.size - first) // size)
        self._used = first + count * size
        rows = np.ndarray(
            (count, *value.shape),
            value.dtype,
            self._piece,
            first,
            (size, *_strides(value)),
        )
        twins = rows[...]
        twins.flags.writeable = False
        return zip(rows, twins, strict=True)


def _strides(value: np.ndarray) -> tuple[int, ...]:
    """Of an array of the same type whose elements lie one after the other."""
    sizes = (*value.shape[1:], value.itemsize)
    return tuple(math.prod(sizes[dim:]) for dim in range(value.ndim))
