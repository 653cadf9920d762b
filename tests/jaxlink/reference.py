"""A stand-in for the machine: runs a captured launch with JAX's own interpreters."""

from __future__ import annotations

import jax
import numpy as np

from pallas_debug.jaxlink import capture, privates

PRIMITIVES = {
    "pallas_call": privates.pallas_call_p,
    "mpmd_map": privates.mpmd_map_p,
    "core_map": privates.core_map_p,
}


def interpreter_for(call: capture.LaunchCall):
    mesh = call.params.get("mesh") or next(iter(call.params.get("meshes", ())), None)
    if isinstance(mesh, privates.gpu_core.Mesh):
        return privates.InterpretGPUParams()
    return True if mesh is None else privates.InterpretParams()


def bind(call: capture.LaunchCall, *arrays):
    params = {**call.params, "interpret": interpreter_for(call)}
    return PRIMITIVES[call.primitive].bind(*arrays, **params)


class Reference:
    """Remembers the launches and answers each with JAX's result."""

    def __init__(self):
        self.calls: list[capture.LaunchCall] = []

    def __call__(self, call, arrays):
        self.calls.append(call)
        run = jax.jit(lambda *xs: bind(call, *xs))
        return [np.asarray(out) for out in run(*map(np.array, arrays))]

    @property
    def names(self):
        return [call.name for call in self.calls]
