"""Blackwell's matrix unit and tensor memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pallas_debug import ir
from pallas_debug.jaxlink.lowering import Lowering, translate
from pallas_debug.jaxlink.translate.agents import Agent
from pallas_debug.jaxlink.translate.gpu_copies import given
from pallas_debug.jaxlink.translate.gpu_operands import Operands, flat_axes
from pallas_debug.jaxlink.translate.state import target


@translate("gpu.tcgen05_mma")
def tcgen05_mma(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    """`acc (+)= a @ b` in the order of the issuing thread; maybe arrives when done."""
    p = eqn.params
    operands = Operands(eqn, ins)
    acc, left, right, accumulate = (operands.take() for _ in range(4))
    barrier = operands.take() if p["arrive"] else None
    scales = [operands.take() for _ in range(2 * bool(p["scaled"]))]
    metadata = [operands.take() for _ in range(bool(p["sparse"]))]
    agent = Agent()

    def view(reference: Any, name: str) -> Any:
        return agent.access(
            operands.views(reference, p[f"{name}_transforms_tree"]).access
        )

    accesses = [view(acc, "acc"), view(left, "a"), view(right, "b")]
    done = None if barrier is None else view(barrier, "barrier")
    accesses += [
        view(s, f"{side}_scale") for s, side in zip(scales, "ab", strict=False)
    ]
    accesses += [view(m, "a_sparse_metadata") for m in metadata]
    flag = agent.operand(accumulate.operand)
    axes = flat_axes(p["collective_axis"])
    kinds = {"scaled": bool(p["scaled"]), "sparse": bool(p["sparse"])}

    def routine() -> None:
        lw.emit("gpu.await_previous", [agent.local()], sync=True)
        params = {"axes": axes, **kinds}
        lw.emit("gpu.tcgen05_multiply", [flag], accesses=accesses, params=params)
        if done is not None:
            _arrive(lw, done, axes)

    agent.start(
        lw, "gpu.tcgen05_mma", "tcgen05", routine, {"axes": axes, "predicate": None}
    )
    return []


def _arrive(lw: Lowering, barrier: ir.Access, axes: tuple[str, ...]) -> None:
    params = {"axes": axes}
    lw.emit("gpu.tcgen05_arrive", accesses=[barrier], params=params, sync=True)


@translate("gpu.tcgen05_commit_arrive")
def tcgen05_commit_arrive(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    """Arrives when all that this thread has started on the unit is done."""
    p = eqn.params
    operands = Operands(eqn, ins)
    predicate = operands.last() if p.get("has_user_predicate") else None
    barrier = operands.views(operands.take(), p["barrier_transforms_tree"]).access
    agent = Agent()
    barrier = agent.access(barrier)
    axes = flat_axes(p["collective_axis"])
    params = {"axes": axes, "predicate": given(agent, predicate)}

    def routine() -> None:
        lw.emit("gpu.await_previous", [agent.local()], sync=True)
        _arrive(lw, barrier, axes)

    agent.start(lw, "gpu.tcgen05_commit_arrive", "tcgen05", routine, params)
    return []


@translate(
    "gpu.async_copy_smem_to_tmem",
    "gpu.async_copy_scales_to_tmem",
    "gpu.async_copy_sparse_metadata_to_tmem",
)
def copy_to_tmem(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    p = eqn.params
    operands = Operands(eqn, ins)
    source, place = operands.take(), operands.take()
    agent = Agent()
    held = agent.access(operands.views(source, p["smem_tree"]).access)
    place = agent.access(operands.views(place, p["tmem_tree"]).access)
    axes = flat_axes(p["collective_axis"])
    what = str(eqn.primitive.name).removeprefix("async_copy_").removesuffix("_to_tmem")

    def routine() -> None:
        lw.emit("gpu.await_previous", [agent.local()], sync=True)
        params = {"axes": axes, "what": what}
        lw.emit("gpu.tcgen05_copy", accesses=[held, place], params=params)

    params = {"axes": axes, "predicate": None}
    agent.start(lw, "gpu.tcgen05_copy_start", "tcgen05", routine, params)
    return []


@translate("gpu.async_load")
def async_load_tmem(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    """The value can be used at once; only overwriting the place needs a wait."""
    access = target(eqn, ins, eqn.params["tree"], 1)
    (value,) = lw.emit("gpu.async_load_tmem", results=1, accesses=[access])
    reduce = eqn.params.get("reduce")
    if reduce is None:
        return [value]
    operand = "abs({0})" if reduce.startswith("abs") else "{0}"
    expr = f"np.{reduce.removeprefix('abs')}({operand}, axis=-1)"
    return [value, lw.compute(expr, value)]


@translate("gpu.async_store_tmem")
def async_store_tmem(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    access = target(eqn, ins, eqn.params["tree"], 2)
    lw.emit("gpu.async_store_tmem", [ins[1]], accesses=[access])
    return []


@translate("gpu.commit_tmem", "gpu.wait_load_tmem")
def settle_tmem(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    lw.emit(f"gpu.{eqn.primitive.name}")
    return []
