"""A writer that goes on from a prefix of another writer, which stays as it is.

For re-execution: numbers of threads, buffers, regions and values come out as they did
the first time, so that a replayed suffix is the original one byte for byte. Rows and
values of the prefix are not copied; `joined` does that when a whole trace is wanted.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np

from pallas_debug.trace import schema
from pallas_debug.trace.writer import Writer


class Counts(NamedTuple):
    """How much a writer held at some moment."""

    events: int = 0
    regions: int = 0
    payloads: int = 0
    payload_bytes: int = 0
    threads: int = 0
    buffers: int = 0
    texts: int = 0
    choices: int = 0
    launches: int = 0


def count(writer: Writer) -> Counts:
    """How much a writer holds now."""
    return Counts(
        events=writer.events,
        regions=len(writer.regions),
        payloads=writer.values,
        payload_bytes=writer.payload_bytes,
        threads=len(writer.threads),
        buffers=len(writer.buffers),
        texts=len(writer.texts),
        choices=len(writer.choices),
        launches=len(writer.launches),
    )


class Fork(Writer):
    """Writes what follows the first `since` rows and entries of `base`.

    `log` and `payloads` hold only the suffix; the other tables are whole, the last
    launch's record is a copy.
    """

    def __init__(self, base: Writer, since: Counts) -> None:
        super().__init__()
        self.base = base
        self.since = since
        self.regions = base.regions[: since.regions]
        self.payload_bytes = since.payload_bytes
        self.threads = base.threads[: since.threads]
        self.buffers = base.buffers[: since.buffers]
        self.texts = base.texts[: since.texts]
        self.choices = base.choices[: since.choices]
        self.launches = [copy.copy(r) for r in base.launches[: since.launches]]

    @property
    def events(self) -> int:
        return self.since.events + len(self.log) // schema.ROW_BYTES

    @property
    def values(self) -> int:
        return self.since.payloads + len(self.payloads)

    def _known(self, table: str, key: Any) -> int | None:
        """The number that a prefix gave to a key, None if it gave none."""
        writer: Writer = self
        below = -1
        while True:
            number = getattr(writer, table).get(key)
            if number is not None:
                return number if below < 0 or number < below else None
            if not isinstance(writer, Fork):
                return None
            regions = table == "_region_ids"
            here = writer.since.regions if regions else writer.since.payloads
            below = here if below < 0 else min(below, here)
            writer = writer.base

    def region(self, row: tuple[int, ...]) -> int:
        number = self._region_ids.get(row)
        if number is None:
            number = self._known("_region_ids", row)
            if number is None:
                number = len(self.regions)
                self.regions.append(row)
            self._region_ids[row] = number
        return number

    def payload(self, value: Any) -> int:
        number = self._known("_payload_ids", id(value))
        if number is not None:
            return number
        number = self.values
        array = np.asarray(value)
        self.payloads.append(array)
        self.payload_bytes += array.nbytes
        if array is value:
            self._payload_ids[id(value)] = number
        return number

    def part(self, numbers: np.ndarray) -> int:
        key = (numbers.dtype.str, numbers.shape, numbers.tobytes())
        number = self._known("_part_ids", key)
        if number is None:
            number = self._part_ids[key] = self.payload(numbers)
        return number

    def drop(self) -> None:
        """Forgets its rows but counts on: for a run whose state alone is wanted."""
        self.since = self.since._replace(events=self.events)
        self.log.clear()

    def joined(self) -> Writer:
        """The prefix and the suffix as one writer, to be closed as a trace."""
        base = self.base.joined() if isinstance(self.base, Fork) else self.base
        twin = copy.copy(base)
        twin.log = base.log[: self.since.events * schema.ROW_BYTES] + self.log
        twin.payloads = base.payloads[: self.since.payloads] + self.payloads
        twin.payload_bytes = self.payload_bytes
        twin.regions, twin.threads = list(self.regions), list(self.threads)
        twin.buffers, twin.texts = list(self.buffers), list(self.texts)
        twin.launches, twin.choices = list(self.launches), list(self.choices)
        return twin
