"""Memory and positions at any event: pure folds over the trace.

The state "at event n" is the state before event n, so it equals the end of `trace[:n]`.
A fold starts at the last event that sets a whole buffer, or at a kept keyframe.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pallas_debug import errors, ir
from pallas_debug.accepted import whole
from pallas_debug.trace import dtypes
from pallas_debug.trace.columns import frozen
from pallas_debug.trace.regions import Region
from pallas_debug.trace.schema import Kind, RegionKind

if TYPE_CHECKING:
    from pallas_debug.trace.trace import Trace

KEYFRAME_EVENTS = 64
KEYFRAME_BYTES = 64 << 20
TOUCHING = (Kind.ALLOC, Kind.WRITE, Kind.UPDATE, Kind.PAD)


class Memory(NamedTuple):
    """Contents of a buffer: values, and which elements have been set."""

    values: np.ndarray
    initialized: np.ndarray


class Position(NamedTuple):
    """Where a thread stands: its last event, the tick after it, instruction, line."""

    event: int
    tick: int
    instr: int
    loc: ir.Loc | None


def memory(trace: Trace, buffer: Any, at: int | None = None) -> Memory:
    """Contents of a buffer before event `at`, at the end if None.

    Elements that are not initialized are zero in `values`. So are those whose value was
    not recorded; `recorded` tells them apart.
    """
    values, initialized, _ = _history(trace, buffer).at(
        len(trace) if at is None else at
    )
    return Memory(values, initialized)


def recorded(trace: Trace, buffer: Any, at: int | None = None) -> np.ndarray:
    """Which elements of `memory(trace, buffer, at)` have the value that was there."""
    return _history(trace, buffer).at(len(trace) if at is None else at)[2]


def position(trace: Trace, thread: int, at: int | None = None) -> Position | None:
    """Where a thread stands before event `at`; None if it has not begun."""
    events = trace.columns.of_thread(thread)
    tick = int(np.searchsorted(events, len(trace) if at is None else at))
    if tick == 0:
        return None
    seq = int(events[tick - 1])
    instr = int(trace.columns.instr[seq])
    kernel = trace.launches[int(trace.columns.launch[seq])].kernel
    return Position(seq, tick, instr, kernel.loc_of(instr))


def buffer_number(trace: Trace, buffer: Any) -> int:
    """A buffer's row from its number, entry, or name where only one has it."""
    number = getattr(buffer, "number", buffer)
    rows = trace.buffer_rows
    if isinstance(number, str):
        found = [i for i, row in enumerate(rows) if row.name == number]
        if len(found) == 1:
            return found[0]
        names = tuple(dict.fromkeys(row.name for row in rows))
        words = f"a number: {_few(found)} have this name" if found else names
        raise errors.BadOption(option="buffer", value=buffer, accepted=words)
    words = f"0 … {len(rows) - 1}, or a buffer's name"
    return whole("buffer", number, words, low=0, high=len(rows) - 1)


def _few(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:4]))
    return shown if len(numbers) <= 4 else f"{shown}, …"


def roots(trace: Trace) -> np.ndarray:
    """For each buffer the one whose memory it shares (itself, mostly)."""
    found = trace.caches.get("roots")
    if found is None:
        rows = trace.buffer_rows
        found = np.arange(len(rows))
        for number, row in enumerate(rows):
            if 0 <= row.alias < number:
                found[number] = found[row.alias]
        trace.caches["roots"] = frozen(found)
    return found


def _history(trace: Trace, buffer: Any) -> History:
    number = buffer_number(trace, buffer)
    root = int(roots(trace)[number])
    kept = trace.caches.setdefault("histories", {})
    if root not in kept:
        kept[root] = History(trace, root)
    return kept[root]


def _touches(trace: Trace, root: int) -> np.ndarray:
    """Events that change a memory; the birth of a buffer in living memory does not."""
    found = trace.caches.get("touches")
    if found is None:
        columns = trace.columns
        second = np.array([row.alias >= 0 for row in trace.buffer_rows], bool)
        seqs = np.flatnonzero(np.isin(columns.kind, TOUCHING))
        objects = columns.object[seqs]
        changes = ~(second[objects] & (columns.kind[seqs] == Kind.ALLOC))
        seqs, owners = seqs[changes], roots(trace)[objects[changes]]
        order = np.argsort(owners, kind="stable")
        starts = np.searchsorted(owners[order], np.arange(len(second) + 1))
        found = trace.caches["touches"] = seqs[order], starts
    seqs, starts = found
    return seqs[starts[root] : starts[root + 1]]


