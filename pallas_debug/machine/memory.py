"""Buffers of a run and where an access lands in them.

A register holds a reference as a plain buffer number or as a `Window`; contents live
only in `Memory.data`, so that registers can be copied freely.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from pallas_debug import ir
from pallas_debug.ir import pieces
from pallas_debug.trace.schema import RegionKind

BOX, MASKED, ELEMENTS = (int(kind) for kind in RegionKind)


class Window(NamedTuple):
    """A box of a buffer used as a reference (a block of a Triton program).

    `origin` has the first element of each dimension of the buffer, `sizes` the box;
    `squeezed` are the dimensions that the reference does not have.
    """

    buffer: int
    origin: tuple[int, ...]
    sizes: tuple[int, ...]
    squeezed: tuple[int, ...]


class Memory:
    """One live buffer.

    Attributes:
      data: Its contents. Read-only while others may have them, too: an input, a value
        that was recorded. Then a write copies first.
      pinned: `data` stays the same array: a launch's argument.
    """

    __slots__ = ("data", "decl", "number", "pinned")

    def __init__(
        self, number: int, data: np.ndarray, decl: ir.Buffer, pinned: bool = False
    ) -> None:
        self.number = number
        self.data = data
        self.decl = decl
        self.pinned = pinned

    def copy(self) -> Memory:
        """The same contents in memory of its own; inputs are shared until written."""
        shared = not self.data.flags.writeable
        data = self.data if shared else self.data.copy()
        return Memory(self.number, data, self.decl, self.pinned)

    def own(self) -> None:
        """Before a write: an input's contents become this launch's own."""
        if not self.data.flags.writeable:
            self.data = self.data.copy()

    def takes(self, value: Any) -> bool:
        """Makes a value that fills the buffer its contents, without a copy.

        Values are never written to, and neither is a buffer that holds one.
        """
        data = self.data
        if (
            self.pinned
            or type(value) is not np.ndarray
            or value.shape != data.shape
            or value.dtype != data.dtype
            or not value.flags.c_contiguous
        ):
            return False
        self.data = value.view()
        self.data.flags.writeable = False
        return True


def poison(dtype: np.dtype, style: str = "nan") -> Any:
    """What uninitialized memory reads as: NaN, the largest integer, True; or zero."""
    if style == "zero":
        return dtype.type(0)
    if dtype.kind == "f" or (dtype.kind == "V" and not _is_integer(dtype)):
        return _float_poison(dtype)
    if dtype.kind == "c":
        return dtype.type(complex("nan"))
    if dtype.kind == "b":
        return np.True_
    if _is_integer(dtype):
        return dtype.type(int(ml_dtypes.iinfo(dtype).max))
    return _float_poison(dtype)


def _is_integer(dtype: np.dtype) -> bool:
    return dtype.kind in "iu" or dtype.name.startswith(("int", "uint"))


def _float_poison(dtype: np.dtype) -> Any:
    nan = dtype.type(float("nan"))
    # Types without NaN (float4, float6) get their largest value.
    return nan if nan != nan else dtype.type(ml_dtypes.finfo(dtype).max)


@cache
def dtype_of(name: str) -> np.dtype:
    """A NumPy dtype from its name, ml_dtypes included."""
    try:
        return np.dtype(name)
    except TypeError:
        return np.dtype(getattr(ml_dtypes, name))


def filled(shape: tuple[int, ...], dtype: np.dtype, value: Any) -> np.ndarray:
    """A new array of one value, aligned so that it can be handed over as it is."""
    data = pieces.unset(shape, dtype)
    data.fill(value)
    return data


class Place:
    """Where an access lands: how to index the data, and the region for the trace."""

    __slots__ = (
        *("axes", "fast", "fold", "index", "inside"),
        *("region", "row", "shape", "special"),
    )

    def __init__(self, row: tuple[int, ...], shape: tuple[int, ...]) -> None:
        self.row = row
        self.shape = shape
        self.region = -1
        self.index: Any = ()
        self.axes: tuple[int, ...] | None = None
        self.inside: Any = None
        self.fold: Fold | None = None
        self.special: Any = None
        self.fast = False

    def read(self, data: np.ndarray, fill: Any) -> Any:
        """The value at this place, elements outside the buffer are `fill`."""
        if self.special is not None:
            return self.special.read(data, fill, self.shape)
        if self.inside is None:
            value = data[self.index]
        else:
            value = np.full(self.inside.shape, fill, data.dtype)
            value[self.inside.dst] = data[self.index]
            value = value[self.inside.squeeze]
        if self.axes is not None:
            value = value.transpose(self.axes)
        if self.fold is not None:
            value = self.fold.seen(value)
        return value.copy() if isinstance(value, np.ndarray) else value

    def write(self, data: np.ndarray, value: Any) -> None:
        """Stores a value; elements outside the buffer are dropped."""
        if self.special is not None:
            self.special.write(data, value)
            return
        value = self.base(value)
        if self.inside is not None:
            value = np.reshape(value, self.inside.shape)[self.inside.dst]
            data[self.index] = value
            return
        data[self.index] = value

    def where(self, mask: np.ndarray) -> Place:
        """The elements of a gathered place that a mask lets through."""
        part = Place(self.row, (int(mask.sum()),))
        part.special = self.special.where(mask)
        return part

    def base(self, value: Any) -> Any:
        """The value as it lies in the buffer: for the trace."""
        if self.axes is not None:
            return np.transpose(value, np.argsort(self.axes))
        return value if self.fold is None else self.fold.laid(value)


class Fold(NamedTuple):
    """How a reshaped view shows a box: its dimensions cut, in order, and merged again."""

    box: tuple[int, ...]
    cut: tuple[int, ...]
    order: tuple[int, ...]
    shape: tuple[int, ...]

    def seen(self, value: np.ndarray) -> Any:
        """A box's contents as the view shows them."""
        shown = value.reshape(self.cut).transpose(self.order).reshape(self.shape)
        return shown if self.shape else shown[()]

    def laid(self, value: Any) -> np.ndarray:
        """What the view shows, as it lies in the box."""
        sizes = [self.cut[n] for n in self.order]
        return (
            np.reshape(value, sizes).transpose(np.argsort(self.order)).reshape(self.box)
        )


