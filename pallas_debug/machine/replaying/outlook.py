"""Windows in the function of a path: first what will happen to one, then doing it.

The rules of `rules/grid_windows.py` in two halves, for windows whose blocks have one
size and share their memory with nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pallas_debug import ir
from pallas_debug.machine.accesses import ALLOC, FREE, READ, WRITE
from pallas_debug.machine.memory import Place, Window
from pallas_debug.machine.replaying.quiet import Quiet
from pallas_debug.machine.rules.grid_slots import Box, Slot, slot_of
from pallas_debug.machine.rules.grid_slots import box_text as box_text
from pallas_debug.machine.rules.grid_windows import Held

COPY_IN, FLUSH = (ALLOC, READ, WRITE), (READ, WRITE, FREE)
Params = Mapping[str, Any]


# What comes of a window: the kinds of the events (None where only the rule can tell), the
# block, the slot, the window that is held, and the place of a block that is copied in.
Outlook = tuple[tuple[int, ...] | None, Box, Slot, Held | None, Place | None]


def is_plain(instr: ir.Instr) -> bool:
    """Whether this module knows this kind of window."""
    params = instr.params
    plain = all(dim[0] in ("blocked", "squeezed") for dim in params["dims"])
    shares = params.get("stored") or params.get("preload")
    return plain and not shares and params.get("again") is None


def look_up(m: Quiet, array: int, box: Box, params: Params) -> Outlook:
    """What a fetch or an output would do; nothing is changed."""
    number, refetch = params["slot"], params.get("refetch")
    slot = m.slots.get(number)
    if slot is None:
        slot = slot_of(m, array, number, params["decl"], params["dims"])
    held = m.thread.notes.get(slot.key)
    if held is not None and held.box == box:
        return (), box, slot, held, None
    before = () if held is None else (FREE,) if refetch is None else FLUSH
    seen = refetch is None or (refetch and ("seen", number, box) in m.thread.notes)
    if not seen:
        return (*before, ALLOC), box, slot, held, None
    place = slot.place(box, m.memory(array).data.shape)
    kinds = None if place is None else (*before, *COPY_IN)
    return kinds, box, slot, held, place


def fetched(m: Quiet, array: int, found: Outlook, params: Params) -> int:
    """The window of an input."""
    _, box, slot, held, place = found
    if place is None:
        assert held is not None
        return held.window
    if held is not None:
        m.free(held.window)
    window = m.load(array, params["decl"], place, slot.whole)
    m.thread.notes[slot.key] = Held(box, window, array, m.bid)
    return window


def opened(m: Quiet, array: int, found: Outlook, params: Params) -> int:
    """The window of an output."""
    kinds, box, slot, held, place = found
    if not kinds:
        assert held is not None
        return held.window
    notes = m.thread.notes
    if held is not None:
        now, m.bid = m.bid, held.block
        m.unload(held.window, held.array, slot.whole, _target(m, slot, held))
        m.bid = now
    if params["refetch"]:
        notes["seen", params["slot"], box] = True
    if place is None:
        window = m.alloc(params["decl"], "window")
    else:
        window = m.load(array, params["decl"], place, slot.whole)
    notes[slot.key] = Held(box, window, array, m.bid)
    return window


def _target(m: Quiet, slot: Slot, held: Held) -> Place:
    """Where a window is written back to."""
    place = slot.place(held.box, m.memory(held.array).data.shape)
    return place or m.place(m.whole(Window(held.array, *held.box, ())))
