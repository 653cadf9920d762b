"""What the predicted refusals share: how a kernel was asked to run, and the wording.

A refusal is an error only where the kernel was asked to run that way (`interpret=` of
GPU interpret mode, or a kernel for the GPU); otherwise it is not said at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pallas_debug import ir
from pallas_debug.checks.aborts import versions
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.tables import RecordedLaunch
from pallas_debug.trace.trace import Trace


def interpret_of(kernel: ir.Kernel) -> str:
    """`gpu`, `tpu` or `generic` interpret mode, or `none`."""
    return str(kernel.facts.get("interpret") or "none")


def in_gpu_interpreter(kernel: ir.Kernel) -> bool:
    """Whether it runs in GPU interpret mode, or is a GPU kernel not said to run else."""
    mode = interpret_of(kernel)
    return mode == "gpu" or (mode == "none" and kernel.backend == "mosaic_gpu")


def kernels(trace: Trace, code: str) -> Iterator[RecordedLaunch]:
    """The first launch of each kernel whose JAX version has the refusal."""
    seen: set[int] = set()
    for launch in trace.launches:
        if id(launch.kernel) not in seen:
            seen.add(id(launch.kernel))
            if versions.is_refused(code, launch.kernel):
                yield launch


def refusal(
    launch: RecordedLaunch,
    why: str,
    raises: str,
    hint: str,
    *,
    where: str = "GPU interpret mode",
    loc: ir.Loc | None = None,
    **more: Any,
) -> Finding:
    """A finding that quotes what JAX raises, e.g. `NotImplementedError: …`."""
    kind, _, wording = raises.partition(": ")
    return Finding(
        message=f'{why}; JAX\'s {where} raises {kind}: "{wording}"',
        hint=hint,
        loc=loc or launch.loc,
        launch=launch.number,
        details={"exception": kind, "wording": wording, "where": where},
        **more,
    )
