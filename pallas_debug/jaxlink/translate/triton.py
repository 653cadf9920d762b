"""Equations of the triton family: atomics, hints, inline assembly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pallas_debug import ir
from pallas_debug.jaxlink import refs
from pallas_debug.jaxlink.lowering import Lowering, translate
from pallas_debug.jaxlink.translate.pallas import masked


@translate("triton.atomic_rmw")
def atomic_rmw(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    ref, _, value, mask = masked(eqn, ins)
    operands = [refs.operand(value)]
    operands.append(ir.Const(None) if mask is None else refs.operand(mask))
    params = {"operation": eqn.params["atomic_type"].value}
    return lw.emit(
        "triton.atomic_rmw",
        operands,
        results=1,
        accesses=[ref],
        params=params,
        sync=True,
    )


@translate("triton.atomic_cas")
def atomic_cas(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    ref, *values = ins
    access = refs.access(ref, eqn.invars[0].aval, ())
    op = "triton.atomic_cas"
    return lw.emit(op, values, results=1, accesses=[access], sync=True)


@translate("triton.debug_barrier")
def debug_barrier(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    """A barrier of the lanes of a program, which is one thread here."""
    return []


@translate("triton.max_contiguous")
def max_contiguous(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    return [ins[0]]
