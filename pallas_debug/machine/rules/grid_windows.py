"""Block windows: fetches, write-backs, views. The grid's pipeline, one copy at a time.

A window is the on-chip copy of a block. It is kept while the block stays the same, as
on a TPU; JAX's plain interpreter reads and writes every window at every grid point,
which differs where windows share memory (`again`) or an output is come back to
(`refetch`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pallas_debug import ir
from pallas_debug.machine.memory import Window
from pallas_debug.machine.rules.grid_slots import Box, Slot, box_function, slot_of
from pallas_debug.machine.rules.registry import rule
from pallas_debug.machine.step import Step
from pallas_debug.trace.schema import Kind

Ints = Sequence[int]


class Held(NamedTuple):
    """A window: its block in the array, its buffer, the array, the grid point."""

    box: Box
    window: int
    array: int
    block: int


@rule("window.fetch")
def fetch(
    m: Step,
    array: int,
    *indices: Any,
    slot: int,
    decl: ir.Buffer,
    dims: tuple,
    again: int | None = None,
    stored: bool = False,
) -> int:
    """The window of an input; copied in when the block changes.

    `again` is the slot of an output with the same memory: its window is written back
    first, and the input is copied in at every grid point. `stored`: the kernel writes
    to the window, so that it goes back to the array, too.
    """
    plan = m.slots.get(slot) or slot_of(m, array, slot, decl, dims)
    notes = m.thread.notes
    box = plan.box(*indices)
    held = notes.get(plan.key)
    if held is not None and held.box == box and again is None:
        return held.window
    if again is not None:
        _flush(m, again)
    if held is not None:
        _drop_window(m, slot, stored)
    window = _load(m, plan, array, decl, box)
    notes[plan.key] = Held(box, window, array, m.bid)
    return window


@rule("window.output")
def output(
    m: Step,
    array: int,
    *indices: Any,
    slot: int,
    decl: ir.Buffer,
    dims: tuple,
    refetch: bool,
    preload: bool,
) -> int:
    """The window of an output; the old one is written back when the block changes.

    `refetch`: a block that is come back to is copied in again; otherwise it starts
    unset, as on a TPU. `preload`: the array shares an input's memory; it is written
    back and copied in at every grid point.
    """
    plan = m.slots.get(slot) or slot_of(m, array, slot, decl, dims)
    notes = m.thread.notes
    box = plan.box(*indices)
    held = notes.get(plan.key)
    if held is not None and held.box == box and not preload:
        return held.window
    _flush(m, slot)
    if preload or (refetch and _is_seen(m, slot, dims, box)):
        window = _load(m, plan, array, decl, box)
    else:
        window = m.alloc(decl, role="window")
    notes[plan.key] = Held(box, window, array, m.bid)
    return window


@rule("window.flush")
def flush(
    m: Step, *, slots: tuple[int, ...], inputs: tuple[int, ...], stored: tuple[int, ...]
) -> None:
    """The end of the grid: outputs and stored inputs go back, windows are freed."""
    for slot in slots:
        _flush(m, slot)
    for slot in inputs:
        _drop_window(m, slot, slot in stored)


@rule("window.view")
def view(m: Step, array: int, *indices: Any, dims: tuple) -> Window:
    """The block as a part of the array itself: no copy (Triton)."""
    origin, sizes = box_function(dims)(*indices)
    squeezed = tuple(d for d, dim in enumerate(dims) if dim[0] == "squeezed")
    return Window(array, origin, sizes, squeezed)


def _is_seen(m: Step, slot: int, dims: tuple, box: Box) -> bool:
    """Whether a part of an output's block was in a window before; remembers it."""
    notes = m.thread.notes
    if all(dim[0] in ("blocked", "squeezed") for dim in dims):
        # Blocks of one size are the same or apart.
        key = ("seen", slot, box)
        seen = key in notes
        notes[key] = True
        return seen
    boxes = notes.get(("boxes", slot), ())
    notes[("boxes", slot)] = (*boxes, box)
    return any(_overlap(box, other) for other in boxes)


