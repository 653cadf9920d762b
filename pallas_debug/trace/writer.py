"""The append-only store that the machine writes to.

Rows are packed as they come: 36 bytes and about 0.2 µs each. Regions are interned,
values are kept by reference (they are immutable by convention), nothing is judged.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.trace import schema
from pallas_debug.trace.arena import Arena

TABLES = (
    "log",
    "regions",
    "payloads",
    "threads",
    "buffers",
    "texts",
    "launches",
    "choices",
)


class Writer:
    """Collects the facts of one or more launches; `trace.close` makes a Trace of it.

    Attributes:
      log: Packed rows (`schema.ROW`).
      regions: Region tuples `(RegionKind, *integers)`; `region()` interns.
      payloads: Recorded values.
      payload_bytes: Sum of their sizes.
      keep: Gives a value that is about to be recorded a better place (`Arena.keep`).
      made: Computes one where it is to stay (`Arena.made`).
      threads, buffers: Rows of the side tables (`ThreadRow`, `BufferRow`), perhaps as
        plain tuples: they are made by the thousand while a kernel runs.
      texts: Printed texts.
      launches: `LaunchRecord`s, the last one growing.
      choices: `(launch, step, thread)`: from this step on the thread runs.
    """

    def __init__(self) -> None:
        self.log = bytearray()
        self.regions: list[tuple[int, ...]] = []
        self._region_ids: dict[Hashable, int] = {}
        self.payloads: list[np.ndarray] = []
        self._payload_ids: dict[int, int] = {}
        self._part_ids: dict[tuple[str, tuple[int, ...], bytes], int] = {}
        self.payload_bytes = 0
        arena = Arena()
        self.keep, self.made = arena.keep, arena.made
        self.threads: list[tuple[Any, ...]] = []
        self.buffers: list[tuple[Any, ...]] = []
        self.texts: list[str] = []
        self.launches: list[LaunchRecord] = []
        self.choices: list[tuple[int, int, int]] = []

    @property
    def events(self) -> int:
        """Number of rows so far."""
        return len(self.log) // schema.ROW_BYTES

    @property
    def values(self) -> int:
        """Number of recorded values so far."""
        return len(self.payloads)

    def region(self, row: tuple[int, ...]) -> int:
        """Number of a region, the same for equal ones."""
        number = self._region_ids.get(row)
        if number is None:
            number = self._region_ids[row] = len(self.regions)
            self.regions.append(row)
        return number

    def add_regions(self, rows: Sequence[tuple[int, ...]]) -> None:
        """Numbers regions that have none yet."""
        self._region_ids.update(zip(rows, itertools.count(len(self.regions))))
        self.regions += rows

    def known_region(self, row: tuple[int, ...]) -> int:
        """Number of a region that was written before, -1 for another one."""
        return self._region_ids.get(row, -1)

    def payload(self, value: Any) -> int:
        """Number of a recorded value; the same object is stored once."""
        key = id(value)
        number = self._payload_ids.get(key)
        if number is not None:
            return number
        array = value if type(value) is np.ndarray else np.asarray(value)
        number = len(self.payloads)
        self.payloads.append(array)
        self.payload_bytes += array.nbytes
        if array is value:
            # The list keeps the object alive, so its id stays its own.
            self._payload_ids[key] = number
        return number

    def payer(
        self, limit: int, full: Callable[[], None]
    ) -> tuple[Callable[[Any], int], Callable[[Sequence[Any]], list[int]]]:
        """`payload` for very many values; -1 once more than `limit` bytes are kept.

        The second one numbers several.
        """
        ids, values, payload = self._payload_ids, self.payloads, self.payload

        def pay(value: Any) -> int:
            if self.payload_bytes > limit:
                full()
                return -1
            if type(value) is not np.ndarray:
                return payload(value)
            key = id(value)
            number = ids.get(key)
            if number is None:
                number = ids[key] = len(values)
                values.append(value)
                self.payload_bytes += value.nbytes
            return number

        def pays(several: Sequence[Any]) -> list[int]:
            numbers, held, count = list[int](), self.payload_bytes, len(values)
            for value in several:
                if held > limit or type(value) is not np.ndarray:
                    self.payload_bytes = held
                    numbers.append(pay(value))
                    held, count = self.payload_bytes, len(values)
                    continue
                number = ids.setdefault(id(value), count)
                if number == count:
                    values.append(value)
                    held += value.nbytes
                    count += 1
                numbers.append(number)
            self.payload_bytes = held
            return numbers

        return pay, pays

    def part(self, numbers: np.ndarray) -> int:
        """Number of a region's mask or element numbers, the same for equal ones."""
        key = (numbers.dtype.str, numbers.shape, numbers.tobytes())
        number = self._part_ids.get(key)
        if number is None:
            number = self._part_ids[key] = self.payload(numbers)
        return number

    def mark(self) -> tuple[int, ...]:
        """How much there is now, for `cut`."""
        sizes = [len(getattr(self, table)) for table in TABLES]
        return (*sizes, self.payload_bytes)

    def cut(self, mark: tuple[int, ...]) -> None:
        """Forgets everything that was written since a mark."""
        *sizes, self.payload_bytes = mark
        for table, size in zip(TABLES, sizes, strict=True):
            del getattr(self, table)[size:]
        for ids, known in (
            ("_region_ids", len(self.regions)),
            ("_payload_ids", len(self.payloads)),
            ("_part_ids", len(self.payloads)),
        ):
            kept = {k: n for k, n in getattr(self, ids).items() if n < known}
            setattr(self, ids, kept)

    def thread(self, row: tuple[Any, ...]) -> int:
        """Number of a new thread."""
        self.threads.append(row)
        return len(self.threads) - 1

    def buffer(self, row: tuple[Any, ...]) -> int:
        """Number of a new buffer."""
        self.buffers.append(row)
        return len(self.buffers) - 1

    def text(self, text: str) -> int:
        self.texts.append(text)
        return len(self.texts) - 1


class LaunchRecord:
    """One launch in a writer: its kernel, where its events begin, how it ended."""

    def __init__(
        self, launch: ir.Launch, first_event: int, first_choice: int = 0
    ) -> None:
        self.launch = launch
        self.first_event = first_event
        self.first_choice = first_choice
        self.last_event = first_event
        self.outcome = schema.Outcome(kind="truncated", message="not finished")
        self.outputs: tuple[int, ...] = ()
        self.arguments: tuple[int, ...] = ()
        self.steps = 0
