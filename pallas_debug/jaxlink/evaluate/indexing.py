"""Reads and writes at computed places: dynamic slices, gather and scatter.

One general NumPy implementation serves every set of dimension numbers: an index array
per operand dimension, each shaped to broadcast over (batch dimensions, window
dimensions). All that the shapes decide is decided once, when the rule runs.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pallas_debug.ir.pure import Pure
from pallas_debug.jaxlink.evaluate import kinds
from pallas_debug.jaxlink.evaluate.kinds import Avals, Params, Rule


def _listed(first: int, stop: int) -> str:
    return ", ".join(f"{{{i}}}" for i in range(first, stop))


def _dynamic_slice(params: Params, in_avals: Avals, out_avals: Avals) -> Pure:
    sizes = tuple(map(int, params["slice_sizes"]))
    shape = tuple(map(int, in_avals[0].shape))
    parts = []
    env = {}
    for i, (size, full) in enumerate(zip(sizes, shape, strict=True)):
        if size == full:
            parts.append(":")
            continue
        env[f"take{i}"] = _window(full - size, size)
        parts.append(f"take{i}({{{i + 1}}})")
    if not env:
        return Pure(expr="{0}")
    return Pure(expr=f"{{0}}[{', '.join(parts)}]", env=env)


def _window(last: int, size: int):
    """Slice of `size` whose start is clamped to 0 … `last`, as XLA clamps."""

    def take(start):
        start = min(max(int(start), 0), last)
        return slice(start, start + size)

    return take


def _dynamic_update_slice(params: Params, in_avals: Avals, out_avals: Avals) -> Pure:
    full, part = in_avals[0].shape, in_avals[1].shape
    if full == ():
        return Pure(expr="{1}")
    windows = [_window(int(n - m), int(m)) for n, m in zip(full, part, strict=True)]

    def update(x, y, *starts):
        out = x.copy()
        out[tuple(w(s) for w, s in zip(windows, starts, strict=True))] = y
        return out

    operands = _listed(2, 2 + len(full))
    return Pure(expr=f"update({{0}}, {{1}}, {operands})", env={"update": update})


@dataclass(frozen=True, kw_only=True, slots=True)
class _Places:
    """Where the windows of a gather or scatter lie in the operand.

    Attributes:
      shape: The operand's shape.
      window: Size of the window along each operand dimension.
      columns: For each operand dimension the column of the index vectors that moves
        it, or None.
      batch: For each operand dimension the batch dimension of the indices that it
        runs along, or None.
      rank: Number of batch dimensions of the indices.
    """

    shape: tuple[int, ...]
    window: tuple[int, ...]
    columns: tuple[int | None, ...]
    batch: tuple[int | None, ...]
    rank: int

    def starts(self, indices: np.ndarray) -> list[np.ndarray | None]:
        indices = indices.astype(np.int64)
        return [None if c is None else indices[..., c] for c in self.columns]

    def inside(self, indices: np.ndarray) -> np.ndarray:
        """Whether each window lies wholly in the operand."""
        inside = np.ones(indices.shape[:-1], np.bool_)
        for start, full, size in zip(
            self.starts(indices), self.shape, self.window, strict=True
        ):
            if start is not None:
                inside &= (start >= 0) & (start <= full - size)
        return inside

    def cells(self, indices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Index arrays over (batch…, window…), with starts clamped."""
        windows = len(self.shape)
        cells = []
        for d, start in enumerate(self.starts(indices)):
            along = [1] * (self.rank + windows)
            along[self.rank + d] = self.window[d]
            cell = np.arange(self.window[d]).reshape(along)
            if start is not None:
                start = np.clip(start, 0, self.shape[d] - self.window[d])
                cell = cell + start.reshape(start.shape + (1,) * windows)
            batch = self.batch[d]
            if batch is not None:
                lane = [1] * (self.rank + windows)
                lane[batch] = self.shape[d]
                cell = np.arange(self.shape[d]).reshape(lane)
            cells.append(cell)
        return tuple(cells)


def _columns(rank: int, index_map) -> tuple[int | None, ...]:
    where = {int(d): column for column, d in enumerate(index_map)}
    return tuple(where.get(d) for d in range(rank))


def _lanes(rank: int, operand_dims, index_dims) -> tuple[int | None, ...]:
    pairs = zip(operand_dims, index_dims, strict=True)
    where = {int(d): int(b) for d, b in pairs}
    return tuple(where.get(d) for d in range(rank))


def _mode(params: Params) -> str:
    mode = params["mode"]
    return getattr(mode, "name", str(mode)).upper()


def _is_lax(params: Params) -> bool:
    """Whether it is lax's primitive: Pallas has others of the same name."""
    return "dimension_numbers" in params


