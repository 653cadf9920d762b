"""`get`, `swap`, `addupdate` of `jax._src.state.primitives`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pallas_debug import ir
from pallas_debug.jaxlink import refs
from pallas_debug.jaxlink.lowering import Lowering, translate


def target(eqn: Any, ins: Sequence[ir.Operand], tree: Any, first: int) -> ir.Access:
    """The access of operand 0 with the transforms whose leaves start at `first`."""
    avals = [v.aval for v in eqn.invars]
    transforms = refs.unflatten(tree, ins[first:], avals[first:])
    return refs.access(ins[0], avals[0], transforms)


@translate("state.get")
def get(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    ref = target(eqn, ins, eqn.params["tree"], 1)
    return lw.emit("state.get", results=1, accesses=[ref])


@translate("state.swap")
def swap(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    ref = target(eqn, ins, eqn.params["tree"], 2)
    if eqn.outvars[0] in lw.used:
        return lw.emit("state.swap", [ins[1]], results=1, accesses=[ref])
    lw.emit("state.set", [ins[1]], accesses=[ref])
    return [ir.Const(None)]


@translate("state.addupdate")
def addupdate(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    ref = target(eqn, ins, eqn.params["tree"], 2)
    lw.emit("state.addupdate", [ins[1]], accesses=[ref])
    return []


@translate("state.broadcast_to")
def broadcast_to(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    return lw.pure("lax.broadcast_to", eqn, ins)
