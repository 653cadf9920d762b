"""Barriers of a block or a cluster: arrivals, waits, tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.jaxlink.lowering import Lowering, translate
from pallas_debug.jaxlink.translate.gpu_operands import Operands, flat_axes


@translate("gpu.barrier_arrive")
def barrier_arrive(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    operands = Operands(eqn, ins)
    predicate: ir.Operand = ir.Const(np.bool_(True))
    if eqn.params.get("has_user_predicate"):
        predicate = operands.last()
    barrier = operands.take()
    place = operands.views(barrier, eqn.params["transforms_treedef"]).access
    params = cluster_params(barrier.aval)
    lw.emit(
        "gpu.barrier_arrive", [predicate], accesses=[place], params=params, sync=True
    )
    return []


def cluster_params(aval: Any) -> dict[str, Any]:
    """Which blocks an arrival reaches: groups of axes, none for a block's own barrier."""
    groups = getattr(aval.dtype, "collective_axes", ())
    return {
        "groups": tuple(flat_axes(group) for group in groups),
        "leader": bool(getattr(aval.dtype, "leader_tracked", False)),
    }


@translate("gpu.barrier_wait")
def barrier_wait(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    lw.emit("gpu.barrier_wait", accesses=[_barrier(eqn, ins)], sync=True)
    return []


@translate("gpu.barrier_arrive_and_wait")
def barrier_arrive_and_wait(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    barrier_arrive(lw, eqn, ins)
    barrier_wait(lw, eqn, ins)
    return []


@translate("gpu.barrier_test")
def barrier_test(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    """Others get a turn before the answer: a loop that tests would never end."""
    place = _barrier(eqn, ins)
    lw.emit("gpu.barrier_yield", accesses=[place], sync=True)
    return lw.emit("gpu.barrier_test", results=1, accesses=[place])


def _barrier(eqn: Any, ins: Sequence[ir.Operand]) -> ir.Access:
    operands = Operands(eqn, ins)
    return operands.views(operands.take(), eqn.params["transforms_treedef"]).access
