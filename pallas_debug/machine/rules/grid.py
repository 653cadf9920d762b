"""The grid and its block windows: grid order, fetches, flushes, views, ids."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.machine.memory import Window
from pallas_debug.machine.places import scalar
from pallas_debug.machine.rules.registry import rule
from pallas_debug.machine.step import NO_DATA, Step
from pallas_debug.trace.schema import Kind


@rule("grid.id")
def grid_id(m: Step, *, axis: str) -> Any:
    """Coordinate of the block on a named axis (or `#0`, `#1`, …)."""
    return np.int32(m.thread.block.ids[axis])


@rule("grid.thread")
def grid_thread(m: Step) -> Any:
    """Number of the warpgroup within its block."""
    return np.int32(m.thread.notes["index"])


@rule("grid.size")
def grid_size(m: Step, *, axis: int) -> Any:
    """Size of a grid axis, which may be known only at run time."""
    return np.int32(m.launch.grid[axis])


@rule("window.fetch")
def fetch(
    m: Step, array: int, *indices: Any, slot: int, decl: ir.Buffer, dims: tuple
) -> int:
    """The on-chip copy of an input's block; copied again when the block changes."""
    origin, sizes = _box(dims, indices)
    held = m.thread.notes.get(("window", slot))
    if held is not None and held[0] == (origin, sizes):
        return held[1]
    if held is not None:
        m.free(held[1])
    number = _load(m, array, decl, origin, sizes)
    m.thread.notes[("window", slot)] = ((origin, sizes), number, array, m.bid)
    return number


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
    """The on-chip copy of an output's block; the old one is written back on a change.

    `refetch`: a block that is come back to is read again (JAX's plain interpreter);
    otherwise it starts unset, as on a TPU. `preload`: the array is an aliased input.
    """
    origin, sizes = _box(dims, indices)
    notes = m.thread.notes
    held = notes.get(("window", slot))
    if held is not None and held[0] == (origin, sizes):
        return held[1]
    _flush(m, slot)
    seen = notes.get(("seen", slot), frozenset())
    if preload or (refetch and origin in seen):
        number = _load(m, array, decl, origin, sizes)
    else:
        number = m.alloc(decl, role="window")
    if refetch:
        notes[("seen", slot)] = seen | {origin}
    notes[("window", slot)] = ((origin, sizes), number, array, m.bid)
    return number


@rule("window.flush")
def flush(m: Step, *, slots: tuple[int, ...], inputs: tuple[int, ...]) -> None:
    """The end of the grid: outputs are written back, windows are freed."""
    for slot in slots:
        _flush(m, slot)
    for slot in inputs:
        held = m.thread.notes.pop(("window", slot), None)
        if held is not None:
            m.free(held[1])


@rule("window.view")
def view(m: Step, array: int, *indices: Any, dims: tuple) -> Window:
    """The block as a part of the array itself: no copy (Triton)."""
    origin, sizes = _box(dims, indices)
    squeezed = tuple(d for d, dim in enumerate(dims) if dim[0] == "squeezed")
    return Window(array, origin, sizes, squeezed)


def _box(dims: tuple, indices: tuple) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """First element and size of the block in each dimension of the array.

    A dim is `("blocked", size)`, `("squeezed",)`, `("element", size, low padding)` or
    `("bounded", size)`, whose index is a start and a size.
    """
    function, fixed = _box_function(dims)
    if fixed is None:
        return function(*map(scalar, indices))
    return function(*map(scalar, indices)), fixed


@cache
def _box_function(dims: tuple) -> tuple[Any, tuple[int, ...] | None]:
    """A function of the indices to the origin; the sizes too if they vary."""
    names, origin, sizes = [], [], []
    for d, dim in enumerate(dims):
        names.append(f"i{d}")
        if dim[0] == "bounded":
            names.append(f"n{d}")
        scale = f" * {dim[1]}" if dim[0] == "blocked" else ""
        shift = f" - {dim[2]}" if dim[0] == "element" else ""
        origin.append(f"i{d}{scale}{shift}, ")
        sizes.append(f"n{d}" if dim[0] == "bounded" else 1 if len(dim) == 1 else dim[1])
    text = f"({''.join(origin)})"
    varies = any(dim[0] == "bounded" for dim in dims)
    if varies:
        text = f"({text}, ({''.join(f'{size}, ' for size in sizes)}))"
    function = eval(f"lambda {', '.join(names)}: {text}")
    return function, None if varies else tuple(sizes)


def _load(m: Step, array: int, decl: ir.Buffer, origin: tuple, sizes: tuple) -> int:
    """Copies a block in; what lies outside the array is padding and stays unset."""
    ref = Window(array, origin, sizes, ())
    limits = m.data(array).shape
    target = m.whole(ref)
    if m.place(target).inside is None and math.prod(sizes) == math.prod(decl.shape):
        number = m.alloc(decl, "window", NO_DATA)
        m.adopt(number, m.read(target))
        return number
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


def _write_part(m, window, sizes, starts, inside, value) -> None:  # noqa: ANN001
    """Writes a box of the window given in the array's dimensions."""
    ref = Window(window, *_drop(m, window, sizes, starts, inside), ())
    m.write(m.whole(ref), np.reshape(value, ref.sizes))


def _drop(m, window, sizes, starts, inside):  # noqa: ANN001, ANN202
    """The same box without the squeezed dimensions, which the window lacks."""
    shape = m.data(window).shape
    if len(shape) == len(sizes):
        return tuple(starts), tuple(inside)
    kept = m.memory(window).decl.params["kept"]
    return tuple(starts[d] for d in kept), tuple(inside[d] for d in kept)


def _pad(m, window, sizes, starts, inside) -> None:  # noqa: ANN001
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


def _flush(m: Step, slot: int) -> None:
    held = m.thread.notes.pop(("window", slot), None)
    if held is None:
        return
    (origin, sizes), window, array, block = held
    now, m.bid = m.bid, block
    value = m.drain(window)
    ref = Window(array, origin, sizes, ())
    m.write(m.whole(ref), np.reshape(value, sizes))
    m.free(window)
    m.bid = now
