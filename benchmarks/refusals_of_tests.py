"""A pytest plugin: what JAX's interpreter makes of each launch of a test, and we.

JAX runs the test as ever; a tap beside each lowering
notes the launch, its operands and what was raised, and after the test the same launch is
recorded here and judged. A line of JSON for each launch goes to `$REFUSALS_OUT`.
"""

import contextlib
import functools
import importlib
import json
import os
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
import pytest

import pallas_debug as pldb
from pallas_debug.jaxlink import capture, outer, privates
from pallas_debug.jaxlink.pretend import pretend
from pallas_debug.session.recorder import Recorder

portability = importlib.import_module("pallas_debug.session.portability")
SECONDS = 60.0


@dataclass
class Seen:
    """A launch on its way through JAX."""

    call: Any
    operands: list[np.ndarray] = field(default_factory=list)
    began: bool = False
    ended: bool = False
    raised: list[str] | None = None


_seen: list[Seen] = []


def _tapped(original: Any, primitive: Any, ctx: Any, *nodes: Any, **params: Any) -> Any:
    if privates.core.get_axis_env().axis_sizes:  # on several devices: not judged
        return original(ctx, *nodes, **params)
    call = capture.describe(primitive, params, ctx.avals_in, ctx.avals_out, None, {})
    one = Seen(call)
    _seen.append(one)

    def before(*values: Any) -> tuple[()]:
        if not one.began:
            one.operands, one.began = [np.array(value) for value in values], True
        return ()

    def after(*values: Any) -> tuple[()]:
        one.ended = True
        return ()

    _tap(ctx, before, nodes, ctx.avals_in)
    try:
        outs = original(ctx, *nodes, **params)
    except Exception as error:
        one.raised = [type(error).__name__, str(error)]
        raise
    _tap(ctx, after, outs, ctx.avals_out)
    return outs


def _tap(ctx: Any, host: Any, nodes: Any, avals: Any) -> None:
    avals = [_physical(aval) for aval in avals]
    privates.emit_python_callback(
        ctx.replace(avals_in=avals, avals_out=[]),
        host,
        None,
        list(nodes),
        avals,
        [],
        has_side_effect=True,
        returns_token=False,
        sharding=privates.callback_sharding(ctx.module_context.axis_context, None, []),
    )


def _physical(aval: Any) -> Any:
    return privates.core.ShapedArray(*outer.physical(aval))


def pytest_configure(config: Any) -> None:
    mlir = privates.mlir
    for p in (privates.pallas_call_p, privates.mpmd_map_p):
        known = mlir._platform_specific_lowerings["cpu"].get(p) or mlir._lowerings[p]
        rule = functools.partial(_tapped, known.rule, p)
        mlir.register_lowering(p, rule, platform="cpu")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: Any) -> Any:
    _seen.clear()
    yield
    with contextlib.suppress(Exception):
        jax.effects_barrier()
    with open(os.environ["REFUSALS_OUT"], "a", encoding="utf-8") as out:
        for one in tuple(_seen):
            if one.call.interpret in ("gpu", "tpu", "generic"):
                out.write(json.dumps({"test": item.nodeid, **_judged(one)}) + "\n")


def _judged(one: Seen) -> dict[str, Any]:
    call, options = one.call, pldb.Options(unsupported="stub", max_seconds=SECONDS)
    operands = one.operands or [_zeros(aval) for aval in call.in_avals]
    recorder = Recorder(options)
    status = "runs" if one.ended else "refused"
    row: dict[str, Any] = {"mode": call.interpret, "name": call.name}
    row["answer"] = [status, *(one.raised or ["", ""])]
    try:
        with pretend(None):
            recorder.launch(call, operands)
        trace = recorder.close()
        report = pldb.check(trace)
    except Exception as error:
        return row | {"failed": f"{type(error).__name__}: {error}"}
    raised = [
        [finding.details["exception"], finding.details["wording"], finding.code]
        for finding in portability.foreseen(trace)
        if finding.details.get("exception")
        and finding.details["where"] == "GPU interpret mode"
    ]
    return row | {
        "outcome": trace.launches[0].outcome.kind,
        "expected": ["refused" if raised else "runs", raised],
        "findings": [[str(f.severity), f.code, f.message] for f in report.findings],
    }


def _zeros(aval: Any) -> np.ndarray:
    plain = _physical(aval)
    return np.zeros(plain.shape, plain.dtype)
