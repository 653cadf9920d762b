"""Which backend a launch is meant for: read off its parameters and primitives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pallas_debug.jaxlink import ops, versions

TPU_SPACES = ("vmem", "smem", "hbm", "cmem", "vmem_shared", "semaphore_mem")


def backend_of(call: Any, chip_backend: str | None) -> str:
    """`mosaic_gpu | tpu | triton | generic`."""
    params = call.params
    if call.primitive != "pallas_call":
        mesh = params["meshes"][0] if "meshes" in params else params["mesh"]
        return "tpu" if ".mosaic." in type(mesh).__module__ else "mosaic_gpu"
    module = type(params.get("compiler_params")).__module__
    if "triton" in module:
        return "triton"
    if "mosaic_gpu" in module:
        return "generic"
    if "mosaic" in module or call.interpret == "tpu":
        return "tpu"
    families = {
        ops.op_name(e.primitive).split(".")[0] for e in equations(params["jaxpr"])
    }
    if "tpu" in families or _has_tpu_space(params):
        return "tpu"
    if "triton" in families:
        return "triton"
    return {"tpu": "tpu"}.get(chip_backend or "", "generic")


def _has_tpu_space(params: Any) -> bool:
    body, _ = versions.open_jaxpr(params["jaxpr"])
    spaces = [getattr(v.aval, "memory_space", None) for v in body.invars]
    return any(
        "mosaic.core" in type(s).__module__ and str(s).lower() in TPU_SPACES
        for s in spaces
    )


def equations(jaxpr: Any) -> Iterator[Any]:
    """All equations of a jaxpr, nested ones included."""
    inner, _ = versions.open_jaxpr(jaxpr)
    for eqn in inner.eqns:
        yield eqn
        for value in eqn.params.values():
            parts = value if isinstance(value, (tuple, list)) else (value,)
            for part in parts:
                if hasattr(part, "eqns") or type(part).__name__ == "ClosedJaxpr":
                    yield from equations(part)
