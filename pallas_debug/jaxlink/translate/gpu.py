"""Mosaic GPU: loads and stores with options, atomics, hints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pallas_debug import ir
from pallas_debug.jaxlink import refs
from pallas_debug.jaxlink.evaluate import evaluate
from pallas_debug.jaxlink.lowering import Lowering, translate
from pallas_debug.jaxlink.translate import pallas_semaphores
from pallas_debug.jaxlink.translate.gpu_operands import Operands, flat_axes
from pallas_debug.jaxlink.translate.state import target

translate("gpu.semaphore_signal")(pallas_semaphores.signal)
translate("gpu.semaphore_wait")(pallas_semaphores.wait)

HINTS = (
    "gpu.set_max_registers",
    "gpu.print_layout",
    "gpu.griddepcontrol_wait",
    "gpu.griddepcontrol_launch_dependents",
    "gpu.debug_barrier",
)


@translate(*HINTS)
def hint(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    """What only the compiler, the scheduler or another launch would notice."""
    name = eqn.primitive.name.removesuffix("_p")
    shown = {k: v for k, v in eqn.params.items() if isinstance(v, (int, str))}
    if name == "set_max_registers" and ins and isinstance(ins[0], ir.Const):
        shown["n"] = int(ins[0].value)  # an operand in JAX 0.10
    lw.emit(f"gpu.{name}", params=shown, pure=ir.Pure(expr="None"))
    return []


@translate("gpu.load")
def load(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    access = target(eqn, ins, eqn.params["tree"], 1)
    return lw.emit("state.get", results=1, accesses=[access])


@translate("gpu.store")
def store(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    access = target(eqn, ins, eqn.params["tree"], 2)
    lw.emit("state.set", [ins[1]], accesses=[access])
    return []


@translate("gpu.mgpu_atomic_store")
def atomic_store(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    avals = [v.aval for v in eqn.invars]
    ref, transforms, value = refs.unflatten(eqn.params["args_tree"], ins, avals)
    access = refs.access(refs.operand(ref), avals[0], transforms)
    params = {"operation": str(eqn.params["atomic_type"].value)}
    value = refs.operand(value)
    lw.emit("gpu.atomic_store", [value], accesses=[access], params=params, sync=True)
    return []


@translate("gpu.multimem_store")
def multimem_store(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    """To every device along the axes."""
    operands = Operands(eqn, ins)
    value, ref = operands.take(), operands.take()
    access = operands.views(ref, eqn.params["transforms_tree"]).access
    params = {"axes": flat_axes(eqn.params["collective_axes"])}
    op = "gpu.multimem_store"
    lw.emit(op, [value.operand], accesses=[access], params=params)
    return []


@translate("gpu.multimem_load_reduce")
def multimem_load_reduce(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    operands = Operands(eqn, ins)
    access = operands.views(operands.take(), eqn.params["tree"]).access
    params = {
        "axes": flat_axes(eqn.params["collective_axes"]),
        "operation": str(eqn.params["reduction_op"]),
    }
    op = "gpu.multimem_load_reduce"
    return lw.emit(op, results=1, accesses=[access], params=params)


@translate("gpu.semaphore_signal_multicast")
def signal_multicast(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    avals = [v.aval for v in eqn.invars]
    ref, transforms, amount = refs.unflatten(eqn.params["args_tree"], ins, avals)
    semaphore = refs.access(refs.operand(ref), avals[0], transforms)
    params = {"axes": flat_axes(eqn.params["collective_axes"])}
    op = "gpu.semaphore_signal_multicast"
    lw.emit(op, [refs.operand(amount)], accesses=[semaphore], params=params, sync=True)
    return []


@translate("gpu.semaphore_signal_parallel")
def signal_parallel(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    """One signal after another: an order that the hardware may choose, too."""
    avals = [v.aval for v in eqn.invars]
    arguments = refs.unflatten(eqn.params["args_tree"], ins, avals)
    for ref, transforms, amount, device in zip(*arguments, strict=True):
        access = refs.access(refs.operand(ref), ref.leaf.aval, transforms)
        op = "pallas.semaphore_signal"
        access = pallas_semaphores.reached(lw, access, device, eqn.params, op)
        lw.emit(op, [refs.operand(amount)], accesses=[access], sync=True)
    return []


@translate(
    "gpu.mosaic_gpu_reduce_sum",
    "gpu.mosaic_gpu_reduce_max",
    "gpu.mosaic_gpu_reduce_min",
    "gpu.mosaic_gpu_reduce_prod",
)
def reduction(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    """A reduction with a hint about its order."""
    name = eqn.primitive.name.removeprefix("mosaic_gpu_")
    params = {"axes": eqn.params["axes"], "out_sharding": None}
    pure = evaluate(
        name,
        params,
        [v.aval for v in eqn.invars],
        [v.aval for v in eqn.outvars],
        exact=lw.exact,
    )
    assert pure is not None, "reductions are known"
    return lw.emit(f"lax.{name}", ins, results=1, pure=pure)
