"""Semaphore equations, and who they may reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from pallas_debug import ir
from pallas_debug.jaxlink import refs
from pallas_debug.jaxlink.lowering import Lowering, translate


@translate("pallas.semaphore_signal")
def signal(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    semaphore, amount, device, core = _arguments(eqn, ins)
    own_device(lw, device, eqn.params, "pallas.semaphore_signal")
    if core is not None:
        params = {"axes": ("core",), "op": "pallas.semaphore_signal"}
        lw.emit("pallas.own_device", [refs.operand(core)], params=params)
    lw.emit(
        "pallas.semaphore_signal",
        [refs.operand(amount)],
        accesses=[semaphore],
        sync=True,
    )
    return []


@translate("pallas.semaphore_wait")
def wait(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    semaphore, amount, decrement = _arguments(eqn, ins)
    lw.emit(
        "pallas.semaphore_wait",
        [refs.operand(amount), refs.operand(decrement)],
        accesses=[semaphore],
        sync=True,
    )
    return []


@translate("pallas.semaphore_read")
def read(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    (semaphore,) = _arguments(eqn, ins)
    op = "pallas.semaphore_read"
    return lw.emit(op, results=1, accesses=[semaphore], sync=True)


def _arguments(eqn: Any, ins: Sequence[ir.Operand]) -> tuple[Any, ...]:
    """The semaphore as an access, then the other arguments."""
    avals = [v.aval for v in eqn.invars]
    tree = eqn.params["args_tree"]
    ref, transforms, *rest = refs.unflatten(tree, ins, avals)
    return (refs.access(refs.operand(ref), avals[0], transforms), *rest)


def own_device(lw: Lowering, ids: Any, params: Any, op: str) -> None:
    """A device id other than this device's own ends the launch as unsupported."""
    if ids is None:
        return
    if isinstance(ids, dict):
        axes = tuple(ids)
        values = list(ids.values())
    elif getattr(params.get("device_id_type"), "name", "MESH") == "LOGICAL":
        axes, values = ("logical",), [ids]
    else:
        values = jax.tree.leaves(ids)
        axes = tuple(range(len(values)))
    lw.emit(
        "pallas.own_device",
        [refs.operand(value) for value in values],
        params={"axes": axes, "op": op},
    )
