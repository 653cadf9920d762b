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
    semaphore = reached(lw, semaphore, device, eqn.params, "pallas.semaphore_signal")
    if core is not None:
        names = lw.grid.cluster_names[:1] or ("core",)
        semaphore = on_core(lw, semaphore, {names[0]: core}, "pallas.semaphore_signal")
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


def reached(
    lw: Lowering, access: ir.Access, ids: Any, params: Any, op: str
) -> ir.Access:
    """The same reference on the device, or the core, that a device id names."""
    if ids is None:
        return access
    if isinstance(ids, dict):
        return on_core(lw, access, ids, op)
    if getattr(params.get("device_id_type"), "name", "MESH") == "LOGICAL":
        return on_core(lw, access, {"logical": ids}, op)
    leaves = enumerate(jax.tree.leaves(ids))
    return on_core(lw, access, {f"#{place}": value for place, value in leaves}, op)


def on_core(lw: Lowering, access: ir.Access, ids: dict[Any, Any], op: str) -> ir.Access:
    """Axes of the mesh of cores lead to another core, all others to a device.

    Which buffer it is is asked here, not when a copy gets to it: by then the device may
    be at another block.
    """
    cores = {
        _single(a): v for a, v in ids.items() if _single(a) in lw.grid.cluster_names
    }
    rest = {_single(a): v for a, v in ids.items() if _single(a) not in cores}
    if rest:
        ids = {**rest, **cores}
        (ref,) = lw.emit(
            "pallas.on_device",
            [access.ref, *map(refs.operand, ids.values())],
            results=1,
            params={"axes": tuple(ids), "op": op},
        )
        return ir.Access(ref=ref, steps=access.steps)
    values = tuple(refs.operand(value) for value in cores.values())
    peer = ir.Peer(ids=values, axes=tuple(cores))
    return ir.Access(ref=access.ref, steps=(peer, *access.steps))


def _single(axis: Any) -> Any:
    return axis[0] if isinstance(axis, tuple) and len(axis) == 1 else axis
