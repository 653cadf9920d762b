"""Equations of a TPU's SparseCore: gathers, scatters, the loop, the subcores' barrier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.jaxlink import refs, versions
from pallas_debug.jaxlink.lowering import Lowering, translate


def _at(ref: Any, transforms: Any, indices: Sequence[Any]) -> ir.Access:
    """One element of the reference for each lane."""
    leaf = ref.leaf
    view = refs.access(leaf.operand, leaf.aval, transforms)
    lanes = ir.Index(dims=tuple(ir.Gather(index=refs.operand(i)) for i in indices))
    return ir.Access(ref=view.ref, steps=(*view.steps, lanes))


def _arguments(eqn: Any, ins: Sequence[ir.Operand]) -> Any:
    return refs.unflatten(eqn.params["tree"], ins, [v.aval for v in eqn.invars])


def _mask(mask: Any) -> ir.Operand:
    return ir.Const(None) if mask is None else refs.operand(mask)


@translate("sc.gather")
def gather(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    ref, transforms, indices, mask = _arguments(eqn, ins)
    access = _at(ref, transforms, indices)
    operands = [_mask(mask), ir.Const(None)]
    return lw.emit("pallas.masked_load", operands, results=1, accesses=[access])


@translate("sc.scatter")
def scatter(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    """An added value lands although another lane adds to the same element."""
    ref, transforms, indices, value, mask = _arguments(eqn, ins)
    access, operands = _at(ref, transforms, indices), [refs.operand(value), _mask(mask)]
    if eqn.params["add"]:
        params = {"operation": "add"}
        op = "triton.atomic_rmw"
        lw.emit(op, operands, results=1, accesses=[access], params=params, sync=True)
    else:
        lw.emit("pallas.masked_store", operands, accesses=[access])
    return []


@translate("sc.parallel_loop")
def parallel_loop(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    """One iteration after another: an order that the hardware may choose, too."""
    first, last, step, consts, initial = _arguments(eqn, ins)
    jaxpr, _ = versions.open_jaxpr(eqn.params["jaxpr"])
    own = len(jaxpr.constvars)  # what it closes over; its first operands from 0.12 on
    before = lw.enter("while", "parallel_loop")
    index, *carry = (lw.register() for _ in (0, *initial))
    lw.move([refs.operand(v) for v in (first, *initial)], [index, *carry])
    top = lw.here
    go = lw.compute("np.bool_({0} < {1})", index, refs.operand(last))
    lw.emit("ir.branch", [go], targets=[-1, -1])
    branch = lw.here - 1
    operands = [*map(refs.operand, consts), index, *carry]
    lw.move(lw.jaxpr(jaxpr, operands[own:], operands[:own]), carry)
    following = lw.compute("np.int32({0} + {1})", index, refs.operand(step))
    lw.move([following], [index])
    lw.jump(top)
    lw.patch(branch, lw.here, branch + 1)
    lw.scope = before
    return carry


@translate("sc.barrier")
def subcore_barrier(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    """All subcores of a core: the last axis of their mesh."""
    axis, count = lw.grid.cluster_names[-1], lw.grid.cluster[-1]
    decl = ir.Buffer(
        name="subcore_barrier",
        space="barrier",
        shape=(1,),
        dtype="barrier",
        scope="launch",
        params={"num_arrivals": count},
        loc=lw.loc,
    )
    params = {"decl": decl, "axis": axis}
    lw.emit("sc.barrier_arrive", params=params, sync=True)
    lw.emit("sc.barrier_wait", params=params, sync=True)
    return []


@translate("sc.masked_cumsum")
def cumsum(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    expr = "np.cumsum(np.where({1}, {0}, 0), axis=-1, dtype={0}.dtype)"
    return [lw.compute(expr, *ins)]


@translate("sc.masked_cummax", "sc.masked_cummin")
def extreme(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    """Until the first lane under the mask, values pass through."""
    name = eqn.primitive.name.removeprefix("masked_cum")
    ufunc = np.maximum if name == "max" else np.minimum
    return [lw.compute("scanned({0}, {1}, F)", *ins, scanned=_scanned, F=ufunc)]


def _scanned(values: np.ndarray, mask: np.ndarray, ufunc: np.ufunc) -> np.ndarray:
    out = values.copy()
    on = np.flatnonzero(mask)
    if len(on):
        running = ufunc.accumulate(values[on])
        last = np.searchsorted(on, np.arange(len(values)), side="right") - 1
        out = np.where(last >= 0, running[np.maximum(last, 0)], values)
    return out


@translate("sc.all_reduce_population_count")
def population_count(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    return _everywhere(lw, eqn, "np.count_nonzero({0})", ins)


@translate("sc.all_reduce_ffs")
def first_set(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    expr = "np.argmax({0}) if {0}.any() else {0}.size"
    return _everywhere(lw, eqn, expr, ins)


def _everywhere(
    lw: Lowering, eqn: Any, expr: str, ins: Sequence[ir.Operand]
) -> list[ir.Operand]:
    """A number in every lane of the result."""
    aval = eqn.outvars[0].aval
    held = {"S": tuple(aval.shape), "T": np.dtype(aval.dtype)}
    return [lw.compute(f"np.full(S, {expr}, T)", *ins, **held)]
