"""What a wide function calls: arrays with a row for each of many blocks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from pallas_debug.ir import pieces


def steady(found: Sequence[tuple[Any, ...]], firsts: int) -> int:
    """How many blocks, from the first on, have boxes one step from each other.

    Each has a number, the first elements of its boxes, and whatever else.
    """
    count = len(found)
    for column in itertools.islice(zip(*found, strict=True), 1, 1 + firsts):
        step = column[1] - column[0] if count > 1 else 0
        wrong = [n for n in range(count) if column[n] != column[0] + step * n]
        count = wrong[0] if wrong else count
    return count


Dims = Sequence[tuple[int, int, bool]]


def boxes(data: np.ndarray, firsts: Sequence[Any], dims: Dims, n: int) -> np.ndarray:
    """A view with a row for each block: its box, one step from that of the block before."""
    start, step, shape, strides = 0, 0, [n], list[int]()
    for first, (size, stride, kept), by in zip(firsts, dims, data.strides, strict=True):
        one = type(first) is int  # the same for all
        start += by * (first if one else first[0])
        step += 0 if one else by * (first[1] - first[0])
        if kept:
            shape.append(size)
            strides.append(by * stride)
    memory = data.reshape(-1).view(np.uint8)
    return np.ndarray(shape, data.dtype, memory, start, (step, *strides))


def apart(
    data: np.ndarray, firsts: Sequence[Any], dims: Dims, n: int
) -> np.ndarray | None:
    """The same, None where two of the boxes may share an element."""
    for first, (size, stride, _) in zip(firsts, dims, strict=True):
        if type(first) is not int and abs(first[1] - first[0]) > (size - 1) * stride:
            return boxes(data, firsts, dims, n)
    return None


def laid(
    operation: np.ufunc, left: Any, right: Any, place: np.ndarray | None = None
) -> Any:
    """`operation(left, right)` in a piece of memory that is used again, or in a place."""
    like, other = (left, right) if type(left) is np.ndarray else (right, left)
    if other.dtype is not like.dtype or (other.ndim and other.shape != like.shape):
        return operation(left, right)
    if place is None:
        place = pieces.unset(like.shape, like.dtype)
    return operation(left, right, place)


def over(operation: np.ufunc, left: np.ndarray, right: Any) -> Any:
    """`operation(left, right)` in the place of `left`, which nobody needs any more."""
    return laid(operation, left, right, left)


def fixed(rows: np.ndarray) -> np.ndarray:
    """The same, read-only: values are never written to."""
    rows = rows.view()
    rows.flags.writeable = False
    return rows


def last(rows: np.ndarray) -> np.ndarray:
    """What a buffer holds at the end of the last block."""
    return np.ascontiguousarray(fixed(rows)[-1])


CALLED = (steady, boxes, apart, laid, over, fixed, last)
SCOPE: dict[str, Any] = {one.__name__: one for one in CALLED}
SCOPE["chain"] = itertools.chain.from_iterable
