"""The events as columns, as rows for people, and as answers to `where`."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from pallas_debug import errors, ir
from pallas_debug.trace import absent, query, tables
from pallas_debug.trace.regions import Region, element_of
from pallas_debug.trace.schema import Kind, text_of

if TYPE_CHECKING:
    from pallas_debug.trace.trace import Trace

THREAD_OBJECTS = frozenset({Kind.SPAWN, Kind.JOIN})


class Events:
    """The events of a trace.

    Columns are attributes (`events.kind`, `events.thread`, …), a number picks a row,
    `where` finds the numbers of the rows that answer a question.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def __len__(self) -> int:
        return len(self._trace.columns)

    def __getattr__(self, name: str) -> np.ndarray:
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._trace.columns, name)
        if not isinstance(value, np.ndarray):
            raise AttributeError(name)
        return value

    def __getitem__(self, seq: int) -> Event:
        count = len(self)
        try:
            number = operator.index(seq)
        except TypeError:
            number = count  # none
        if not -count <= number < count:
            raise errors.NoSuchEvent(event=errors.brief(seq), count=f"{count:,}")
        return Event(trace=self._trace, seq=number % count)

    def __iter__(self) -> Iterator[Event]:
        return (self[seq] for seq in range(len(self)))

    def where(
        self,
        *,
        kind: Any = None,
        buffer: Any = None,
        block: Any = None,
        thread: Any = None,
        line: Any = None,
        within: Any = None,
        launch: Any = None,
        space: Any = None,
        op: Any = None,
        region: Any = None,
        nan: bool | None = None,
        inf: bool | None = None,
        **unknown: Any,
    ) -> np.ndarray:
        """Sorted numbers of the events that meet every condition.

        Args:
          kind: A `Kind` or its name, or several: `"write"`, `("read", "update")`.
          buffer: A buffer's name or number, or several.
          block: Linear number or grid coordinates.
          thread: Number, or a kind of thread such as `"tma"`.
          line: Line number, or `"file.py:41"`: where the event itself stands.
          within: A line likewise: the event stands there, or in a function, loop or
            branch that is called or opened there.
          launch: Number, or the kernel's name.
          space: Memory space of the buffer, e.g. `"smem"`.
          op: Op of the instruction, e.g. `"state.get"`.
          region: Part of the buffer that is touched: `"[0:4, 2]"` or `np.s_[0:4, 2]`.
          nan: Whether the recorded value has a NaN.
          inf: Whether it has an infinity.
          unknown: Anything else is refused with the nearest condition.
        """
        given = {
            "kind": kind,
            "buffer": buffer,
            "block": block,
            "thread": thread,
            "line": line,
            "within": within,
            "launch": launch,
            "space": space,
            "op": op,
            "region": region,
            "nan": nan,
            "inf": inf,
        }
        query.refuse_unknown(unknown, given)
        if (refusal := absent.refusal(self._trace, given)) is not None:
            raise refusal
        return query.where(self._trace, given)

    def __repr__(self) -> str:
        return f"<Events: {len(self):,}>"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Event:
    """One event: the row `seq` of a trace, joined with what its numbers mean."""

    trace: Trace
    seq: int

    def column(self, name: str) -> int:
        """The raw number in a column."""
        return int(getattr(self.trace.columns, name)[self.seq])

    @property
    def kind(self) -> Kind:
        """What happened."""
        return Kind(self.column("kind"))

    @property
    def launch(self) -> tables.RecordedLaunch:
        """The launch it belongs to."""
        return self.trace.launches[self.column("launch")]

    @property
    def thread(self) -> tables.RecordedThread:
        """Who did it."""
        return self.trace.threads[self.column("thread")]

    @property
    def block(self) -> tuple[int, ...] | None:
        """Grid coordinates, None outside any block."""
        return self.launch.coordinates(self.column("block"))

    @property
    def clock(self) -> int:
        """Tick of its thread."""
        return self.column("clock")

    @property
    def instr(self) -> ir.Instr | None:
        """The instruction, None where the tape does not have it."""
        tape = self.launch.kernel.tape
        number = self.column("instr")
        return tape[number] if number < len(tape) else None

    @property
    def op(self) -> str:
        """The op of the instruction, e.g. `state.get`."""
        instr = self.instr
        return instr.op if instr else ""

    @property
    def loc(self) -> ir.Loc | None:
        """The user's source line."""
        return self.launch.kernel.loc_of(self.column("instr"))

    @property
    def callers(self) -> tuple[ir.Loc, ...]:
        """The user's lines that called, looped or branched to it, innermost first."""
        return self.launch.kernel.callers_of(self.column("instr"))

    @property
    def calls(self) -> tuple[ir.Loc, ...]:
        """The user's lines that called the functions it stands in, innermost first."""
        return self.launch.kernel.calls_of(self.column("instr"))

    @property
    def aux(self) -> int:
        """A number whose meaning depends on the kind, see `KIND_MEANINGS`."""
        return self.column("aux")

    @property
    def buffer(self) -> tables.RecordedBuffer | None:
        """The buffer it is about, None if it is about none."""
        number = self.column("object")
        if number < 0 or self.kind in THREAD_OBJECTS:
            return None
        return self.trace.buffers[number]

    @property
    def owner(self) -> str:
        """` of device 1` if the buffer is another device's, else empty."""
        buffer, own = self.buffer, self.thread.row.device
        if buffer is None or buffer.row.device == own or own < 0:
            return ""
        return f" of device {buffer.row.device}"

    @property
    def region(self) -> Region | None:
        """The part of the buffer, None if it is about none."""
        number = self.column("region")
        return self.trace.region(number) if number >= 0 else None

    @property
    def part(self) -> str:
        """The part of the buffer, as a subscript: `[0:64, 3]`; empty if there is none."""
        region, buffer = self.region, self.buffer
        if region is None or buffer is None:
            return ""
        numbered = len(region.start) == 1 < len(buffer.shape)  # barriers, semaphores
        return (numbered and element_of(buffer.shape, region.start[0])) or region.text

    @property
    def value(self) -> np.ndarray | None:
        """The recorded value, None if there is none."""
        return self.trace.values(self.seq)

    @property
    def text(self) -> str:
        """What a print said, or a check that failed; empty where nothing was."""
        columns, seq = self.trace.columns, self.seq
        number = int(text_of(columns.kind[seq], columns.aux[seq]))
        return self.trace.texts[number] if number >= 0 else ""

    @property
    def place(self) -> str:
        """`kernel.py:41`, or empty."""
        loc = self.loc
        return f"{PurePath(loc.file).name}:{loc.line}" if loc else ""

    @property
    def what(self) -> str:
        """Verb and object: `write acc[0:64, 32:64]`."""
        kind, aux = self.kind, self.aux
        verb = kind.name.lower()
        if kind in THREAD_OBJECTS:
            return f"{verb} {self.trace.threads[self.column('object')].name}"
        if kind is Kind.PRINT:
            return f"{verb} {self.text!r}"
        if kind is Kind.ASSERT:
            said = f": {self.text!r}" if self.text else ""
            return f"{verb} {'held' if aux > 0 else 'failed'}{said}"
        if kind is Kind.GRID:
            return f"{verb} {self.block}"
        buffer = self.buffer
        if buffer is None:
            return verb
        text = f"{verb} {buffer.name}{self.part}{self.owner}"
        if kind in (Kind.WAIT, Kind.PHASE, Kind.SIGNAL):
            text += f" ({aux})"
        return text

    def __repr__(self) -> str:
        place = f" at {self.place}" if self.place else ""
        return f"#{self.seq} {self.what} by {self.thread.name}{place}"
