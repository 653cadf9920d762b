"""A pytest plugin: what JAX's interpreters make of each launch of a test, and we.

JAX runs the test as ever; a tap beside each lowering notes the launch, its operands and
what was raised. After the test a launch in GPU interpret mode is recorded here and judged
by the checks; one in another mode is made again from its equation, as `portability` does.
A line of JSON for each launch goes to `$REFUSALS_OUT`.
"""

import contextlib
import functools
import importlib.util
import json
import logging
import os
import pathlib
import sys
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
import pytest

import pallas_debug as pldb
from pallas_debug.jaxlink import capture, outer, privates, targets
from pallas_debug.jaxlink.pretend import pretend
from pallas_debug.session import foreseen
from pallas_debug.session.foreseen import GPU_MODE
from pallas_debug.session.recorder import Recorder

SECONDS = 60.0


TARGETS = {one.name: one for one in targets.interpreters()}
NAMES = {"gpu": GPU_MODE, "tpu": "TPU interpret mode", "generic": "interpret=True"}


@dataclass
class Seen:
    """A launch on its way through JAX."""

    primitive: Any
    call: Any
    operands: list[np.ndarray] = field(default_factory=list)
    began: bool = False
    ended: bool = False
    raised: list[str] | None = None


_seen: list[Seen] = []
_is_judging = False


class _Raised(logging.Handler):
    """What is raised in a callback, which the user gets as text only."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        running = [one for one in _seen if one.began and not one.ended]
        if error is not None and running and not _is_judging:
            one = running[-1]
            one.raised = one.raised or [type(error).__name__, str(error)]


def _tapped(original: Any, primitive: Any, ctx: Any, *nodes: Any, **params: Any) -> Any:
    on_devices = privates.core.get_axis_env().axis_sizes  # several: not judged
    if _is_judging or on_devices:
        return original(ctx, *nodes, **params)
    call = capture.describe(primitive, params, ctx.avals_in, ctx.avals_out, None, {})
    one = Seen(primitive, call)
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
    logging.getLogger("jax._src.callback").addHandler(_Raised())
    _stand_in()


def _stand_in() -> None:
    """What the tests need and the installed package lacks."""
    name = "jax._src.pallas.pallas_test_util"
    beside = pathlib.Path(os.environ["REFUSALS_TESTS"]) / "pallas_test_util.py"
    if importlib.util.find_spec(name) is None and beside.exists():
        spec = importlib.util.spec_from_file_location(name, beside)
        assert spec
        assert spec.loader
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        importlib.import_module("jax._src.pallas").pallas_test_util = module
    switches = importlib.import_module("jax._src.config")
    if not hasattr(switches, "jax_pallas_use_mosaic_gpu"):
        switches.jax_pallas_use_mosaic_gpu = lambda value: contextlib.nullcontext()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: Any) -> Any:
    global _is_judging
    _seen.clear()
    yield
    with contextlib.suppress(Exception):
        jax.effects_barrier()
    _is_judging = True
    try:
        with open(os.environ["REFUSALS_OUT"], "a", encoding="utf-8") as out:
            for one in tuple(_seen):
                if one.call.interpret in NAMES:
                    row = {"test": item.nodeid, **_judged(one)}
                    out.write(json.dumps(row) + "\n")
    finally:
        _is_judging = False


def _judged(one: Seen) -> dict[str, Any]:
    status = "runs" if one.ended else "refused"
    row = {"target": NAMES[one.call.interpret], "name": one.call.name}
    row["answer"] = [status, *(one.raised or ["", ""])]
    try:
        said = _foreseen if one.call.interpret == "gpu" else _made_again
        return row | {"expected": said(one)}
    except Exception as error:
        return row | {"expected": ["not tried", []], "failed": repr(error)}


def _foreseen(one: Seen) -> list[Any]:
    """Status and what may be raised, by the checks alone."""
    operands = one.operands or [_zeros(aval) for aval in one.call.in_avals]
    recorder = Recorder(pldb.Options(unsupported="stub", max_seconds=SECONDS))
    with pretend(None):
        recorder.launch(one.call, operands)
    findings = foreseen.refusals(recorder.close())
    raised = [
        [finding.details["exception"], finding.details["wording"], finding.code]
        for finding in findings
        if foreseen.stops(finding)
    ]
    return ["refused" if raised else "runs", raised]


def _made_again(one: Seen) -> list[Any]:
    """The same of JAX itself, asked in the way of `portability`."""
    operands = one.operands or [_zeros(aval) for aval in one.call.in_avals]

    def launch(*values: Any) -> Any:
        return one.primitive.bind(*values, **one.call.params)

    def call() -> None:
        with pretend(None):
            jax.block_until_ready(jax.jit(launch)(*operands))

    target = TARGETS[NAMES[one.call.interpret]]
    attempt = targets.attempted(target, "runs", call, SECONDS)
    return [attempt.status, [[attempt.exception, attempt.message, ""]]]


def _zeros(aval: Any) -> np.ndarray:
    plain = _physical(aval)
    return np.zeros(plain.shape, plain.dtype)
