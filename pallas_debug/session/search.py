"""The next or the previous of some sorted events for which a predicate holds.

Looks at the near ones first, so that a short way costs little in a long trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

CHUNK = 4096

Numbers = np.ndarray | range  # sorted event numbers
Keep = Callable[[np.ndarray], np.ndarray]  # event numbers → which of them


def forward(numbers: Numbers, keep: Keep, cursor: int) -> int | None:
    """The cursor after the first of the sorted events at or after it that is kept."""
    if isinstance(numbers, range):
        begin = cursor
    else:
        begin = int(np.searchsorted(numbers, cursor))
    for part in _chunks(begin, len(numbers)):
        rows = _rows(numbers, part)
        found = np.flatnonzero(keep(rows))
        if len(found):
            return int(rows[found[0]]) + 1
    return None


def backward(numbers: Numbers, keep: Keep, cursor: int) -> int | None:
    """The cursor after the last of the sorted events before the current one."""
    if isinstance(numbers, range):
        end = min(max(cursor - 1, 0), len(numbers))
    else:
        end = int(np.searchsorted(numbers, cursor - 1))
    for part in _chunks(0, end):
        rows = _rows(numbers, slice(end - part.stop, end - part.start))
        found = np.flatnonzero(keep(rows))
        if len(found):
            return int(rows[found[-1]]) + 1
    return None


def _rows(numbers: Numbers, part: slice) -> np.ndarray:
    if isinstance(numbers, range):
        return np.arange(part.start, part.stop)
    return np.asarray(numbers[part])


def _chunks(begin: int, end: int) -> Iterator[slice]:
    """Slices of growing length, so that what is near is found at once."""
    length = CHUNK
    while begin < end:
        yield slice(begin, min(begin + length, end))
        begin, length = begin + length, 4 * length
