"""Asks for the kernels one by one and prints a line of JSON for each.

    python refusal_worker.py expected SOURCES SECONDS FROM
    python refusal_worker.py "GPU interpret mode" SOURCES SECONDS FROM

`expected` says what pallas_debug foresees; a target's name, what JAX does. A kernel hangs
if nothing in the process works any more; one that still works when its time is over is
`unfinished`. Both leave a thread behind that nobody can end: then the process ends, and
whoever started it starts the next one behind the kernel.
"""

import contextlib
import functools
import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import refusal_kernels

import pallas_debug as pldb
from pallas_debug.jaxlink import targets
from pallas_debug.jaxlink.pretend import pretend
from pallas_debug.session import foreseen

MODES = {"GPU interpret mode": "gpu", "TPU interpret mode": "tpu"}
STATUS = {"lowers": "runs", "differs": "runs", "foreign": "refused"}
OURS, BY_CHECKS = "expected", "GPU interpret mode"
# Seconds of CPU below which so many seconds were spent asleep.
ASLEEP, WHILE = 0.2, 10.0


def main() -> None:
    what, sources, seconds, first = sys.argv[1:]
    kernels = refusal_kernels.kernels(tuple(sources.split(",")))
    names = [one.name for one in kernels]
    print(json.dumps({"names": names}), flush=True)
    target = {one.name: one for one in (*targets.interpreters(), *targets.BACKENDS)}
    for number in range(int(first), len(kernels)):
        if what == OURS:
            said = expected(kernels[number], seconds)
            row = {"number": number, "expected": said}
            is_left = any(one[:1] == ["unfinished"] for one in said.values())
        else:
            call = functools.partial(asked, kernels[number], target[what])
            answer = awaited(call, float(seconds))
            row = {"number": number, "answer": answer}
            is_left = answer[0] in ("hangs", "unfinished")
        print(json.dumps(row), flush=True)
        if is_left:
            break
    os._exit(0)  # threads of kernels that were left behind are not waited for


# --- what JAX does ------------------------------------------------------------------


def awaited(call: Callable[[float], list[str]], seconds: float) -> list[str]:
    """The answer of a call that may hang, or take longer than it is given."""
    answer = ThreadPoolExecutor(1).submit(call, 2 * seconds)  # ours is over first
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        worked = time.process_time()
        with contextlib.suppress(TimeoutError):
            return answer.result(WHILE)
        if time.process_time() - worked < ASLEEP:
            return ["hangs", "", ""]
    return ["unfinished", "", ""]


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
