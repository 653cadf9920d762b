"""The trace: immutable columns and tables of one recording, the source of truth.

Nothing here judges. What follows from the columns (names, ticks, order, contents of
memory) is derived when first asked and kept.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, overload

import numpy as np

from pallas_debug import errors
from pallas_debug.trace import schema, showing, tables
from pallas_debug.trace.columns import Columns, frozen
from pallas_debug.trace.events import Event, Events
from pallas_debug.trace.order import Order
from pallas_debug.trace.regions import Region, Regions
from pallas_debug.trace.schema import RegionKind

RUNNING = schema.Outcome(kind="running", message="the trace is cut inside this launch")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Trace:
    """One recording. `trace[:n]` is the trace of its first `n` events.

    Attributes:
      columns: The events as a struct of read-only arrays; `events` is the same with
        queries and rows for people.
      regions: The regions table; `region(i)` is a row as a `Region`.
      payloads: Recorded values; `payload(i)` is one, `values(seq)` that of an event.
      left_out: Numbers of the values that a viewer's bundle did not carry along.
      thread_rows, buffer_rows: Schema rows; `threads` and `buffers` have names.
      launches: One entry for each kernel launch.
      texts: Printed texts.
      choices: `(launch, step, thread)`: from this step on the thread ran.
      outputs: What the user's function returned; not saved.
      meta: Package and JAX version, arithmetic mode, options.
    """

    columns: Columns
    regions: Regions
    payloads: tuple[np.ndarray, ...] = field(default=())
    left_out: frozenset[int] = frozenset()
    thread_rows: tuple[schema.ThreadRow, ...] = ()
    buffer_rows: tuple[schema.BufferRow, ...] = ()
    launches: tuple[tables.RecordedLaunch, ...] = ()
    texts: tuple[str, ...] = ()
    choices: tuple[tuple[int, int, int], ...] = ()
    outputs: Any = None
    meta: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def events(self) -> Events:
        """The events: columns, rows, `where`."""
        return Events(self)

    @cached_property
    def threads(self) -> tuple[tables.RecordedThread, ...]:
        """The threads with names."""
        return tables.threads_table(self)

    @cached_property
    def buffers(self) -> tuple[tables.RecordedBuffer, ...]:
        """The buffers with owners and lifetimes."""
        return tables.buffers_table(self)

    @cached_property
    def order(self) -> Order:
        """What happens before what."""
        return Order(self)

    @cached_property
    def caches(self) -> dict[str, Any]:
        """Where pure functions of this trace keep what they derived."""
        return {}

    def __len__(self) -> int:
        return len(self.columns)

    def region(self, number: int) -> Region:
        """A row of the regions table."""
        kind, *numbers = _row(self.regions, number, "region")
        if kind == RegionKind.ELEMENTS:
            return Region(
                kind=RegionKind.ELEMENTS,
                elements=self.payload(numbers[0]),
                payload=numbers[0],
            )
        payload = numbers.pop() if kind == RegionKind.MASKED else -1
        return Region(
            kind=RegionKind(kind),
            start=tuple(numbers[0::3]),
            size=tuple(numbers[1::3]),
            stride=tuple(numbers[2::3]),
            mask=self.payload(payload) if payload >= 0 else None,
            payload=payload,
        )

    def payload(self, number: int) -> np.ndarray:
        """A row of the payloads table, read-only; not one that was left out."""
        array = _row(self.payloads, number, "payload")
        assert int(number) not in self.left_out, "its value is not in the file"
        return frozen(array.view()) if array.flags.writeable else array

    def values(self, seq: int) -> np.ndarray | None:
        """The value recorded at an event, None if there is none, or it was left out."""
        number = int(_row(self.columns.payload, seq, "event"))
        known = number >= 0 and number not in self.left_out
        return self.payload(number) if known else None

    @overload
    def __getitem__(self, part: int) -> Event: ...

    @overload
    def __getitem__(self, part: slice) -> Trace: ...

    def __getitem__(self, part: int | slice) -> Event | Trace:
        """The event `trace[i]`, or the prefix `trace[:n]`."""
        if not isinstance(part, slice):
            return self.events[part]
        count = self._prefix_of(part)
        return self if count == len(self) else _prefix(self, count)

    def _prefix_of(self, part: slice) -> int:
        """How many events a prefix has; any other part is refused."""
        try:
            start, stop, step = part.indices(len(self))
        except (TypeError, ValueError):
            start, stop, step = -1, 0, 0
        if start or step != 1:
            words = "an event or a prefix: trace[i], trace[:n]"
            raise errors.BadOption(option="trace[]", value=part, accepted=words)
        return stop

    def blocks_run(self, launch: tables.RecordedLaunch) -> int:
        """In how many blocks of a launch anything was recorded."""
        block = self.columns.block[launch.first_event : launch.last_event]
        return len(np.unique(block[block >= 0]))

    def blocks_left_out(self, launch: tables.RecordedLaunch) -> int:
        """How many blocks of a launch were not recorded because others were chosen."""
        options = self.meta.get("options")
        # A recording without a selection says so; a selection itself is not kept.
        chosen = bool(options) and options.get("blocks", ()) is not None
        if not chosen or launch.outcome.kind not in ("finished", "deadlock"):
            return 0
        return launch.blocks - self.blocks_run(launch)

    def save(self, path: str | os.PathLike[str], *, compress: bool = False) -> None:
        """Writes the trace to one file, which is also what a viewer reads."""
        from pallas_debug.trace import file

        file.save(self, path, compress=compress)

    def to_html(
        self, path: str | os.PathLike[str] | None = None, **options: Any
    ) -> str | None:
        """Writes the viewer and the trace to one file that any browser opens.

        Args:
          path: Where; without one the text is returned.
          options: Those of `views.page`: `report`, `state`, `title`, `values_bytes`.
        """
        return showing.SHOWS.get(showing.PAGE)(self, path, **options)

    def viewer(self, **options: Any) -> Any:
        """The viewer as a notebook widget; options: `report`, `title`, `values_bytes`."""
        return showing.SHOWS.get(showing.VIEWER)(self, **options)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        return showing.mimebundle(showing.TRACE, self)

    def _repr_html_(self) -> str | None:
        return showing.html(showing.TRACE, self)

    def __repr__(self) -> str:
        names = ", ".join(dict.fromkeys(launch.name for launch in self.launches))
        kinds = ", ".join(dict.fromkeys(map(self._ending, self.launches)))
        return (
            f"<Trace of {names or 'nothing'}: {len(self):,} events, "
            f"{len(self.launches)} launches, {len(self.thread_rows):,} threads, "
            f"{len(self.buffer_rows):,} buffers, {kinds or 'empty'}>"
        )

    def _ending(self, launch: tables.RecordedLaunch) -> str:
        kind, out = launch.outcome.kind, self.blocks_left_out(launch)
        if not out:
            return kind
        return f"{kind} with {launch.blocks - out:,} of {launch.blocks:,} blocks"


def _row(table: Sequence[Any] | np.ndarray, number: Any, what: str) -> Any:
    """A row of a table; what is no number of one is refused."""
    try:
        return table[operator.index(number)]
    except (TypeError, IndexError, OverflowError):
        words = f"a row of {len(table):,}"
        raise errors.BadOption(option=what, value=number, accepted=words) from None


def _prefix(trace: Trace, count: int) -> Trace:
    """The first `count` events with the tables of the launches begun by then."""
    launches = tuple(
        _cut(launch, count) for launch in trace.launches if launch.first_event <= count
    )
    begun = len(launches)
    return replace(
        trace,
        columns=trace.columns.prefix(count),
        thread_rows=tuple(row for row in trace.thread_rows if row.launch < begun),
        buffer_rows=tuple(row for row in trace.buffer_rows if row.launch < begun),
        launches=launches,
        choices=tuple(choice for choice in trace.choices if choice[0] < begun),
        outputs=None,
    )


def _cut(launch: tables.RecordedLaunch, count: int) -> tables.RecordedLaunch:
    if launch.last_event <= count:
        return launch
    return replace(launch, last_event=count, outcome=RUNNING, outputs=())
