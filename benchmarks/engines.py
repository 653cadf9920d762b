"""Who executes a kernel: our recording and JAX's own interpreters.

This module imports neither JAX nor pallas_debug, so that the script that starts the
measurements stays small.
"""

import re
from typing import Any

KERNELS = {
    "a": "elementwise BlockSpec",
    "b": "K-loop matmul",
    "c": "copy-compute-copy (GPU)",
    "d": "ring of three warpgroups (GPU)",
    "e": "emit_pipeline wgmma (GPU)",
    "f": "own DMAs (TPU)",
}


ENGINES = {  # and their columns
    "ours": "ours",
    "ours-none": "ours, no values",
    "ours-exact": "ours, exact",
    "gpu": "GPU mode",
    "gpu-races": "GPU, races",
    "tpu": "TPU mode",
    "tpu-races": "TPU, races",
    "interpret": "interpret=True",
    "numpy": "NumPy, no record",
}

OURS = {
    "ours": {},
    "ours-none": {"values": "none"},
    "ours-exact": {"exact": True},
}

WORDS = {
    "AssertionError": "assertion",
    "NotImplementedError": "unsupported",
    "KeyError": "unknown",  # a memory space that the mode has never heard of
    "ValueError": "refused",
    "TypeError": "refused",
}


def interpret_argument(engine: str) -> Any:
    """What `interpret=` is for one of JAX's own modes; False for ours and NumPy."""
    if engine in (*OURS, "numpy"):
        return False
    if engine == "interpret":
        return True
    mode, _, races = engine.partition("-")
    params = _gpu_params() if mode == "gpu" else _tpu_params()
    return params(detect_races=bool(races))


def _gpu_params() -> Any:
    from jax.experimental.pallas import mosaic_gpu as plgpu

    if hasattr(plgpu, "InterpretGPUParams"):
        return plgpu.InterpretGPUParams
    # JAX 0.10.2 has it under its private name only.
    from jax._src.pallas.mosaic_gpu.interpret import params  # noqa: TID251

    return params.InterpretGPUParams


def _tpu_params() -> Any:
    from jax.experimental.pallas import tpu as pltpu

    return pltpu.InterpretParams


def word(error: BaseException) -> str:
    """Why there is no number, in one word."""
    if "RACE DETECTED" in str(error):
        return "race"
    name = type(error).__name__
    return WORDS.get(name, name.removesuffix("Error").lower())


def message(error: BaseException) -> str:
    """The error's first line, without paths of this machine."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    first = f"{type(error).__name__}: {lines[0].strip() if lines else ''}"
    return re.sub(r"(/[^\s/:]+)+/", "", first)[:200]
