"""Memory for recorded values: a few large pieces instead of very many small ones.

A small array that is kept costs more in page faults than its contents in copying; the
system gives large pieces in large pages. A piece lives as long as any value in it.
"""

from __future__ import annotations

import numpy as np

LEAST, MOST = 1 << 11, 1 << 20  # bytes of a value that is worth it
PIECES = (4 << 20, 16 << 20)  # the first one, the others
ALIGNMENT = 64


class Arena:
    """Gives values a place to stay."""

    def __init__(self) -> None:
        self._piece = np.empty(0, np.uint8)
        self._used = 0

    def keep(self, value: np.ndarray) -> np.ndarray:
        """The value to record: read-only, perhaps a copy in place of a fresh array.

        A fresh array owns its memory and is writable, as the result of an operation is;
        all else is kept by others, too.
        """
        count = value.nbytes
        if (
            not LEAST <= count <= MOST
            or value.base is not None
            or not value.flags.writeable
            or not value.flags.c_contiguous
        ):
            return value
        first = self._used
        if first + count > self._piece.size:
            self._piece = np.empty(PIECES[self._piece.size > 0], np.uint8)
            first = -self._piece.ctypes.data % ALIGNMENT
        self._used = first + count + -count % ALIGNMENT
        twin = np.ndarray(value.shape, value.dtype, self._piece, first)
        twin[...] = value
        twin.flags.writeable = False
        return twin
