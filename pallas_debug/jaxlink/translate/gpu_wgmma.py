"""Hopper's matrix unit: products that a warpgroup starts and waits for in groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pallas_debug import ir
from pallas_debug.jaxlink import refs
from pallas_debug.jaxlink.lowering import Lowering, is_ref, translate
from pallas_debug.jaxlink.translate.agents import Agent
from pallas_debug.jaxlink.translate.gpu_copies import count
from pallas_debug.jaxlink.translate.gpu_operands import Operands


@translate("gpu.wgmma_ref")
def wgmma_ref(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    """`acc += a @ b`, after the products that this warpgroup started before."""
    p = eqn.params
    operands = Operands(eqn, ins)
    acc, left, right = (operands.take() for _ in range(3))
    agent = Agent()
    target = agent.access(operands.views(acc, p["acc_transforms_tree"]).access)
    accesses, values = [target], []
    for side, tree in ((left, p["a_transforms_tree"]), (right, p["b_transforms_tree"])):
        if is_ref(side.aval):
            accesses.append(agent.access(operands.views(side, tree).access))
        else:
            values.append(agent.operand(side.operand))

    def routine() -> None:
        lw.emit("gpu.await_previous", [agent.local()], sync=True)
        params = {"left_is_value": bool(values)}
        lw.emit("gpu.wgmma_multiply", values, accesses=accesses, params=params)

    agent.start(lw, "gpu.wgmma", "wgmma", routine)
    return []


@translate("gpu.wgmma_wait")
def wgmma_wait(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    lw.emit("gpu.wgmma_wait", [count(eqn, ins)], sync=True)
    return []


@translate("gpu.wgmma_accumulator_deref")
def wgmma_accumulator_deref(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    pending = eqn.params["wait_n"]
    if pending is not None:
        lw.emit("gpu.wgmma_wait", [ir.Const(int(pending))], sync=True)
    access = refs.access(ins[0], eqn.invars[0].aval, ())
    return lw.emit("state.get", results=1, accesses=[access])


@translate("gpu.wgmma_accumulator_store")
def wgmma_accumulator_store(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    access = refs.access(ins[0], eqn.invars[0].aval, ())
    lw.emit("state.set", [ins[1]], accesses=[access])
    return [ir.Const(None)] * len(eqn.outvars)


@translate("gpu.mma")
def mma(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    """The synchronous product of Ampere, on values."""
    return lw.emit("gpu.mma", ins, results=1)
