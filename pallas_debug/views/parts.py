"""Bundles for a page that has one already: what it has is not sent again.

A recording that grows keeps its beginning, and so does a run that leaves the recording
at some event. A part holds, for each array, what follows the common rows and the few
rows among those that differ; of values and of the header's entries only new ones.
"""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from pallas_debug.trace import Trace
from pallas_debug.trace.container import Packer
from pallas_debug.views.bundle import LIVE_VALUES, bundle

COMPRESSED = 1 << 20  # bytes above which a bundle is sent compressed
KEPT = 4  # bundles that are remembered, the newest
ALWAYS = ("what", "format", "events")
CHANGED = 4  # what it costs to change a row, in added rows


class Part(Packer):
    """Packs a bundle as what is new after another one, and remembers the whole.

    Offsets of values count through: those of the first bundle, then those of the parts.

    Attributes:
      integers: Every array, whole.
      values: Every value that the reader then has, with its offset.
      header: The whole header.
      size: Bytes of data that the reader then has.
    """

    def __init__(self, before: Part | None = None) -> None:
        super().__init__()
        self._before = before
        self._start = before.size if before else 0
        self.integers: dict[str, np.ndarray] = {}
        self.values: dict[int, tuple[np.ndarray, int]] = {}
        self.header: dict[str, Any] = {}
        self.size = self._start
        if before:
            self.known = frozenset(before.values)

    def add_value(self, number: int, value: np.ndarray) -> int:
        """The offset of a value, appended unless the reader has it."""
        known = self._before.values.get(number) if self._before else None
        if known is not None and _equal(known[0], value):
            offset = known[1]
        else:
            offset = self._start + self.add_bytes(value)
        self.values[number] = (value, offset)
        return offset

    def add_integers(self, name: str, values: Any) -> None:
        """Appends an array: its new rows, and those that changed."""
        array = self.integers[name] = np.asarray(values)
        old = self._before.integers.get(name) if self._before else None
        if old is None:
            super().add_integers(name, array)
            return
        keep = min(len(old), len(array))
        changed = np.flatnonzero(old[:keep] != array[:keep])
        if len(changed) and len(changed) * CHANGED > keep - changed[0]:
            keep, changed = int(changed[0]), changed[:0]
        super().add_integers(name, array[keep:])
        self.arrays[name]["keep"] = keep
        if len(changed):
            super().add_integers(f"{name}.at", changed)
            super().add_integers(f"{name}.to", array[changed])

    def finish(self, header: Mapping[str, Any]) -> bytes:
        """The whole file, or the part."""
        self.header = dict(header)
        if self._before:
            header = _changed(self._before.header, self.header)
        data = super().finish(header)
        self.size = self._start + self._size
        self._before = None
        self._chunks.clear()  # the arrays themselves are enough
        return data


def _equal(one: np.ndarray, other: np.ndarray) -> bool:
    if one is other:
        return True
    same = one.dtype == other.dtype and one.shape == other.shape
    return same and one.tobytes() == other.tobytes()


def _changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Entries of a header that differ; those of its view one by one."""
    found = {k: v for k, v in new.items() if k in ALWAYS or old.get(k) != v}
    if "view" in found and "view" in old:
        view = {k: v for k, v in new["view"].items() if old["view"].get(k) != v}
        found["view"] = view
    return found


class Sender:
    """Makes the bundles of a widget; remembers the newest, for parts after them."""

    def __init__(self, *, values_bytes: int = LIVE_VALUES) -> None:
        self._values_bytes = values_bytes
        self._numbers = itertools.count(1)
        self._sent: dict[int, Part] = {}
        self._whole: dict[int, tuple[int, int, bytes]] = {}

    def bundle(
        self, trace: Trace, report: Any, *, run: int = 0, title: str = "", have: int = 0
    ) -> tuple[dict[str, Any], bytes]:
        """Facts about a bundle, and its bytes.

        The facts are its number and, where it is a part, whose: `{bundle, base}`.

        Args:
          trace: What is shown.
          report: What the checks say of it.
          run: Its number among the runs; the whole bundle of each is kept.
          title: As for `views.bundle`.
          have: The number of a bundle that the page has.
        """
        base = self._sent.get(have)
        if base is None and run in self._whole:
            number, events, data = self._whole[run]
            if events == len(trace) and number in self._sent:
                return {"bundle": number}, data
        packer = Part(base)
        data = bundle(
            trace,
            report,
            values_bytes=self._values_bytes,
            title=title,
            packer=packer,
        )
        if len(data) > COMPRESSED:
            data = gzip.compress(data, 1, mtime=0)
        number = next(self._numbers)
        self._sent[number] = packer
        while len(self._sent) > KEPT:
            del self._sent[next(iter(self._sent))]
        if base is not None:
            return {"bundle": number, "base": have}, data
        self._whole[run] = number, len(trace), data
        return {"bundle": number}, data
