"""Inline Mosaic GPU code that orders: fences, waits, named barriers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.jaxlink import inline
from pallas_debug.jaxlink.lowering import Lowering, translate

ORDERING = {
    "commit-smem": "gpu.commit_smem",
    "commit-tmem": "gpu.commit_tmem",
    "wait-tmem": "gpu.wait_load_tmem",
}
NAMED_BARRIERS = 16  # of a block


@translate("gpu.inline_mgpu")
def inline_mgpu(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    """The user's own code for the chip: executed where it only orders."""
    found = _actions(lw, eqn)
    if found is None:
        return lw.unknown("gpu.inline_mgpu", [v.aval for v in eqn.outvars], ins)
    text = " ".join(action.text for action in found)
    lw.emit("gpu.fence", params={"asm": text}, pure=ir.Pure(expr="None"))
    for action in found:
        if action.kind in ORDERING:
            lw.emit(ORDERING[action.kind])
        elif action.kind in ("sync", "arrive"):
            _named_barrier(lw, action, ins)
    return []


def _actions(lw: Lowering, eqn: Any) -> tuple[inline.Action, ...] | None:
    avals = [v.aval for v in eqn.invars]
    plain = all(getattr(a, "dtype", None) == np.int32 and not a.shape for a in avals)
    if eqn.outvars or not plain:
        return None
    found = inline.actions(eqn.params["mgpu_fn"], len(avals))
    fits = all(_amount(lw, a) for a in found or () if a.number)
    return found if fits else None


def _unit(lw: Lowering, action: inline.Action) -> int:
    """Threads that arrive as one: a warpgroup, or a warp if single ones take part."""
    threads = action.threads or lw.grid.threads * inline.WARPGROUP
    return inline.WARPGROUP if threads % inline.WARPGROUP == 0 else inline.WARP


def _amount(lw: Lowering, action: inline.Action) -> int:
    """Arrivals of whoever executes it here; 0 where that is part of a unit."""
    here = inline.WARP if lw.axes else inline.WARPGROUP
    return here // _unit(lw, action)


def meet(lw: Lowering) -> None:
    """All warpgroups of the block wait for each other, at barrier 0."""
    _named_barrier(lw, inline.Action(kind="sync", text="bar.sync 0", number="0"), ())


def _named_barrier(
    lw: Lowering, action: inline.Action, ins: Sequence[ir.Operand]
) -> None:
    """`bar.sync` and `bar.arrive`: barriers that a block has without declaring them."""
    number: ir.Operand
    if action.number.startswith("$"):
        number = ins[int(action.number[1:])]
    else:
        number = ir.Const(np.int32(int(action.number)))
    threads = action.threads or lw.grid.threads * inline.WARPGROUP
    decl = ir.Buffer(
        name="named_barrier",
        space="barrier",
        shape=(NAMED_BARRIERS,),
        dtype="barrier",
        scope="block",
        params={"num_arrivals": threads // _unit(lw, action)},
        loc=lw.loc,
    )
    sync, shared = action.kind == "sync", {"decl": decl}
    params = {**shared, "amount": _amount(lw, action), "waits": sync}
    lw.emit("gpu.named_arrive", [number], params=params, sync=True)
    if sync:
        lw.emit("gpu.named_wait", [number], params=shared, sync=True)
