"""Asks for the kernels one by one and prints a line of JSON for each.

    python refusal_worker.py expected SOURCES SECONDS FROM
    python refusal_worker.py "GPU interpret mode" SOURCES SECONDS FROM

`expected` says what pallas_debug foresees; a target's name, what JAX does. A target that
hangs leaves a thread behind that nobody can end: then the process ends, and whoever
started it starts the next one behind the kernel.
"""

import functools
import json
import os
import sys
from typing import Any

import jax
import refusal_kernels

import pallas_debug as pldb
from pallas_debug.jaxlink import targets
from pallas_debug.jaxlink.pretend import pretend
from pallas_debug.session import foreseen

MODES = {"GPU interpret mode": "gpu", "TPU interpret mode": "tpu"}
STATUS = {
    "lowers": "runs",
    "differs": "runs",
    "foreign": "refused",
    "unfinished": "not tried",
}
OURS, BY_CHECKS = "expected", "GPU interpret mode"


def main() -> None:
    what, sources, seconds, first = sys.argv[1:]
    kernels = refusal_kernels.kernels(tuple(sources.split(",")))
    names = [one.name for one in kernels]
    print(json.dumps({"names": names}), flush=True)
    target = {one.name: one for one in (*targets.interpreters(), *targets.BACKENDS)}
    for number in range(int(first), len(kernels)):
        if what == OURS:
            row = {"number": number, "expected": expected(kernels[number], seconds)}
        else:
            answer = asked(kernels[number], target[what], float(seconds))
            row = {"number": number, "answer": answer}
        print(json.dumps(row), flush=True)
        if row.get("answer", [""])[0] == "hangs":
            os._exit(0)
    os._exit(0)  # threads of kernels that hang are not waited for


# --- what JAX does ------------------------------------------------------------------


def asked(kernel: Any, target: Any, seconds: float) -> list[str]:
    """Status, class and message of what JAX makes of a kernel."""
    call = functools.partial(_lowered if target.platform else _run, kernel, target)
    try:
        if kernel.mode == "any" or kernel.mode == MODES.get(target.name):
            attempt = targets.attempted(target, "runs", call, seconds)
        else:
            attempt = _as_captured(kernel, target, seconds)
    except Exception as error:  # a function that cannot be traced at all
        return ["refused", type(error).__name__, str(error)]
    status = "runs" if attempt.status == "lowers" else attempt.status
    return [status, attempt.exception, attempt.message]


def _run(kernel: Any, target: Any) -> None:
    fn, args = kernel.build(interpret=target.interpret)
    with pretend(kernel.chip, kernel.cores):
        jax.block_until_ready(fn(*args))


def _lowered(kernel: Any, target: Any) -> None:
    fn, args = kernel.build(interpret=None)
    device = targets.pretended_device(*target.device)
    with pretend(kernel.chip, kernel.cores), device:
        jax.jit(fn).trace(*args).lower(lowering_platforms=(target.platform,))


def _as_captured(kernel: Any, target: Any, seconds: float) -> Any:
    """A kernel that has its `interpret=` inside is made again from its equation."""
    fn, args = kernel.build(interpret=None)
    subject = targets.Subject(fn, args, {}, kernel.chip, kernel.cores)
    door = subject.lower if target.platform else subject.run
    return door(target, seconds)


# --- what is foreseen ---------------------------------------------------------------


def expected(kernel: Any, seconds: str) -> dict[str, Any]:
    """For each target the status and what may be raised, as pairs of class, wording."""
    interpret = targets.interpreters()[0].interpret
    fn, args = kernel.build(interpret=interpret)
    try:
        recorded = pldb.trace(fn, *args, options=kernel.options)
    except Exception as error:  # tracing fails, here as there
        raised = ["refused", [[type(error).__name__, str(error)]]]
        names = (*targets.interpreters(), *targets.BACKENDS)
        return {"backend": "", **{one.name: raised for one in names}}
    fn, args = kernel.build(interpret=None)
    table = pldb.portability(fn, *args, options=kernel.options, timeout=float(seconds))
    rows = {row.target: _said(row) for row in table.rows[1:]}
    backend = recorded.launches[0].backend
    return {"backend": backend, **rows, BY_CHECKS: _foreseen(recorded)}


def _foreseen(recorded: Any) -> Any:
    """What the checks alone say about GPU interpret mode; JAX runs nothing."""
    findings = foreseen.refusals(recorded)
    raised = [
        [one.details["exception"], one.details["wording"], one.code]
        for one in findings
        if foreseen.stops(one)
    ]
    hangs = any(launch.outcome.kind == "deadlock" for launch in recorded.launches)
    status = "hangs" if foreseen.hangs_all_the_same(recorded, findings) else ""
    status = status or ("refused" if raised else "hangs" if hangs else "runs")
    return [status, raised]


def _said(row: Any) -> list[Any]:
    kind, _, message = row.raised.partition(": ")
    return [STATUS.get(row.status, row.status), [[kind, message, row.code]]]


if __name__ == "__main__":
    main()
