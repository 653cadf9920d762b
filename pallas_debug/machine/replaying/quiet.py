"""The machine as a path's function uses it: it acts on values and writes no rows.

Rows come from a template; what differs from block to block is noted for it. Shares
memory, tables and caches with the machine of the run; threads are none of its business.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.machine.accesses import ALLOC
from pallas_debug.machine.facts import Facts
from pallas_debug.machine.memory import Place, Window
from pallas_debug.machine.places import Plan, Target
from pallas_debug.machine.rules.grid_slots import Box
from pallas_debug.machine.step import Step


class Quiet(Step):
    """The verbs without their rows.

    Attributes:
      noted: Block, object, region and payload of each event, one after the other.
      cues: What each block needs to know to do the same to values again.
      notes: What the core remembers of its grid points.
      ids: Coordinates of the device, by axis.
      keep: Gives an array that is about to be recorded a better place.
      made: Computes one there.
      pay, pays: The number of a value that is recorded; those of several.
    """

    __slots__ = (
        *("_regions", "cues", "ids", "keep", "made", "noted", "notes"),
        *("pay", "pays"),
    )

    def __init__(self, m: Step) -> None:
        for name in Facts.__slots__:
            setattr(self, name, getattr(m, name))
        self.noted: list[int] = []
        self.cues: list[tuple[Any, ...]] = []
        self.notes: dict[Any, Any] = {}
        self.ids = {axis: np.int32(at) for axis, at in m.launch.device.items()}
        self.keep, self.made = self.writer.keep, self.writer.made
        self.pay, self.pays = self.writer.payer(
            m.options.max_value_bytes, self._fill_up
        )
        self._regions: dict[tuple[Any, ...], dict[Any, int]] = {}

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

    def spot(self, ref: int, plan: Plan, dyn: tuple[Any, ...]) -> Place:
        """The place of an access to a buffer; `place` for what it finds quickly."""
        place = None
        if plan.quick is not None:
            place = plan.quick(self.state.memory[ref].data.shape, *dyn)
        if place is None:
            return self.place((ref, plan, dyn))
        place.region = self.writer.region(place.row)
        plan.cache[dyn] = place
        return place

    def target(self, array: int, box: Box) -> Place:
        """Where a block lies that is not inside its array."""
        return self.place(self.whole(Window(array, *box, ())))

    def regions(self, form: tuple[Any, ...]) -> dict[Any, int]:
        """Numbers of the boxes of one form, by their first elements."""
        return self._regions.setdefault(form, {})

    def knows(self, rows: tuple[tuple[int, ...], ...]) -> bool:
        """Whether these regions have numbers."""
        return all(self.writer.known_region(row) >= 0 for row in rows)

    def _fill_up(self) -> None:
        self.full, self.keep, self.made = True, _as_it_is, _plainly

    def _alloc_sync(self, decl: ir.Buffer) -> int:
        number = self._buffer(decl, "sync", int(decl.params.get("num_arrivals", 0)))
        self.emit(ALLOC, number)
        return number


def _as_it_is(value: np.ndarray) -> np.ndarray:
    return value


def _plainly(operation: np.ufunc, left: Any, right: Any) -> Any:
    return operation(left, right)
