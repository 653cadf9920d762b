"""The machine as a path's function uses it: it acts on values and writes no rows.

Rows come from a template; what differs from block to block is noted for it. Shares
memory, tables and caches with the machine of the run; threads are none of its business.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.machine.accesses import ALLOC, FREE
from pallas_debug.machine.facts import Facts
from pallas_debug.machine.memory import Place
from pallas_debug.machine.places import Target
from pallas_debug.machine.step import Step


class Quiet(Step):
    """The verbs without their rows.

    Attributes:
      noted: Block, object, region and payload of each event, one after the other.
      first: Number of the block's first new thread.
      at: Coordinates of the block on the grid.
      ids: Coordinates of the device, by axis.
    """

    __slots__ = ("at", "first", "ids", "noted")

    def __init__(self, m: Step) -> None:
        for name in Facts.__slots__:
            setattr(self, name, getattr(m, name))
        self.noted: list[int] = []
        self.first = 0
        self.at: tuple[np.int32, ...] = ()
        self.ids = {axis: np.int32(at) for axis, at in m.launch.device.items()}

    def emit(
        self,
        kind: int,
        obj: int = -1,
        region: int = -1,
        aux: int = 0,
        payload: int = -1,
    ) -> None:
        self.noted += (self.bid, obj, region, payload)

    def peek(self, target: Target) -> Any:
        """A value, without an event and without a number for its region."""
        ref, plan, dyn = target
        data = self.memory(ref).data
        place = plan.locate(data.shape, data.dtype, ref, dyn)
        return place.read(data, self.fill(data.dtype))

    def drop(self, numbers: Iterable[int]) -> None:
        """Forgets buffers that were freed in the block."""
        for number in numbers:
            self.state.memory.pop(number, None)

    def load(self, array: int, decl: ir.Buffer, source: Place, whole: Place) -> int:
        number, read, write = self._load(array, decl, source)
        at = self.bid
        self.noted += (
            at, number, -1, -1, at, array, source.region, read,
            at, number, whole.region, write,
        )  # fmt: skip
        return number

    def unload(self, number: int, array: int, whole: Place, target: Place) -> None:
        read, write = self._unload(number, array, target)
        at = self.bid
        self.noted += (
            at, number, whole.region, read, at, array, target.region, write,
            at, number, -1, -1,
        )  # fmt: skip
        del self.state.memory[number]

    def free(self, number: int) -> None:
        self.emit(FREE, number)
        self.state.memory.pop(number, None)

    def _alloc_sync(self, decl: ir.Buffer) -> int:
        number = self._buffer(decl, "sync", int(decl.params.get("num_arrivals", 0)))
        self.emit(ALLOC, number)
        return number