class Inside(NamedTuple):
    """The part of a box inside the buffer: box shape, its slices, dims to drop."""

    shape: tuple[int, ...]
    dst: tuple[slice, ...]
    squeeze: tuple[Any, ...]


class Elements:
    """Flat element numbers of a gather, reshape or bitcast view."""

    __slots__ = ("cast", "flat", "ok", "size")

    def __init__(self, flat: np.ndarray, size: int, cast: np.dtype | None) -> None:
        self.flat = flat
        self.size = size
        inside = (flat >= 0) & (flat < size)
        self.ok = None if inside.all() else inside
        self.cast = cast

    def read(self, data: np.ndarray, fill: Any, shape: tuple[int, ...]) -> Any:
        source = _flat(data, self.cast)
        if self.ok is None:
            value = source[self.flat]
        else:
            value = np.full(self.flat.shape, fill if self.cast is None else 0)
            value = value.astype(source.dtype)
            value[self.ok] = source[self.flat[self.ok]]
        return value.reshape(shape) if shape else value.reshape(())[()]

    def write(self, data: np.ndarray, value: Any) -> None:
        target = _flat(data, self.cast)
        value = np.broadcast_to(value, self.flat.shape)
        if self.ok is None:
            target[self.flat] = value
        else:
            target[self.flat[self.ok]] = value[self.ok]

    def where(self, mask: np.ndarray) -> Elements:
        return Elements(self.flat[mask], self.size, self.cast)


class Packed:
    """Words whose parts lie apart: a TPU packs a wider element from several rows.

    `flat` numbers the words, `base` the elements of the buffer that each consists of.
    """

    __slots__ = ("base", "cast", "flat", "inside", "size")

    def __init__(
        self, flat: np.ndarray, base: np.ndarray, size: int, cast: np.dtype
    ) -> None:
        self.flat = flat
        self.base = base
        self.size = size
        self.cast = cast
        self.inside = (base >= 0) & (base < size)

    def read(self, data: np.ndarray, fill: Any, shape: tuple[int, ...]) -> Any:
        parts = data.reshape(-1)[np.where(self.inside, self.base, 0)]
        parts = np.where(self.inside, parts, fill).astype(data.dtype)
        value = np.ascontiguousarray(parts).view(self.cast)
        return value.reshape(shape) if shape else value.reshape(())[()]

    def write(self, data: np.ndarray, value: Any) -> None:
        words = np.array(np.broadcast_to(value, self.flat.shape))[..., None]
        parts = words.view(data.dtype)
        data.reshape(-1)[self.base[self.inside]] = parts[self.inside]

    def where(self, mask: np.ndarray) -> Packed:
        return Packed(self.flat[mask], self.base[mask], self.size, self.cast)


def _flat(data: np.ndarray, cast: np.dtype | None) -> np.ndarray:
    flat = data.reshape(-1)
    return flat if cast is None else flat.view(cast)


def base_numbers(special: Any, dtype: np.dtype) -> np.ndarray:
    """Element numbers in units of the buffer's own dtype."""
    if isinstance(special, Packed):
        return special.base.reshape(-1)
    flat = special.flat.reshape(-1)
    if special.cast is None or special.cast.itemsize == dtype.itemsize:
        return flat
    first = flat * special.cast.itemsize // dtype.itemsize
    last = (flat + 1) * special.cast.itemsize - 1
    span = int((last // dtype.itemsize - first).max(initial=0)) + 1
    return np.unique(first[:, None] + np.arange(span))
