"""What static checks need of a launch and the tape does not show: `Kernel.facts`.

Some equations leave no instruction, because nothing observable happens here; JAX's own
interpreters may refuse them all the same, so they are noted with their place.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import jax

from pallas_debug import ir
from pallas_debug.jaxlink import locations, ops, privates, versions
from pallas_debug.jaxlink.capture import LaunchCall
from pallas_debug.jaxlink.lowering import Lowering

UNSEEN = ("gpu.layout_cast", "pallas.delay")

OF_DEVICES = (
    "gpu.multimem_load_reduce",
    "gpu.multimem_store",
    "gpu.semaphore_signal_multicast",
    "pallas.on_device",
)


def facts(lw: Lowering, call: LaunchCall, **more: Any) -> dict[str, Any]:
    """The facts of a lowered launch, and those that only its front door knows."""
    p = call.params
    jaxpr = p["jaxpr"] if "jaxpr" in p else p["jaxprs"][0]
    found = {
        "jax_version": jax.__version__,
        "interpret": call.interpret,
        "primitive": call.primitive,
        "vmem_limit_bytes": getattr(p.get("compiler_params"), "vmem_limit_bytes", None),
        **more,
    }
    if call.interpret == "gpu":
        options = p.get("interpret")
        found["inline_mgpu"] = getattr(options, "inline_mgpu", "error")
        found["out_of_bounds_reads"] = getattr(options, "out_of_bounds_reads", "raise")
    if call.interpret in ("gpu", "tpu"):
        options = p.get("interpret")
        found["detect_races"] = bool(getattr(options, "detect_races", False))
        on_race = getattr(options, "on_race", "warn")
        found["on_race"] = on_race if found["detect_races"] else "ignore"
    if math.prod(call.axis_env.values()) > 1 and any(map(_reaches, lw.tape)):
        found["together"] = True  # its devices are run as one launch
    if lw.vmapped:
        found["vmapped"] = lw.vmapped  # axes of the grid that the user does not count
    spaces = tuple(_foreign_spaces(p.get("grid_mapping")))
    if spaces:
        found["foreign_spaces"] = spaces
    unseen = tuple(dict.fromkeys(_unseen(jaxpr, call.loc)))
    if unseen:
        found["unseen"] = tuple((op, lw.add_loc(loc)) for op, loc in unseen)
    return found


def _reaches(instr: ir.Instr) -> bool:
    """Whether an instruction reaches for a device, perhaps another one."""
    steps = (step for access in instr.accesses for step in access.steps)
    views = (ir.Multicast, ir.Peer)
    return instr.op in OF_DEVICES or any(isinstance(step, views) for step in steps)


def _foreign_spaces(mapping: Any) -> Iterator[tuple[int, str]]:
    """Operands whose block names a memory that is none of a GPU's: number, name."""
    for number, block in enumerate(getattr(mapping, "block_mappings", ())):
        space = getattr(block.transformed_block_aval, "memory_space", None)
        of_gpu = isinstance(space, privates.gpu_core.MemorySpace)
        if space is not None and not of_gpu and str(space).lower() != "default":
            yield number, repr(space)


def _unseen(jaxpr: Any, loc: ir.Loc | None) -> Iterator[tuple[str, ir.Loc | None]]:
    """Ops without an instruction, and their places."""
    for eqn in versions.open_jaxpr(jaxpr)[0].eqns:
        place = locations.user_loc(eqn.source_info, loc)
        name = ops.op_name(eqn.primitive)
        if name in UNSEEN:
            yield name, place
        elif name == "gpu.async_load" and eqn.params.get("reduce") is not None:
            yield "gpu.load_reduce", place
        for inner in privates.core.jaxprs_in_params(eqn.params):
            yield from _unseen(inner, place)
