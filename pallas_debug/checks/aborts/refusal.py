"""What the predicted refusals share: how a kernel was asked to run, and the wording.

A refusal is an error only where the kernel was asked to run that way (`interpret=` of
GPU interpret mode, or a kernel for the GPU); otherwise it is not said at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from pallas_debug import ir
from pallas_debug.checks.aborts import versions
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.tables import RecordedLaunch
from pallas_debug.trace.trace import Trace

# What JAX's GPU interpret mode looks at before a kernel begins, in its order.
LAUNCH = (
    ("PD305", "real_blocks"),
    ("PD302", "dynamic_grid"),
    ("PD301", "scalar_prefetch"),
)
GPU_MODE, TPU_MODE = "GPU interpret mode", "TPU interpret mode"


def interpret_of(kernel: ir.Kernel) -> str:
    """`gpu`, `tpu` or `generic` interpret mode, or `none`."""
    return str(kernel.facts.get("interpret") or "none")


def asked_of_gpu(kernel: ir.Kernel) -> bool:
    """Whether it is asked to run in GPU interpret mode."""
    return interpret_of(kernel) == "gpu"


def lowered_for_gpu(kernel: ir.Kernel) -> bool:
    """Whether it is a Mosaic GPU kernel that no interpreter is asked to run."""
    return kernel.backend == "mosaic_gpu" and interpret_of(kernel) == "none"


def in_gpu_interpreter(kernel: ir.Kernel) -> bool:
    """Whether it runs in GPU interpret mode, or is a GPU kernel not said to run else."""
    mode = interpret_of(kernel)
    return mode == "gpu" or lowered_for_gpu(kernel)


def as_asked(trace: Trace, mode: str) -> Trace:
    """The trace as if every kernel had been asked to run in an interpret mode."""
    asked: dict[int, ir.Kernel] = {}
    for launch in trace.launches:
        kernel = launch.kernel
        facts = {**kernel.facts, "interpret": mode}
        asked.setdefault(id(kernel), replace(kernel, facts=facts))
    launches = tuple(
        replace(launch, kernel=asked[id(launch.kernel)]) for launch in trace.launches
    )
    return replace(trace, launches=launches)


def kernels(
    trace: Trace, code: str, asked: Callable[[ir.Kernel], bool] = in_gpu_interpreter
) -> Iterator[tuple[RecordedLaunch, ir.Kernel]]:
    """Each kernel that is asked to run where its JAX refuses, with its first launch."""
    seen: set[int] = set()
    for launch in trace.launches:
        kernel = launch.kernel
        if id(kernel) not in seen:
            seen.add(id(kernel))
            if asked(kernel) and versions.is_refused(code, kernel):
                yield launch, kernel


def stopped_before(kernel: ir.Kernel, code: str) -> str:
    """The refusal of a launch that JAX comes to before this one; empty if none."""
    for first, fact in LAUNCH:
        if first == code:
            return ""
        if kernel.facts.get(fact):
            return first
    return ""


def refusal(
    launch: RecordedLaunch,
    why: str,
    raises: str,
    hint: str,
    *,
    where: str = GPU_MODE,
    loc: ir.Loc | None = None,
    behind: str = "",
    **more: Any,
) -> Finding:
    """A finding that quotes what JAX raises, e.g. `NotImplementedError: …`.

    An ellipsis at the end stands for what changes from run to run; nothing after the
    class means that JAX says nothing. One with events is raised when the kernel comes
    there, one without before it begins. One `behind` another refusal is not raised as
    long as that one is: it is no prediction.
    """
    kind, _, quoted = raises.partition(": ")
    wording = quoted.removesuffix("…")
    said = f'{kind}: "{quoted}"' if quoted else f"{kind} without a message"
    if behind:
        said, kind, wording = f"{said}, once {behind} is mended", "", ""
    return Finding(
        message=f"{why}; JAX's {where} raises {said}",
        hint=hint,
        loc=loc or launch.loc,
        launch=launch.number,
        details={
            "exception": kind,
            "wording": wording,
            "where": where,
            "while_tracing": not more.get("events"),
        },
        **more,
    )
