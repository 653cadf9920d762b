"""BlockSpecs: index maps and windows as instructions around the kernel's body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.jaxlink import locations, refs
from pallas_debug.jaxlink.lowering import Lowering

IN_PLACE = ("any", "hbm", "semaphore", "gmem")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """One input or output of the grid: its array, block mapping and name."""

    array: ir.Operand
    mapping: Any
    name: str
    is_output: bool
    slot: int
    preload: bool = False


def dims_of(mapping: Any) -> tuple[tuple, ...]:
    """Each block dimension as plain data (see `machine.rules.grid`)."""
    return tuple(_dim(d) for d in mapping.block_shape)


def _dim(dim: Any) -> tuple:
    kind = type(dim).__name__
    if kind == "Squeezed" or dim is None:
        return ("squeezed",)
    if kind == "Element":
        padding = tuple(getattr(dim, "padding", (0, 0)))
        return ("element", int(dim.block_size) + 0, int(padding[0]))
    if kind == "BoundedSlice":
        return ("bounded", int(dim.block_size))
    if kind in ("Blocked", "int"):
        return ("blocked", int(getattr(dim, "block_size", dim)))
    raise NotImplementedError(f"block dimension {kind}")


def is_in_place(lw: Lowering, mapping: Any) -> bool:
    """Whether the kernel works on the array itself, without a copy."""
    space = refs.space_of(mapping.transformed_block_aval, "")
    if space in IN_PLACE:
        return True
    return lw.backend != "tpu" and mapping.has_trivial_window()


def window(
    lw: Lowering, op: Operand, ids: Sequence[ir.Operand], scalars: Sequence[ir.Operand]
) -> ir.Operand:
    """The reference that the body gets for an operand at this grid point."""
    if is_in_place(lw, op.mapping):
        return op.array
    kept_loc, kept_last = lw.loc, lw.last_loc
    before = lw.enter("call", f"index map of {op.name}")
    indices = lw.jaxpr(op.mapping.index_map_jaxpr, [*ids, *scalars])
    lw.scope = before
    indices = indices[: _index_count(op.mapping)]
    lw.loc = _map_loc(lw, op.mapping)
    dims = dims_of(op.mapping)
    if lw.backend == "triton":
        params = {"dims": dims}
        (ref,) = lw.emit(
            "window.view", [op.array, *indices], results=1, params=params
        )
    else:
        ref = _copied(lw, op, dims, indices)
    lw.loc, lw.last_loc = kept_loc, kept_last
    return ref


def _copied(
    lw: Lowering, op: Operand, dims: tuple, indices: Sequence[ir.Operand]
) -> ir.Operand:
    decl = _declare(lw, op)
    params: dict[str, Any] = {"slot": op.slot, "decl": decl, "dims": dims}
    name = "window.fetch"
    if op.is_output:
        name = "window.output"
        params |= {"refetch": lw.backend != "tpu", "preload": op.preload}
    (ref,) = lw.emit(name, [op.array, *indices], results=1, params=params, sync=True)
    return ref


def _declare(lw: Lowering, op: Operand) -> ir.Buffer:
    aval = op.mapping.transformed_block_aval
    decl = refs.declare(lw, op.name, aval, (), "thread")
    kept = tuple(
        d for d, dim in enumerate(dims_of(op.mapping)) if dim[0] != "squeezed"
    )
    space = "vmem" if decl.space in ("any", "") else decl.space
    params = {**decl.params, "kept": kept}
    return ir.Buffer(
        name=decl.name,
        space=space if lw.backend == "tpu" else "block",
        shape=decl.shape,
        dtype=decl.dtype,
        scope="launch",
        params=params,
        loc=_map_loc(lw, op.mapping),
    )


def _index_count(mapping: Any) -> int:
    return sum(2 if d[0] == "bounded" else 1 for d in dims_of(mapping))


def _map_loc(lw: Lowering, mapping: Any) -> int:
    """Where the index map is written: the line of its first equation or function."""
    loc = locations.defined_at(mapping.index_map_jaxpr)
    return lw.loc if loc is None else lw.add_loc(loc)


def shape_of(aval: Any) -> tuple[int, ...]:
    """The shape of an array type as plain ints."""
    return tuple(int(d) for d in np.shape(aval) or aval.shape)
