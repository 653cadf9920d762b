"""Primitives common to all backends: ids, scoped allocation, masked access, hints."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.jaxlink import names as argument_names
from pallas_debug.jaxlink import refs, versions
from pallas_debug.jaxlink.lowering import Lowering, constant, is_ref, translate
from pallas_debug.jaxlink.translate import gpu_inline

LOOPS = ("scan", "while")


@translate("pallas.program_id")
def program_id(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    axis = user_axis(lw, eqn.params["axis"])
    if lw.grid_ids is not None:
        return [lw.grid_ids[axis]]
    return lw.emit("grid.id", results=1, params={"axis": f"#{axis}"})


def user_axis(lw: Lowering, axis: int) -> int:
    """Position in the real grid of the axis that the user counts without vmap's."""
    if not lw.vmapped:
        return axis
    rank = len(lw.grid.shape)
    return [d for d in range(rank) if d not in lw.vmapped][axis]


@translate("pallas.num_programs")
def num_programs(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    axis = user_axis(lw, eqn.params["axis"])
    return lw.emit("grid.size", results=1, params={"axis": axis})


@translate("lax.axis_index")
def axis_index(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    name = eqn.params["axis_name"]
    grid = lw.grid
    if name in lw.axes:
        return [lw.axes[name]]
    if name == grid.thread_name and grid.thread_name:
        return lw.emit("grid.thread", results=1)
    if lw.grid_ids is not None and name in grid.names:
        return [lw.grid_ids[grid.names.index(name)]]
    return lw.emit("grid.id", results=1, params={"axis": str(name)})


@translate("lax.axis_size", "lax.psum_invariant")
def axis_size(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    grid = lw.grid
    name = eqn.params["axis_name"]
    sizes = dict(zip(grid.names, grid.shape, strict=False))
    sizes |= dict(zip(grid.cluster_names, grid.cluster, strict=True))
    sizes |= {grid.thread_name: grid.threads, **lw.call.axis_env}
    return [constant(np.int32(sizes[name] or 0))]


@translate("pallas.run_scoped")
def run_scoped(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    """Allocates, runs the body, frees; all threads of the block share a collective one."""
    p = eqn.params
    jaxpr = p["jaxpr"]
    collective = bool(p.get("collective_axes"))
    transforms = p.get("ref_transforms") or [()] * len(jaxpr.invars)
    names = lw.scratch or debug_names(jaxpr)
    lw.scratch = []
    scope = "block" if collective or lw.grid.threads == 1 else "thread"
    meets = collective and _may_reuse_memory(lw)
    before = lw.enter("scoped", "run_scoped")
    if meets:
        gpu_inline.meet(lw)
    decls = tuple(
        refs.declare(lw, names[i] or f"scratch{i}", v.aval, t, _scope(v.aval, scope))
        for i, (v, t) in enumerate(zip(jaxpr.invars, transforms, strict=True))
    )
    if collective:
        axes = tuple(map(str, p["collective_axes"]))
        decls = tuple(_along(decl, axes) for decl in decls)
    held, free = allocated(lw, decls, lw.grid.threads if collective else 1)
    outs = lw.jaxpr(jaxpr, held, ins)
    free()
    lw.scope = before
    return outs


def _may_reuse_memory(lw: Lowering) -> bool:
    """Whether memory of a scope that has ended may be taken by one that opens here.

    The warpgroups of a block then meet first, as JAX's lowering has it, so that all have
    left the scope before.
    """
    if lw.backend != "mosaic_gpu" or lw.grid.threads == 1:
        return False
    around, scope = set[int](), lw.scope
    while scope >= 0:
        around.add(scope)
        scope = lw.scopes[scope].parent
    return any(
        one.kind in LOOPS if number in around else one.kind == "scoped"
        for number, one in enumerate(lw.scopes)
    )


def allocated(
    lw: Lowering, decls: Sequence[ir.Buffer], users: int
) -> tuple[list[ir.Operand], Callable[[], None]]:
    """References to new buffers, and how to end them.

    On a TPU with several cores a buffer in HBM is one for all of them, and one in a
    SparseCore's shared memory for its subcores.
    """
    several = lw.backend == "tpu" and math.prod(lw.grid.cluster) > 1
    sharing = [_sharing(lw, decl) if several else () for decl in decls]
    held: dict[int, ir.Operand] = {}
    frees: list[tuple[str, list[ir.Operand], dict[str, Any]]] = []
    for axes in sorted(set(sharing), reverse=True):
        name = "_shared" if axes else ""
        mine = [i for i, its in enumerate(sharing) if its == axes]
        if mine:
            params: dict[str, Any] = {"axes": axes} if axes else {"users": users}
            regs = lw.emit(
                f"scope.alloc{name}",
                results=len(mine),
                params={"decls": tuple(decls[i] for i in mine), **params},
                sync=True,
            )
            held |= dict(zip(mine, regs, strict=True))
            frees.append((f"scope.free{name}", list(regs), params))

    def free() -> None:
        for op, regs, params in reversed(frees):
            lw.emit(op, regs, params=params, sync=True)

    return [held[i] for i in range(len(decls))], free


def _sharing(lw: Lowering, decl: ir.Buffer) -> tuple[str, ...]:
    """The axes along which cores have a buffer together."""
    if decl.space == "vmem_shared":
        return lw.grid.cluster_names[-1:]
    return lw.grid.cluster_names if decl.space in ("hbm", "any") else ()


def _along(decl: ir.Buffer, axes: tuple[str, ...]) -> ir.Buffer:
    """The declaration with the axes along which its buffer is one."""
    return dataclasses.replace(decl, params={**decl.params, "collective": axes})


def _scope(aval: Any, scope: str) -> str:
    return "thread" if refs.space_of(aval) == "regs" else scope


def debug_names(jaxpr: Any) -> list[str]:
    """The user's parameter names of a jaxpr's inputs, "" where unknown."""
    info = getattr(jaxpr, "debug_info", None)
    names = list(getattr(info, "arg_names", None) or [])
    count = len(jaxpr.invars)
    names = names[-count:] if len(names) > count else names
    names += [""] * (count - len(names))
    # With a layout an argument is a pair of reference and transforms.
    names = [str(n or "").removesuffix(".ref") for n in names]
    return argument_names.of_starred(jaxpr, names)


@translate("pallas.multiple_of")
def multiple_of(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    return [ins[0]]


@translate("lax.optimization_barrier", "gpu.layout_cast")
def identity(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    return ins[: len(eqn.outvars)]


@translate("pallas.get_global")
def get_global(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    """One buffer for each call in the source, the same one for every block."""
    decl = refs.declare(lw, "global", eqn.params["what"], (), "launch")
    params = {"decl": decl, "key": ("global", lw.here)}
    return lw.emit("pallas.shared", results=1, params=params)


@translate("pallas.masked_load", "pallas.load")
def masked_load(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    ref, _, mask, other = masked(eqn, ins)
    nothing = ir.Const(None)
    operands = [nothing if x is None else refs.operand(x) for x in (mask, other)]
    return lw.emit("pallas.masked_load", operands, results=1, accesses=[ref])


@translate("pallas.masked_swap", "pallas.swap")
def masked_swap(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    ref, _, value, mask = masked(eqn, ins)
    operands = [refs.operand(value)]
    operands.append(ir.Const(None) if mask is None else refs.operand(mask))
    if eqn.outvars[0] in lw.used:
        return lw.emit("pallas.masked_swap", operands, results=1, accesses=[ref])
    lw.emit("pallas.masked_store", operands, accesses=[ref])
    return [ir.Const(None)]


def masked(eqn: Any, ins: Sequence[ir.Operand]) -> tuple[ir.Access, Any, Any, Any]:
    """`(access, transforms, third, fourth)` of a masked access's argument tree."""
    avals = [v.aval for v in eqn.invars]
    tree = eqn.params["args_tree"]
    ref, transforms, third, fourth = refs.unflatten(tree, ins, avals)
    return (
        refs.access(refs.operand(ref), avals[0], transforms),
        transforms,
        third,
        fourth,
    )


@translate("lax.run_state", "state.run_state")
def run_state(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    """Values become references for the body, and values again after it."""
    inner, _ = versions.open_jaxpr(eqn.params["jaxpr"])
    names = debug_names(inner)
    flags = eqn.params.get("is_initialized") or (True,) * len(inner.invars)
    given = zip(ins, (v.aval for v in eqn.invars), strict=True)
    before = lw.enter("scoped", "run_state")
    operands, initial = [], {}
    decls: dict[int, ir.Buffer] = {}
    for position, (var, is_given) in enumerate(zip(inner.invars, flags, strict=True)):
        value, aval = next(given) if is_given else (None, None)
        operands.append(value)
        if aval is not None and is_ref(aval):
            continue
        name = names[position] or f"state{position}"
        decl = refs.declare(lw, name, var.aval, (), "thread")
        if value is not None:
            initial[position] = value
            params = {k: v for k, v in decl.params.items() if k != "zeroed"}
            decl = dataclasses.replace(decl, params=params)
        decls[position] = decl
    params = {"decls": tuple(decls.values()), "users": 1}
    held = lw.emit("scope.alloc", results=len(decls), params=params, sync=True)
    for position, ref in zip(decls, held, strict=True):
        operands[position] = ref
        if position in initial:
            lw.emit("state.set", [initial[position]], accesses=[ir.Access(ref=ref)])
    results = list(lw.jaxpr(inner, operands))
    if lw.backend == "mosaic_gpu":  # accumulators are awaited before they are read
        lw.emit("gpu.wgmma_wait", [ir.Const(0)], sync=True)
    else:
        results = []
    for ref in held:
        results += lw.emit("state.get", results=1, accesses=[ir.Access(ref=ref)])
    # What the body returns comes first in Mosaic GPU's lowering; else it is dropped.
    outs = dict(zip(decls, results, strict=False))
    lw.emit("scope.free", held, params={"users": 1}, sync=True)
    lw.scope = before
    return [outs.get(position) or ref for position, ref in enumerate(operands)]