def _overlap(a: Box, b: Box) -> bool:
    return all(
        first < other + size and other < first + length
        for first, length, other, size in zip(*a, *b, strict=True)
    )


def _drop_window(m: Step, slot: int, stored: bool) -> None:
    if stored:
        _flush(m, slot)
        return
    held = m.thread.notes.pop(("window", slot), None)
    if held is not None:
        m.free(held.window)


def _flush(m: Step, slot: int) -> None:
    """Writes a window back in the name of the grid point that had it last."""
    held = m.thread.notes.pop(("window", slot), None)
    if held is None:
        return
    now, m.bid = m.bid, held.block
    origin, sizes = held.box
    decl = m.memory(held.window).decl
    filled = tuple([sizes[d] for d in decl.params["kept"]])
    target = m.whole(Window(held.array, origin, sizes, ()))
    if filled == decl.shape:
        m.unload(held.window, held.array, m.all_of(filled), m.place(target))
    else:
        part = Window(held.window, (0,) * len(filled), filled, ())
        m.write(target, np.reshape(m.read(m.whole(part)), sizes))
        m.free(held.window)
    m.bid = now


def _load(m: Step, plan: Slot, array: int, decl: ir.Buffer, box: Box) -> int:
    """Copies a block in; what lies outside the array is padding and stays unset."""
    place = plan.places.get(box)
    if place is not None:
        return m.load(array, decl, place, plan.whole)
    origin, sizes = box
    target = m.whole(Window(array, origin, sizes, ()))
    place = m.place(target)
    if place.fast and math.prod(sizes) == math.prod(decl.shape):
        plan.places[box] = place
        return m.load(array, decl, place, plan.whole)
    limits = m.data(array).shape
    number = m.alloc(decl, role="window")
    value = m.read(target)
    inside, starts = [], []
    for start, size, limit in zip(origin, sizes, limits, strict=True):
        first, last = max(start, 0), min(start + size, limit)
        starts.append(first - start)
        inside.append(max(last - first, 0))
    if min(inside, default=1) > 0:
        part = tuple(slice(s, s + n) for s, n in zip(starts, inside, strict=True))
        _write_part(m, number, sizes, starts, inside, np.asarray(value)[part])
    if tuple(inside) != tuple(sizes):
        _pad(m, number, sizes, starts, inside)
    return number


def _write_part(
    m: Step, window: int, sizes: Ints, starts: Ints, inside: Ints, value: np.ndarray
) -> None:
    """Writes a box of the window given in the array's dimensions."""
    ref = Window(window, *_drop(m, window, sizes, starts, inside), ())
    m.write(m.whole(ref), np.reshape(value, ref.sizes))


def _drop(m: Step, window: int, sizes: Ints, starts: Ints, inside: Ints) -> Box:
    """The same box without the squeezed dimensions, which the window lacks."""
    shape = m.data(window).shape
    if len(shape) == len(sizes):
        return tuple(starts), tuple(inside)
    kept = m.memory(window).decl.params["kept"]
    return tuple(starts[d] for d in kept), tuple(inside[d] for d in kept)


def _pad(m: Step, window: int, sizes: Ints, starts: Ints, inside: Ints) -> None:
    """Records the parts of a window that no element of the array fills."""
    starts, inside = _drop(m, window, sizes, starts, inside)
    shape = m.data(window).shape
    for d, (start, count) in enumerate(zip(starts, inside, strict=True)):
        for first, size in ((0, start), (start + count, shape[d] - start - count)):
            if size > 0:
                row = [0]
                for e, limit in enumerate(shape):
                    row += (first, size, 1) if e == d else (0, limit, 1)
                m.emit(Kind.PAD, window, m.writer.region(tuple(row)))
