"""Views that are no box of the buffer: reshapes, casts and gathers, element by element."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from pallas_debug import ir
from pallas_debug.machine.memory import ELEMENTS, Elements, Packed, Place, dtype_of

KEPT = 8  # views of whole buffers, each as large as eight bytes for an element


class _View(NamedTuple):
    """Element numbers in the order of a view.

    `size` is how many there are in the buffer, in units of the dtype `cast` if that is
    not None; `words` are the elements that packed words consist of.
    """

    flat: np.ndarray
    size: int
    cast: np.dtype | None = None
    words: np.ndarray | None = None


def elements(
    shape: tuple[int, ...], dtype: np.dtype, flat: np.ndarray, rest: list[tuple]
) -> Place:
    """The place of element numbers `flat` seen through the views of `rest`."""
    return _place(dtype, _seen(dtype, _View(flat, math.prod(shape)), rest))


def elements_of_whole(
    shape: tuple[int, ...], dtype: np.dtype, rest: list[tuple]
) -> Place:
    """The same of a whole buffer; what no index changes is computed once."""
    views = list(
        itertools.takewhile(lambda one: not isinstance(one[0], ir.Index), rest)
    )
    same = tuple(s for s, _ in views if not isinstance(s, (ir.Peer, ir.Multicast)))
    view = _of_whole(shape, dtype, same)
    return _place(dtype, _seen(dtype, view, rest[len(views) :]))


@functools.lru_cache(maxsize=KEPT)
def _of_whole(
    shape: tuple[int, ...], dtype: np.dtype, views: tuple[ir.ViewStep, ...]
) -> _View:
    size = math.prod(shape)
    flat = np.arange(size, dtype=np.int64).reshape(shape)
    flat.flags.writeable = False
    return _seen(dtype, _View(flat, size), [(step, None) for step in views])


def _seen(dtype: np.dtype, view: _View, rest: list[tuple]) -> _View:
    """A view through further ones."""
    flat, size, cast, words = view
    for step, indices in rest:
        if isinstance(step, ir.Index):
            flat = _take(flat, indices, step.gathered_at)
        elif isinstance(step, ir.Transpose):
            flat = flat.transpose(step.permutation)
        elif isinstance(step, ir.Reshape):
            flat = flat.reshape(step.shape)
        elif isinstance(step, (ir.Bitcast, ir.Alias)):
            offset = step.offset if isinstance(step, ir.Alias) else 0
            new = dtype_of(step.dtype)
            if _is_packed(step, flat.shape):
                old, cast = cast or dtype, new
                flat, words = _repacked(flat, old, new, step.shape)
                size = size * old.itemsize // new.itemsize if words is None else size
                continue
            flat, size = _recast(flat, cast or dtype, new, step.shape, offset, size)
            cast = new
    return _View(flat, size, cast, words)


def _place(dtype: np.dtype, view: _View) -> Place:
    flat, size, cast, words = view
    place = Place((ELEMENTS,), flat.shape)
    if words is None:
        place.special = Elements(flat, size, cast)
    else:
        base = np.where(flat[..., None] < 0, -1, words[np.maximum(flat, 0)])
        place.special = Packed(flat, base, size, cast or dtype)
    return place


def _is_packed(step: Any, shape: tuple[int, ...]) -> bool:
    """Whether a bitcast scales the second minor dimension, as on a TPU."""
    return (
        isinstance(step, ir.Bitcast)
        and len(shape) == len(step.shape) > 1
        and shape[-1] == step.shape[-1]
        and shape[-2] != step.shape[-2]
    )


def _repacked(
    flat: np.ndarray, old: np.dtype, new: np.dtype, shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray | None]:
    """Numbers of narrower elements; or of words, with the elements of each word."""
    *lead, rows, columns = flat.shape
    if old.itemsize > new.itemsize:
        parts = old.itemsize // new.itemsize
        split = np.where(flat < 0, -parts, flat * parts)[..., None] + np.arange(parts)
        return np.moveaxis(split, -1, -2).reshape(shape), None
    parts = new.itemsize // old.itemsize
    groups = flat.reshape(*lead, rows // parts, parts, columns)
    words = np.moveaxis(groups, -2, -1).reshape(-1, parts)
    return np.arange(len(words)).reshape(shape), words


def _recast(
    flat: np.ndarray,
    old: np.dtype,
    new: np.dtype,
    shape: tuple[int, ...],
    offset: int,
    size: int,
) -> tuple[np.ndarray, int]:
    """Element numbers of the same bytes as another dtype."""
    total = size * old.itemsize // new.itemsize
    count = int(np.prod(shape))
    numbers = flat.reshape(-1)
    if old.itemsize >= new.itemsize:
        parts = old.itemsize // new.itemsize
        split = numbers[:, None] * parts + np.arange(parts)
        numbers = np.where(numbers[:, None] < 0, -1, split).reshape(-1)
        numbers = numbers[offset // new.itemsize :][:count]
    else:
        parts = new.itemsize // old.itemsize
        group = numbers[offset // old.itemsize :][: count * parts].reshape(-1, parts)
        first = group[:, :1]
        whole = (first % parts == 0) & (group == first + np.arange(parts))
        numbers = np.where(whole.all(1), first[:, 0] // parts, -1)
    return numbers.reshape(shape), total


def _take(flat: np.ndarray, indices: list[tuple], gathered_at: int) -> np.ndarray:
    """Applies one indexer to an array of element numbers; -1 outside."""
    arrays, slices = [], []
    gathers = [i[1] for i in indices if i[0] == "gather"]
    lead = np.broadcast_shapes(*(g.shape for g in gathers)) if gathers else ()
    keep = [d for d, i in enumerate(indices) if i[0] == "slice"]
    rank = len(lead) + len(keep)
    ok = np.ones((1,) * rank, bool)
    if flat.size == 0:
        flat = np.full([max(size, 1) for size in flat.shape], -1)
    for d, index in enumerate(indices):
        if index[0] == "slice":
            at = index[1] + np.arange(index[2], dtype=np.int64) * index[3]
            axis = len(lead) + keep.index(d)
            at = at.reshape([-1 if a == axis else 1 for a in range(rank)])
        else:
            value = np.asarray(index[1]).astype(np.int64)
            at = value.reshape((1,) * (len(lead) - value.ndim) + value.shape)
            at = at.reshape(at.shape + (1,) * len(keep))
        inside = (at >= 0) & (at < flat.shape[d])
        ok = ok & inside
        arrays.append(np.where(inside, at, 0))
        slices.append(d)
    taken = np.where(ok, flat[tuple(arrays)], -1)
    front = range(len(lead))
    return np.moveaxis(taken, front, [gathered_at + axis for axis in front])