class History:
    """All changes of one piece of memory, with keyframes."""

    def __init__(self, trace: Trace, root: int) -> None:
        self.trace = trace
        self.row = trace.buffer_rows[root]
        if dtypes.is_sync(self.row.dtype):
            raise errors.BadOption(
                option="buffer",
                value=self.row.name,
                accepted="a buffer that has values",
            )
        self.seqs = _touches(trace, root)
        self.whole = self._whole()
        size = math.prod(self.row.shape) * (
            2 + dtypes.numpy_dtype(self.row.dtype).itemsize
        )
        frames = max(KEYFRAME_BYTES // max(size, 1), 1)
        self.stride = max(KEYFRAME_EVENTS, len(self.seqs) // frames + 1)
        self.frames: dict[int, tuple[np.ndarray, ...]] = {}

    def _whole(self) -> np.ndarray:
        """Which changes set all elements, so that no earlier one matters."""
        columns = self.trace.columns
        kinds = columns.kind[self.seqs]
        regions, which = np.unique(columns.region[self.seqs], return_inverse=True)
        covers = [
            number >= 0 and self.trace.region(number).covers(self.row.shape)
            for number in regions.tolist()
        ]
        writes = (kinds != Kind.PAD) & np.array(covers, bool)[which]
        return (kinds == Kind.ALLOC) | writes

    def at(self, at: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Copies of values, initialized, recorded before event `at`."""
        count = int(np.searchsorted(self.seqs, at))
        first = self._start(count)
        state = self.frames.get(first)
        state = self._empty() if state is None else tuple(a.copy() for a in state)
        for number in range(first, count):
            self._apply(int(self.seqs[number]), *state)
            done = number + 1
            if done % self.stride == 0 and done not in self.frames:
                self.frames[done] = tuple(a.copy() for a in state)
        return state  # type: ignore[return-value]

    def _start(self, count: int) -> int:
        """How many changes need not be applied to know the state after `count`."""
        whole = np.flatnonzero(self.whole[:count])
        frames = [number for number in self.frames if number <= count]
        return max([0, *frames, *(int(i) for i in whole[-1:])])

    def _empty(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        shape, row = self.row.shape, self.row
        values = np.zeros(shape, dtypes.numpy_dtype(row.dtype))
        has = row.initial >= 0
        known = has and row.initial not in self.trace.left_out
        if known:
            values[...] = self.trace.payload(row.initial)
        return values, np.full(shape, has), np.full(shape, known)

    def _apply(
        self, seq: int, values: np.ndarray, initialized: np.ndarray, known: np.ndarray
    ) -> None:
        columns = self.trace.columns
        kind = int(columns.kind[seq])
        if kind == Kind.ALLOC:
            for array, fresh in zip(
                (values, initialized, known), self._empty(), strict=True
            ):
                array[...] = fresh
            return
        region = self.trace.region(int(columns.region[seq]))
        value = None if kind == Kind.PAD else self.trace.values(seq)
        put(values, region, value)
        put(initialized, region, np.bool_(kind != Kind.PAD))
        put(known, region, np.bool_(value is not None))


def put(array: np.ndarray, region: Region, value: np.ndarray | np.bool_ | None) -> None:
    """Sets the part of a region inside an array; None sets zeros.

    `value` is of the region's requested size, in the order of its dimensions; a NumPy
    scalar sets every element.
    """
    zero = np.zeros((), array.dtype)
    if region.elements is not None:
        numbers = region.elements.ravel()
        inside = (numbers >= 0) & (numbers < array.size)
        array.reshape(-1)[numbers[inside]] = _spread(value, zero, numbers.shape)[inside]
        return
    target, source = region.index(array.shape)
    new = _spread(value, zero, region.size)[source]
    if region.kind is RegionKind.MASKED and region.mask is not None:
        new = np.where(region.mask.reshape(region.size)[source], new, array[target])
    array[target] = new


def _spread(value: Any, zero: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if value is None:
        value = zero
    if np.ndim(value) == 0:
        return np.broadcast_to(value, shape)
    return value.reshape(shape)
