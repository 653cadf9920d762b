"""Parts of a warpgroup and of the grid: warps, and clusters taken off the queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pallas_debug import ir
from pallas_debug.jaxlink.lowering import Lowering, translate
from pallas_debug.jaxlink.translate.agents import Agent
from pallas_debug.jaxlink.translate.gpu_operands import Operands, flat_axes

WARPS = 4


@translate("lax.mpmd_map", "lax.core_map")
def warp_map(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    """The body runs in a thread for each warp; the warpgroup goes on after all."""
    p = eqn.params
    mesh = p["meshes"][0] if "meshes" in p else p["mesh"]
    if type(mesh).__name__ != "WarpMesh":
        return lw.unknown(
            f"lax.{eqn.primitive.name}", [v.aval for v in eqn.outvars], ins
        )
    jaxpr = p["jaxprs"][0] if "jaxprs" in p else p["jaxpr"]
    loc, scope, last_loc = lw.loc, lw.scope, lw.last_loc
    captured = [operand for operand in ins if isinstance(operand, ir.Reg)]
    slots = [lw.register() for _ in captured]
    number = lw.register()
    params = {
        "slots": tuple(slot.number for slot in slots),
        "number": number.number,
        "warps": WARPS,
    }
    position = lw.here
    lw.emit("gpu.warp_map", captured, params=params, targets=[-1], sync=True)
    lw.emit("gpu.warp_join", sync=True)

    def append() -> None:
        lw.loc, lw.scope, lw.last_loc = loc, scope, last_loc
        lw.enter("agent", "warp")
        lw.patch(position, lw.here)
        given = iter(slots)
        operands = [next(given) if isinstance(o, ir.Reg) else o for o in ins]
        kept = lw.axes
        lw.axes = {**kept, mesh.axis_name: number}
        is_closure = len(jaxpr.constvars) == len(ins) and not jaxpr.invars
        lw.jaxpr(jaxpr, [] if is_closure else operands, operands if is_closure else ())
        lw.axes = kept
        lw.emit("ir.return")

    lw.agents.append(append)
    return []


@translate("gpu.try_cluster_cancel")
def try_cluster_cancel(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    """Asks for a cluster that has not started; the answer lands on the barrier."""
    p = eqn.params
    operands = Operands(eqn, ins)
    result, barrier = operands.take(), operands.take()
    agent = Agent()
    place = agent.access(operands.views(result, p["result_transforms_tree"]).access)
    done = operands.views(barrier, p["barrier_transforms_tree"]).access
    everyone = (*lw.grid.cluster_names, lw.grid.thread_name)
    axes = flat_axes(p.get("collective_axes", everyone))
    arrival = {"axes": axes, "thread_name": lw.grid.thread_name}
    lw.emit("gpu.cluster_cancel_arrive", accesses=[done], params=arrival, sync=True)
    done = agent.access(done)

    def routine() -> None:
        lw.emit("gpu.cluster_cancel_answer", accesses=[place, done], sync=True)

    agent.start(lw, "gpu.try_cluster_cancel", "agent", routine, arrival)
    return []


@translate("gpu.query_cluster_cancel")
def query_cluster_cancel(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    """Grid coordinates from the answer, and whether there was a cluster left."""
    p = eqn.params
    operands = Operands(eqn, ins)
    place = operands.views(operands.take(), p["transforms_tree"]).access
    names = tuple(map(str, p["grid_names"]))
    params = {"axes": tuple(lw.grid.names.index(name) for name in names)}
    results = len(eqn.outvars)
    op = "gpu.query_cluster_cancel"
    return lw.emit(op, results=results, accesses=[place], params=params)
