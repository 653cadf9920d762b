"""Pieces of a grid, each recorded by itself, become the rows of one run.

A piece is the trace of some blocks of a launch. All pieces begin alike, with the launch's
own thread and the arguments; from there on their threads, buffers, steps and values get
the numbers that they would have had one after the other. That is a run of the launch
only where no piece saw what another one did: `dependence` says where one did.

  piece 0:  head │ blocks 0 …           piece 1:  head │ blocks 8 …
  joined:   head │ blocks 0 … │ blocks 8 …
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.trace import fold
from pallas_debug.trace.schema import COLUMNS, Kind, RegionKind
from pallas_debug.trace.trace import Trace
from pallas_debug.trace.writer import LaunchRecord, Writer

KIND, THREAD, _, STEP, _, OBJECT, REGION, AUX, PAYLOAD = range(len(COLUMNS))
OF_THREADS = (Kind.SPAWN, Kind.JOIN)  # their object is a thread
READS, WRITES = (Kind.READ, Kind.UPDATE), (Kind.WRITE, Kind.UPDATE)
ROOT_THREADS = 1


def join(writer: Writer, launch: ir.Launch, pieces: Sequence[Trace]) -> LaunchRecord:
    """Appends the pieces of a launch to a writer as if one run had written them.

    Args:
      writer: What comes before the launch is in it.
      launch: What the pieces are of.
      pieces: One trace for each, of that launch alone, all of them finished.
    """
    record = LaunchRecord(launch, writer.events, len(writer.choices))
    writer.launches.append(record)
    numbers = _Numbers(writer)
    for piece in pieces:
        _append(writer, record, numbers, piece)
    record.arguments = tuple(
        numbers.buffers[a] for a in pieces[0].launches[0].arguments
    )
    record.outputs = tuple(numbers.buffers[o] for o in pieces[0].launches[0].outputs)
    record.outcome = pieces[-1].launches[0].outcome
    record.last_event = writer.events
    return record


class _Numbers:
    """What the numbers of a piece's tables are in the writer's; new ones follow."""

    def __init__(self, writer: Writer) -> None:
        self.head_threads = np.arange(ROOT_THREADS) + len(writer.threads)
        self.head_buffers = np.zeros(0, np.int64)
        self.head_payloads = np.zeros(0, np.int64)
        self.threads = self.buffers = self.payloads = self.regions = self.head_buffers

    def of(self, writer: Writer, piece: Trace) -> int:
        """Finds the numbers for a piece; how many of its events are the head's."""
        arguments = len(piece.launches[0].kernel.buffers)
        first = not len(self.head_buffers)
        if first:
            self.head_buffers = np.arange(arguments) + len(writer.buffers)
        rows = piece.buffer_rows[:arguments]
        given = 1 + max((row.initial for row in rows), default=-1)
        self.payloads = self._payloads(writer, piece, 0 if first else given)
        if first:
            self.head_payloads = self.payloads[:given]
        self.regions = np.array(
            [writer.region(self._region(row)) for row in piece.regions], np.int64
        )
        self.threads = _followed(
            self.head_threads, len(piece.thread_rows), len(writer.threads), first
        )
        self.buffers = _followed(
            self.head_buffers, len(piece.buffer_rows), len(writer.buffers), first
        )
        return 0 if first else arguments

    def _payloads(self, writer: Writer, piece: Trace, given: int) -> np.ndarray:
        """A mask or list of elements is kept once, as the machine does it."""
        parts = {row[-1] for row in piece.regions if row[0] == RegionKind.MASKED}
        parts |= {row[1] for row in piece.regions if row[0] == RegionKind.ELEMENTS}
        found = list(self.head_payloads[:given])
        for number, array in enumerate(piece.payloads[given:], given):
            keep = writer.part if number in parts else writer.payload
            found.append(keep(array))
        return np.array(found, np.int64)

    def _region(self, row: tuple[int, ...]) -> tuple[int, ...]:
        if row[0] == RegionKind.BOX:
            return row
        place = 1 if row[0] == RegionKind.ELEMENTS else len(row) - 1
        return (*row[:place], int(self.payloads[row[place]]))


def _followed(head: np.ndarray, count: int, next_one: int, first: bool) -> np.ndarray:
    """The head's numbers, then new ones."""
    start = next_one + (len(head) if first else 0)
    return np.concatenate([head, start + np.arange(count - len(head))])


