"""The events of a trace as a struct of read-only arrays.

Everything that a check or a view asks often and that follows from the columns alone
(ticks, the events of each thread) is derived here once, when first asked.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from pallas_debug.trace import schema

Array = np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Columns:
    """One array for each column of `schema.COLUMNS`, and those of `schema.DERIVED`."""

    kind: Array
    thread: Array
    block: Array
    step: Array
    instr: Array
    object: Array
    region: Array
    aux: Array
    payload: Array
    launch: Array

    def __len__(self) -> int:
        return len(self.kind)

    def __repr__(self) -> str:
        return f"<Columns of {len(self):,} events>"

    def prefix(self, count: int) -> Columns:
        """The first `count` events; shares memory."""
        arrays = {field.name: getattr(self, field.name) for field in fields(self)}
        return Columns(**{name: array[:count] for name, array in arrays.items()})

    @cached_property
    def by_thread(self) -> tuple[Array, Array]:
        """Event numbers sorted by thread, then in order; where each thread begins.

        The events of thread `t` are `numbers[starts[t]:starts[t + 1]]`.
        """
        threads = int(self.thread.max()) + 1 if len(self) else 0
        key = self.thread
        if threads <= 1 << 16:
            key = key.astype(np.uint16)  # NumPy sorts 16 bits in linear time.
        numbers = np.argsort(key, kind="stable")
        starts = np.zeros(threads + 1, np.int64)
        np.cumsum(np.bincount(self.thread, minlength=threads), out=starts[1:])
        return frozen(numbers), frozen(starts)

    @cached_property
    def clock(self) -> Array:
        """The tick of each event on its own thread."""
        numbers, starts = self.by_thread
        ticks = np.empty(len(self), np.uint32)
        lengths = np.diff(starts)
        ticks[numbers] = np.arange(len(self)) - np.repeat(starts[:-1], lengths)
        return frozen(ticks)

    def of_thread(self, thread: int) -> Array:
        """Sorted event numbers of one thread."""
        numbers, starts = self.by_thread
        if thread + 1 >= len(starts):
            return numbers[:0]
        return numbers[starts[thread] : starts[thread + 1]]


def frozen(array: Array) -> Array:
    """The same array, read-only."""
    array.flags.writeable = False
    return array


_TYPES = [(column.name, np.dtype(column.dtype)) for column in schema.COLUMNS]


def decode(log: bytearray | bytes, first_events: list[int]) -> Columns:
    """Columns of packed rows (`schema.ROW`); `first_events` of each launch."""
    count, width = len(log) // schema.ROW_BYTES, len(schema.COLUMNS)
    rows = np.frombuffer(log, np.int32, count * width).reshape(count, width)
    arrays: dict[str, Array] = {}
    for (name, dtype), cells in zip(_TYPES, rows.T.copy(order="C"), strict=True):
        same = dtype.itemsize == cells.itemsize
        arrays[name] = frozen(cells.view(dtype) if same else cells.astype(dtype))
    return Columns(**arrays, launch=launch_column(first_events, count))


def launch_column(first_events: list[int], count: int) -> Array:
    """Number of the launch that each event belongs to."""
    ends = [*first_events[1:], count]
    lengths = [
        max(min(end, count) - min(start, count), 0)
        for start, end in zip(first_events, ends, strict=False)
    ]
    column = np.repeat(np.arange(len(first_events), dtype=np.uint16), lengths)
    return frozen(column)
