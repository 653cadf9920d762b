"""Large pieces of memory, used again once nobody looks at them.

What a recording held goes back to the system piece by piece, and comes from there as
zeroed pages: for large arrays that costs more than filling them. So some pieces are
kept for the next recording. Here because every layer above takes memory.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

ALIGNMENT = 64  # of a cache line, and what XLA asks for
LEAST = 1 << 20  # bytes of a piece that is worth keeping
KEPT = 128 << 20  # bytes that are kept at most
WASTE = 2  # a piece may be so many times as large as asked for

_free: list[np.ndarray] = []


def unset(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """A new array of arbitrary contents that JAX can take over as it is."""
    count = math.prod(shape) * dtype.itemsize
    raw = piece(count + ALIGNMENT)
    first = -raw.ctypes.data % ALIGNMENT
    return raw[first : first + count].view(dtype).reshape(shape)


def piece(count: int) -> np.ndarray:
    """At least so many bytes; they come back when no array shares them any more."""
    if count < LEAST:
        return np.empty(count, np.uint8)
    fitting = [raw for raw in _free if count <= raw.size <= WASTE * count]
    if not fitting:
        return np.asarray(_Lent(np.empty(count, np.uint8)))
    raw = min(fitting, key=len)
    _free[:] = [other for other in _free if other is not raw]
    return np.asarray(_Lent(raw))


def _keep(raw: np.ndarray) -> None:
    if sum(map(len, _free)) + raw.size <= KEPT:
        _free.append(raw)


class _Lent:
    """What arrays have as their base: lives as long as the last of them."""

    def __init__(self, raw: np.ndarray) -> None:
        self._raw = raw
        self.__array_interface__: dict[str, Any] = raw.__array_interface__

    def __del__(self, keep: Any = _keep) -> None:
        keep(self._raw)
