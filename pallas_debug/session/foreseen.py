"""What the checks say about JAX's modes before JAX is asked: refusals and hangs.

A recording is judged as if each mode had been asked for; nothing here runs JAX.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pallas_debug.checks import Finding

REFUSALS = "PD3"  # the checks whose findings quote what JAX raises
GPU_MODE = "GPU interpret mode"
TARGETS = {"lowering for CUDA": "CUDA lowering"}  # as the table calls it


def refusals(recorded: Any) -> tuple[Finding, ...]:
    """What JAX is expected to refuse, whatever the kernels were asked to run in."""
    from pallas_debug.checks.aborts.refusal import as_asked
    from pallas_debug.session.verbs import check

    in_gpu_mode = check(as_asked(recorded, "gpu"), select=REFUSALS).findings
    elsewhere = [
        one
        for one in check(recorded, select=REFUSALS).findings
        if one.details.get("where", GPU_MODE) != GPU_MODE
    ]
    return (*in_gpu_mode, *elsewhere)


def hangs_all_the_same(recorded: Any, findings: tuple[Finding, ...]) -> bool:
    """Whether GPU interpret mode hangs although something is refused at run time."""
    from pallas_debug.checks.aborts.hang import outlives_an_error

    if any(stops(one) and one.details.get("while_tracing") for one in findings):
        return False
    return left_waiting(findings) is not None or any(
        launch.outcome.kind == "deadlock" and outlives_an_error(launch)
        for launch in recorded.launches
    )


def stops(one: Finding, target: str = GPU_MODE) -> bool:
    """Whether a finding says that a target refuses the kernel."""
    where = str(one.details.get("where", ""))
    return bool(one.details.get("exception")) and TARGETS.get(where, where) == target


def left_waiting(findings: tuple[Finding, ...]) -> Finding | None:
    """The finding of a thread that waits for one that is refused."""
    return next((one for one in findings if one.details.get("left_waiting")), None)
