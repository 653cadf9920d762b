"""Who wrote the elements of an array that a function returned."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from pallas_debug.checks import stored
from pallas_debug.trace import dtypes, fold
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.trace import Trace


class Writer(NamedTuple):
    """The last write of an element: the kernel's own, not that of a pipeline.

    `event` is -1 if nobody wrote it; `buffer` is the output's name in the kernel.
    """

    buffer: str
    event: int


NOBODY: Mapping[Any, int] = MappingProxyType({})


def writers_of(
    trace: Trace, array: np.ndarray, elements: np.ndarray
) -> tuple[Writer | None, Mapping[Any, int]]:
    """The writer of the first of some elements, and grid points that wrote any.

    None if no launch has this array among its outputs.
    """
    number = output_of(trace, array)
    if number is None:
        return None, NOBODY
    last = _last_writes(trace, number).reshape(-1)
    events = last[elements]
    blocks: dict[Any, int] = {}
    launch = trace.launches[trace.buffer_rows[number].launch]
    written = events[events >= 0]
    for block, count in zip(
        *np.unique(trace.columns.block[written], return_counts=True), strict=True
    ):
        blocks[launch.coordinates(int(block))] = int(count)
    name = trace.buffer_rows[number].name
    event = _own_write(trace, int(events[0]), int(elements[0]))
    return Writer(name, event), MappingProxyType(blocks)


def output_of(trace: Trace, array: np.ndarray) -> int | None:
    """The output buffer that ended with these contents, the latest launch's first."""
    for launch in reversed(trace.launches):
        for number in launch.outputs:
            row = trace.buffer_rows[number]
            if dtypes.is_sync(row.dtype) or row.shape != array.shape:
                continue
            if dtypes.numpy_dtype(row.dtype) != array.dtype:
                continue
            found = fold.memory(trace, number)
            known = found.initialized & fold.recorded(trace, number)
            same = (found.values == array) | (found.values != found.values)
            if bool((same | ~known).all()):
                return number
    return None


def _last_writes(trace: Trace, number: int) -> np.ndarray:
    """For each element of a buffer the event that wrote it last, -1 for none."""
    columns = trace.columns
    root = int(fold.roots(trace)[number])
    last = np.full(trace.buffer_rows[number].shape, -1, np.int64)
    events = np.flatnonzero(np.isin(columns.kind, stored.WRITES))
    events = events[fold.roots(trace)[columns.object[events]] == root]
    regions, newest = np.unique(columns.region[events][::-1], return_index=True)
    events = events[::-1][newest]
    order = np.argsort(events)
    for seq, region in zip(
        events[order].tolist(), regions[order].tolist(), strict=True
    ):
        flat = trace.region(region).flat(last.shape)
        last.reshape(-1)[flat] = seq
    return last


def _own_write(trace: Trace, event: int, element: int) -> int:
    """The kernel's write of an element behind the write-back of a window."""
    columns = trace.columns
    while event >= 0:
        before = event - 1
        copied = (
            before >= 0
            and int(columns.kind[before]) == Kind.READ
            and int(columns.step[before]) == int(columns.step[event])
            and trace.buffer_rows[int(columns.object[before])].role == "window"
        )
        if not copied:
            return event
        flat, order = stored.touched(trace, event)
        source, positions = stored.touched(trace, before)
        at = source[np.isin(positions, order[flat == element])]
        inner = _written_before(trace, before, int(at[0])) if len(at) else -1
        if inner < 0:
            return event
        event, element = inner, int(at[0])
    return event


def _written_before(trace: Trace, read: int, element: int) -> int:
    """The last write of a window's element before it was read, -1 if there is none."""
    columns = trace.columns
    number = int(columns.object[read])
    mine = (columns.object[:read] == number) & np.isin(
        columns.kind[:read], stored.WRITES
    )
    for seq in np.flatnonzero(mine)[::-1].tolist():
        if element in stored.touched(trace, seq)[0]:
            return seq
    return -1
