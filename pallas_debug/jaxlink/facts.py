"""What static checks need of a launch and the tape does not show: `Kernel.facts`.

Some equations leave no instruction, because nothing observable happens here; JAX's own
interpreters may refuse them all the same, so they are noted with their place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax

from pallas_debug import ir
from pallas_debug.jaxlink import locations, ops, privates, versions
from pallas_debug.jaxlink.capture import LaunchCall
from pallas_debug.jaxlink.lowering import Lowering

UNSEEN = ("gpu.layout_cast", "pallas.delay")


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
    if lw.vmapped:
        found["vmapped"] = lw.vmapped  # axes of the grid that the user does not count
    unseen = tuple(dict.fromkeys(_unseen(jaxpr, call.loc)))
    if unseen:
        found["unseen"] = tuple((op, lw.add_loc(loc)) for op, loc in unseen)
    return found


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
