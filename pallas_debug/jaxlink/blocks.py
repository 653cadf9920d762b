"""BlockSpecs: index maps and windows as instructions around the kernel's body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pallas_debug import ir
from pallas_debug.jaxlink import locations, privates, refs
from pallas_debug.jaxlink.lowering import Lowering

IN_PLACE = ("any", "hbm", "semaphore", "gmem")
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """One input or output of the grid: its array, block mapping and name.

    `shares` is the slot of the aliased output of an input, or input of an output.
    `is_written`: the body stores into it.
    """

    array: ir.Operand
    mapping: Any
    name: str
    is_output: bool
    slot: int
    shares: int | None = None
    is_written: bool = False


def dims_of(mapping: Any) -> tuple[tuple, ...]:
    """Each block dimension as plain data (see `machine.rules.grid`)."""
    return tuple(_dim(d) for d in mapping.block_shape)


def _dim(dim: Any) -> tuple:
    kind = type(dim).__name__
    if kind == "Squeezed":
        return ("squeezed",)
    if kind == "Element":
        return ("element", int(dim.block_size), int(dim.padding[0]))
    if kind == "BoundedSlice":
        return ("bounded", int(dim.block_size))
    if kind == "Blocked":
        return ("blocked", int(dim.block_size))
    return (UNKNOWN, repr(dim))


def is_in_place(lw: Lowering, mapping: Any) -> bool:
    """Whether the kernel works on the array itself, without a copy."""
    return is_view(lw, mapping) or is_whole(lw, mapping)


def is_whole(lw: Lowering, mapping: Any) -> bool:
    """Whether the block is the array, and the array is where the kernel wants it."""
    if not mapping.has_trivial_window() or ("squeezed",) in dims_of(mapping):
        return False
    return lw.backend != "tpu" or _stays(mapping)


def is_view(lw: Lowering, mapping: Any) -> bool:
    """Whether the block is a part of the array that is not copied."""
    if is_whole(lw, mapping):
        return False
    return lw.backend == "triton" or (lw.backend == "tpu" and _stays(mapping))


def _stays(mapping: Any) -> bool:
    return refs.space_of(mapping.transformed_block_aval, "") in IN_PLACE


def window(
    lw: Lowering, op: Operand, ids: Sequence[ir.Operand], scalars: Sequence[ir.Operand]
) -> ir.Operand:
    """The reference that the body gets for an operand at this grid point."""
    if is_whole(lw, op.mapping):
        return op.array
    kept_loc, kept_last = lw.loc, lw.last_loc
    before = lw.enter("call", f"index map of {op.name}")
    indices = _indices(lw, op.mapping, [*ids, *scalars])
    lw.scope = before
    lw.loc = _map_loc(lw, op.mapping)
    dims = dims_of(op.mapping)
    unknown = [dim[1] for dim in dims if dim[0] == UNKNOWN]
    if unknown:
        form = f"the block dimension {unknown[0]}", "use pl.Blocked, or pl.Element"
        aval = op.mapping.transformed_block_aval
        (ref,) = lw.unknown("pallas.pallas_call", [aval], form=form)
    elif is_view(lw, op.mapping):
        params = {"dims": dims}
        (ref,) = lw.emit("window.view", [op.array, *indices], results=1, params=params)
    else:
        ref = _copied(lw, op, dims, indices)
    lw.loc, lw.last_loc = kept_loc, kept_last
    return ref


def _indices(
    lw: Lowering, mapping: Any, args: Sequence[ir.Operand]
) -> list[ir.Operand]:
    """What the index map returns: one operand a dimension, two for a slice."""
    values = lw.jaxpr(mapping.index_map_jaxpr, args)
    tree = mapping.index_map_out_tree
    found = refs.unflatten(tree, values, [None] * len(values))
    indices: list[ir.Operand] = []
    for index in found if isinstance(found, (tuple, list)) else (found,):
        sliced = isinstance(index, privates.indexing.Slice)
        parts = (index.start, index.size) if sliced else (index,)
        indices += [refs.operand(part) for part in parts]
    return indices


def _copied(
    lw: Lowering, op: Operand, dims: tuple, indices: Sequence[ir.Operand]
) -> ir.Operand:
    decl = _declare(lw, op)
    params: dict[str, Any] = {"slot": op.slot, "decl": decl, "dims": dims}
    name = "window.fetch"
    if op.is_output:
        name = "window.output"
        shares = op.shares is not None and lw.backend != "tpu"
        params |= {"refetch": _is_restored(lw, op.mapping), "preload": shares}
    elif lw.backend != "tpu":
        params |= {"again": op.shares, "stored": op.is_written}
    (ref,) = lw.emit(name, [op.array, *indices], results=1, params=params, sync=True)
    return ref


def _is_restored(lw: Lowering, mapping: Any) -> bool:
    """Whether an output's block that is come back to still has its value."""
    revisit = getattr(mapping.pipeline_mode, "revisit", None)
    return lw.backend != "tpu" or getattr(revisit, "name", "") == "ANY"


def flush(lw: Lowering, operands: Sequence[Operand]) -> None:
    """Writes back and frees the windows when the grid has ended."""
    copied = [op for op in operands if not is_in_place(lw, op.mapping)]
    inputs = [op for op in copied if not op.is_output]
    stored = [op for op in inputs if op.is_written and lw.backend != "tpu"]
    lw.emit(
        "window.flush",
        params={
            "slots": tuple(op.slot for op in copied if op.is_output),
            "inputs": tuple(op.slot for op in inputs),
            "stored": tuple(op.slot for op in stored),
        },
        sync=True,
    )


def _declare(lw: Lowering, op: Operand) -> ir.Buffer:
    aval = op.mapping.transformed_block_aval
    layout = getattr(op.mapping.ref_aval, "transforms", ())
    decl = refs.declare(lw, op.name, aval, layout, "thread")
    kept = tuple(d for d, dim in enumerate(dims_of(op.mapping)) if dim[0] != "squeezed")
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


def _map_loc(lw: Lowering, mapping: Any) -> int:
    """Where the index map is written: the line of its first equation or function."""
    loc = locations.defined_at(mapping.index_map_jaxpr)
    return lw.loc if loc is None else lw.add_loc(loc)
