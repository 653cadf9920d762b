"""Names of primitives: `state.get`, `pallas.run_scoped`, `gpu.barrier_wait`, `lax.add`.

Bare names collide between modules (`load`, `semaphore_signal`, `bitcast`), so the
family comes from the module that defines the primitive.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from pallas_debug.jaxlink import privates, versions

FAMILIES = {
    "state": ("state_primitives",),
    "pallas": ("pallas_primitives",),
    "gpu": ("gpu_primitives", "gpu_core"),
    "tpu": ("tpu_primitives",),
    "triton": ("triton_primitives",),
    "sc": ("sparse_core_primitives",),
}


@cache
def _families() -> dict[int, str]:
    found: dict[int, str] = {}
    for family, modules in FAMILIES.items():
        for module in modules:
            for value in vars(getattr(privates, module)).values():
                if isinstance(value, privates.core.Primitive):
                    found.setdefault(id(value), family)
    return found


def op_name(primitive: Any) -> str:
    """The namespaced name of a primitive, the same on every JAX version."""
    family = _families().get(id(primitive), "lax")
    return f"{family}.{versions.primitive_name(primitive)}"