def _append(
    writer: Writer, record: LaunchRecord, numbers: _Numbers, piece: Trace
) -> None:
    number, step, text = len(writer.launches) - 1, record.steps, len(writer.texts)
    head = numbers.of(writer, piece)
    rows = _rows(piece, numbers, step, text)[head:]
    writer.log += rows.astype(np.int32).tobytes()
    threads, buffers = numbers.threads, numbers.buffers
    first = threads[ROOT_THREADS:]
    for row in piece.thread_rows[0 if not head else ROOT_THREADS :]:
        parent = int(threads[row.parent]) if row.parent >= 0 else -1
        writer.threads.append(tuple(row._replace(parent=parent, launch=number)))
    assert not len(first) or first[-1] == len(writer.threads) - 1, "numbers are rows"
    for row in piece.buffer_rows[head:]:
        row = row._replace(
            thread=_moved(threads, row.thread),
            alias=_moved(buffers, row.alias),
            initial=_moved(numbers.payloads, row.initial),
            launch=number,
        )
        writer.buffers.append(row)
    writer.texts.extend(piece.texts)
    for _, at, thread in piece.choices:
        writer.choices.append((number, step + at, int(threads[thread])))
    record.steps += piece.launches[0].steps


def _moved(numbers: np.ndarray, number: int) -> int:
    return int(numbers[number]) if number >= 0 else -1


def _rows(piece: Trace, numbers: _Numbers, step: int, text: int) -> np.ndarray:
    """The piece's rows with the writer's numbers."""
    names = [column.name for column in COLUMNS]
    rows = np.stack([getattr(piece.columns, name) for name in names], axis=1)
    rows = rows.astype(np.int64)
    kind, aux = rows[:, KIND], rows[:, AUX]
    has_object = rows[:, OBJECT] >= 0
    of_thread = np.isin(kind, OF_THREADS)

    def move(column: int, table: np.ndarray, where: np.ndarray) -> None:
        if where.any():
            rows[where, column] = table[rows[where, column]]

    everywhere = np.ones(len(rows), bool)
    move(THREAD, numbers.threads, everywhere)
    move(AUX, numbers.threads, (kind == Kind.BLOCK) & ~has_object)
    move(OBJECT, numbers.threads, has_object & of_thread)
    move(OBJECT, numbers.buffers, has_object & ~of_thread)
    move(REGION, numbers.regions, rows[:, REGION] >= 0)
    move(PAYLOAD, numbers.payloads, rows[:, PAYLOAD] >= 0)
    rows[:, STEP] += step
    rows[kind == Kind.PRINT, AUX] += text
    rows[(kind == Kind.ASSERT) & (aux < 0), AUX] -= text
    return rows


def dependence(pieces: Sequence[Trace]) -> str | None:
    """The name of an argument through which a piece could see another; None: none."""
    first = pieces[0]
    for number in range(len(first.launches[0].kernel.buffers)):
        if int(fold.roots(first)[number]) != number:
            continue
        shape = first.buffer_rows[number].shape
        seen = np.zeros(shape, bool).ravel()
        changed = seen.copy()
        users = 0
        for piece in pieces:
            read, written = (
                touched(piece, number, READS),
                touched(piece, number, WRITES),
            )
            if (changed & (read | written)).any() or (seen & written).any():
                return first.buffer_rows[number].name
            seen |= read
            changed |= written
            users += _synchronizes(piece, number)
        if users > 1:
            return first.buffer_rows[number].name
    return None


def touched(trace: Trace, buffer: int, kinds: Sequence[Kind]) -> np.ndarray:
    """Which elements of a buffer's memory events of these kinds touch, flat."""
    columns, shape = trace.columns, trace.buffer_rows[buffer].shape
    of = np.isin(columns.object, np.flatnonzero(fold.roots(trace) == buffer))
    events = np.flatnonzero(of & np.isin(columns.kind, kinds))
    found = np.zeros(shape, bool).ravel()
    for region in np.unique(columns.region[events]).tolist():
        found[trace.region(region).flat(shape)] = True
    return found


def _synchronizes(trace: Trace, buffer: int) -> bool:
    """Whether threads of the piece signal or wait on it."""
    kinds: list[Any] = [Kind.SIGNAL, Kind.WAIT, Kind.ARRIVE, Kind.BLOCK]
    columns = trace.columns
    return bool(((columns.object == buffer) & np.isin(columns.kind, kinds)).any())
