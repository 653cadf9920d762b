"""Asynchronous copies between global and shared memory: threads of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pallas_debug import ir
from pallas_debug.jaxlink import versions
from pallas_debug.jaxlink.lowering import Lowering, translate
from pallas_debug.jaxlink.translate import gpu_im2col
from pallas_debug.jaxlink.translate.agents import Agent
from pallas_debug.jaxlink.translate.gpu_operands import Operands, Viewed, flat_axes
from pallas_debug.jaxlink.translate.gpu_shares import Shares


@translate("gpu.copy_gmem_to_smem")
def copy_gmem_to_smem(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    """Reads, writes, arrives; blocks of a cluster each copy a share for all."""
    p = eqn.params
    operands = Operands(eqn, ins)
    predicate = operands.last() if p.get("has_user_predicate") else None
    source, target = operands.take(), operands.take()
    has_barrier = p.get("has_barrier", not versions.COPIES_SAY_HAS_BARRIER)
    barrier = operands.take() if has_barrier else None
    source = gpu_im2col.views(lw, operands, source, p["src_transforms_treedef"])
    target = operands.views(target, p["dst_transforms_treedef"])
    if barrier is not None:
        barrier = operands.views(barrier, p["barrier_transforms_treedef"]).access
    shares = Shares(lw, flat_axes(p["collective_axes"]), p["leader_tracked"], target)
    zeros = getattr(p["oob_mode"], "name", "ZEROS") == "ZEROS"
    _load(lw, source, target, barrier, predicate, shares, zeros)
    return []


def _load(
    lw: Lowering,
    source: Viewed,
    target: Viewed,
    barrier: ir.Access | None,
    predicate: ir.Operand | None,
    shares: Shares,
    zeros: bool,
) -> None:
    agent = Agent()
    held, place = agent.access(source.access), agent.access(target.access)
    barrier = barrier and agent.access(barrier)
    params = {"predicate": given(agent, predicate), "grouped": barrier is None}

    def routine() -> None:
        reads, writes = shares.of(lw, agent, held, place)
        value = agent.local()
        lw.emit("gpu.tma_read", outs=[value], accesses=[reads], params={"zeros": zeros})
        if not shares.axes:
            lw.emit("gpu.tma_write", [value], accesses=[writes])
            if barrier is not None:
                lw.emit("gpu.tma_arrive", accesses=[barrier], sync=True)
            return
        axes = () if shares.is_partitioned else shares.axes
        lw.emit("gpu.tma_multicast", [value], accesses=[writes], params={"axes": axes})
        landing = {
            "axes": shares.axes,
            "amount": shares.amount,
            "leader": shares.leader,
        }
        landed = [] if barrier is None else [barrier]
        lw.emit("gpu.tma_land", accesses=landed, params=landing, sync=True)

    agent.start(lw, "gpu.copy_gmem_to_smem", "tma", routine, params)


def given(agent: Agent, operand: ir.Operand | None) -> Any:
    """Which of the agent's registers holds a predicate; a constant as itself."""
    if operand is None:
        return None
    held = agent.operand(operand)
    return held.number if isinstance(held, ir.Reg) else bool(held.value)


@translate("gpu.wait_gmem_to_smem")
def wait_gmem_to_smem(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    params = {"pending": int(eqn.params["n"])}
    lw.emit("gpu.wait_gmem_to_smem", params=params, sync=True)
    return []


@translate("gpu.copy_smem_to_gmem")
def copy_smem_to_gmem(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    p = eqn.params
    operands = Operands(eqn, ins)
    predicate = operands.last() if p["has_user_predicate"] else None
    source, target = operands.take(), operands.take()
    source = operands.views(source, p["src_transforms_treedef"])
    target = operands.views(target, p["dst_transforms_treedef"])
    agent = Agent()
    held, place = agent.access(source.access), agent.access(target.access)
    params = {"predicate": given(agent, predicate)}
    reduction = {"reduction": p["reduction_op"]}
    several = [step for step in place.steps if isinstance(step, ir.Multicast)]
    if several:
        reduction["axes"] = several[0].axes

    def routine() -> None:
        value = agent.local()
        lw.emit("gpu.tma_read", outs=[value], accesses=[held], params={"zeros": False})
        lw.emit("gpu.tma_reads_done")
        lw.emit("gpu.tma_store", [value], accesses=[place], params=reduction, sync=True)

    agent.start(lw, "gpu.copy_smem_to_gmem", "tma", routine, params)
    if p["commit_group"]:
        lw.emit("gpu.commit_group")
    return []


@translate("gpu.commit_group")
def commit_group(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    lw.emit("gpu.commit_group")
    return []


@translate("gpu.wait_smem_to_gmem")
def wait_smem_to_gmem(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    params = {"reads": bool(eqn.params["wait_read_only"])}
    lw.emit("gpu.wait_smem_to_gmem", [count(eqn, ins)], params=params, sync=True)
    return []


def count(eqn: Any, ins: Sequence[ir.Operand]) -> ir.Operand:
    """How many groups a wait leaves in flight."""
    if versions.WAIT_COUNTS_ARE_PARAMS:
        return ir.Const(int(eqn.params["n"]))
    return ins[0]


@translate("gpu.commit_smem")
def commit_smem(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    lw.emit("gpu.commit_smem")
    return []


@translate("gpu.async_prefetch")
def async_prefetch(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    """Brings data into a cache: nobody can tell, so nothing is read."""
    operands = Operands(eqn, ins)
    if eqn.params.get("has_user_predicate"):
        operands.last()
    region = operands.views(operands.take(), eqn.params["ref_transforms_treedef"])
    lw.emit("gpu.async_prefetch", accesses=[region.access])
    return []


@translate("gpu.async_store_smem")
def async_store_smem(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    """A value from registers to the shared memory of a block of the cluster."""
    p = eqn.params
    operands = Operands(eqn, ins)
    value, target, barrier, block = (operands.take() for _ in range(4))
    place = operands.views(target, p["ref_transforms_treedef"])
    done = operands.views(barrier, p["barrier_transforms_treedef"])
    agent = Agent()
    peer = ir.Peer(ids=(block.operand,), axes=(str(p["cluster_dim"]),))
    target, barrier = (
        agent.access(ir.Access(ref=view.access.ref, steps=(peer, *view.access.steps)))
        for view in (place, done)
    )
    held = agent.operand(value.operand)

    def routine() -> None:
        reduction = {"reduction": p["atomic"]}
        lw.emit("gpu.tma_store", [held], accesses=[target], params=reduction)
        lw.emit("gpu.tma_arrive", accesses=[barrier], sync=True)

    agent.start(lw, "gpu.async_store_smem", "tma", routine)
    return []