def _absent(dtype: np.dtype, fill_value):
    """What a gather yields outside the operand."""
    if fill_value is not None:
        return np.asarray(fill_value).astype(dtype)[()]
    if kinds.is_inexact(dtype):
        return dtype.type(np.nan)
    if kinds.is_bool(dtype):
        return np.True_
    lowest, highest = kinds.limits(dtype)
    return dtype.type(lowest if kinds.is_signed(dtype) else highest)


def _gather(params: Params, in_avals: Avals, out_avals: Avals) -> Pure | None:
    if not _is_lax(params) or not in_avals[0].shape:
        return None
    numbers = params["dimension_numbers"]
    shape, rank = tuple(map(int, in_avals[0].shape)), len(in_avals[1].shape) - 1
    places = _Places(
        shape=shape,
        window=tuple(map(int, params["slice_sizes"])),
        columns=_columns(len(shape), numbers.start_index_map),
        batch=_lanes(
            len(shape),
            numbers.operand_batching_dims,
            numbers.start_indices_batching_dims,
        ),
        rank=rank,
    )
    gone = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    squeezed = tuple(rank + int(d) for d in sorted(gone))
    offsets = [int(d) for d in numbers.offset_dims]
    fills = _mode(params) == "FILL_OR_DROP"
    absent: Any = None
    if fills:
        absent = _absent(in_avals[0].dtype, params.get("fill_value"))

    def gather(x, indices):
        out: np.ndarray = x[places.cells(indices)].squeeze(squeezed)
        if fills:
            inside = places.inside(indices)
            inside = inside.reshape(inside.shape + (1,) * len(offsets))
            out = np.asarray(np.where(inside, out, absent))
        return np.moveaxis(out, range(rank, rank + len(offsets)), offsets)[()]

    return Pure(expr="gather({0}, {1})", env={"gather": gather})


def _scatter(ufunc: np.ufunc | None) -> Rule:
    """Rule of the scatter that combines by `ufunc`, or overwrites for None."""

    def rule(params: Params, in_avals: Avals, out_avals: Avals) -> Pure | None:
        dtype = in_avals[0].dtype
        if not _is_lax(params) or kinds.is_narrow(dtype) or not in_avals[0].shape:
            return None
        if kinds.is_complex(dtype) and ufunc is not None:
            return None
        places, order = _destinations(params, in_avals)
        drops = _mode(params) != "CLIP"

        def scatter(x, indices, updates):
            cells = places.cells(indices)
            updates = np.asarray(updates).transpose(order)
            whole = np.broadcast_shapes(*(c.shape for c in cells))
            updates = updates.reshape(whole)
            out = np.array(x)
            if drops:
                kept = places.inside(indices)
                if not np.logical_and.reduce(kept, None):
                    cells = [np.broadcast_to(c, whole)[kept] for c in cells]
                    updates = updates[kept]
            cells = tuple(cells)
            if ufunc is None:
                out[cells] = updates
            else:
                ufunc.at(out, cells, updates)
            return out[()]

        return Pure(expr="scatter({0}, {1}, {2})", env={"scatter": scatter})

    return rule


def _destinations(params: Params, in_avals: Avals):
    """Places of a scatter, and the order of its updates' axes (batch…, window…)."""
    numbers = params["dimension_numbers"]
    shape, rank = tuple(map(int, in_avals[0].shape)), len(in_avals[1].shape) - 1
    updates = tuple(map(int, in_avals[2].shape))
    inserted = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    sizes = iter([updates[d] for d in numbers.update_window_dims])
    window = tuple(1 if d in inserted else next(sizes) for d in range(len(shape)))
    places = _Places(
        shape=shape,
        window=window,
        columns=_columns(len(shape), numbers.scatter_dims_to_operand_dims),
        batch=_lanes(
            len(shape),
            numbers.operand_batching_dims,
            numbers.scatter_indices_batching_dims,
        ),
        rank=rank,
    )
    windows = [int(d) for d in numbers.update_window_dims]
    batch = [d for d in range(len(updates)) if d not in windows]
    return places, (*batch, *windows)


RULES: dict[str, Rule] = {
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "gather": _gather,
    "scatter": _scatter(None),
    "scatter-add": _scatter(np.add),
    "scatter-sub": _scatter(np.subtract),
    "scatter-mul": _scatter(np.multiply),
    "scatter-min": _scatter(np.minimum),
    "scatter-max": _scatter(np.maximum),
}
for _name in ("add", "sub", "mul", "min", "max"):
    RULES[f"scatter_{_name}"] = RULES[f"scatter-{_name}"]
