"""Runs and lowers a user's launches in JAX's own modes, to see what each makes of them.

JAX is really asked: its interpreters run the traced function with `interpret=` replaced,
its backends lower each launch for a device that is not there. Nothing here judges.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import AbstractMesh

from pallas_debug import ir
from pallas_debug.jaxlink import around_launch, locations, outer, privates, versions
from pallas_debug.jaxlink.pretend import pretend
from pallas_debug.jaxlink.traced import traced


@dataclass(frozen=True, kw_only=True)
class Target:
    """One of JAX's ways to take a kernel.

    Attributes:
      name: As the table shows it.
      interpret: What replaces the user's `interpret=`; None for a lowering.
      platform: What a lowering is for, `cuda` or `tpu`; empty for an interpreter.
      device: The kind and platform of the device that is named to it.
      waits: Whether a wait in a kernel waits there, or only counts down.
    """

    name: str
    interpret: Any = None
    platform: str = ""
    device: tuple[str, str] = ("", "")
    waits: bool = True


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """How a target took the function.

    Attributes:
      status: `runs`, `lowers`, `refused` or `hangs`.
      exception, message: What JAX raised, by class name, or empty.
      loc: The user's line that it stopped at, where JAX's own frames tell.
      outputs: What the function returned, flat; None if it did not.
      seconds: Wall time.
    """

    target: str
    status: str
    exception: str = ""
    message: str = ""
    loc: ir.Loc | None = None
    outputs: tuple[np.ndarray, ...] | None = None
    seconds: float = 0.0


def interpreters() -> tuple[Target, ...]:
    """JAX's three ways to run a kernel on a CPU."""
    return (
        Target(name="GPU interpret mode", interpret=privates.InterpretGPUParams()),
        Target(name="TPU interpret mode", interpret=pltpu.InterpretParams()),
        Target(name="interpret=True", interpret=True, waits=False),
    )


BACKENDS = (
    Target(name="CUDA lowering", platform="cuda", device=("NVIDIA H100", "gpu")),
    Target(name="TPU lowering", platform="tpu", device=("TPU v5p", "tpu")),
)


class Subject:
    """A function and its arguments, traced once, to be tried in each target."""

    def __init__(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        chip: str | None,
        cores: int | None,
    ) -> None:
        self._pretended = lambda: pretend(chip, cores)
        with self._pretended():
            self._jaxpr, self._arrays, _ = traced(fn, tuple(args), dict(kwargs))

    def run(self, target: Target, timeout: float) -> Attempt:
        """Runs the function in one of JAX's interpreters, at most `timeout` seconds.

        A run that takes longer goes on in its thread, which ends with the process.
        """

        def launch(
            eqn: Any, loc: Any, axes: Any, devices: Any, inputs: Any
        ) -> list[list[np.ndarray]]:
            if axes:
                raise NotImplementedError("launches inside a shard_map are not tried")
            bound = jax.jit(lambda *values: _bind(eqn, values, target.interpret))
            return [[np.asarray(out) for out in bound(*inputs[0])]]

        def call() -> tuple[np.ndarray, ...]:
            with self._pretended():
                outs = outer.evaluate(self._jaxpr, self._arrays, launch)
            return tuple(map(np.asarray, outs))

        return attempted(target, "runs", call, timeout)

    def lower(self, target: Target, timeout: float) -> Attempt:
        """Lowers every launch of the function, without compiling or running it.

        For an interpreter that is what it does before its first step.
        """

        def call() -> None:
            device = (
                pretended_device(*target.device) if target.platform else nullcontext()
            )
            with self._pretended(), device:
                for eqn in _launches(self._jaxpr):
                    _lower(eqn, target)

        return attempted(target, "lowers", call, timeout)


def attempted(
    target: Target, status: str, call: Callable[[], Any], timeout: float
) -> Attempt:
    """Calls in a thread of its own, so that one that hangs can be left behind."""
    found: list[Attempt] = []
    started = time.perf_counter()

    def work() -> None:
        try:
            with privates.traceback_filtering("off"), _quiet():
                outputs = call()
        except Exception as error:  # whatever JAX raises is the answer
            privates.reset_gpu_interpreter()
            privates.reset_tpu_interpreter()
            kind, message = _said(error)
            found.append(
                Attempt(
                    target=target.name,
                    status="refused",
                    exception=kind,
                    message=message,
                    loc=_place(error),
                    seconds=time.perf_counter() - started,
                )
            )
        else:
            seconds = time.perf_counter() - started
            found.append(
                Attempt(
                    target=target.name, status=status, outputs=outputs, seconds=seconds
                )
            )

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(timeout)
    if found:
        return found[0]
    return Attempt(target=target.name, status="hangs", seconds=timeout)


@contextmanager
def _quiet() -> Iterator[None]:
    """JAX logs what it raises in a callback, frames and all; we report it ourselves."""
    logger = logging.getLogger("jax._src.callback")
    before = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = before


# --- the launches of the function ---------------------------------------------------


def _bind(eqn: Any, operands: Sequence[Any], interpret: Any) -> Any:
    """Makes a launch as the user did, but for `interpret=` of another mode."""
    own = eqn.params.get("interpret")
    if type(own) is type(interpret) and not isinstance(own, bool):
        interpret = own  # with the options that were asked for
    params = {**eqn.params, "interpret": interpret}
    return eqn.primitive.bind(*operands, **params)


def _launches(jaxpr: Any) -> Iterator[Any]:
    """The launches of a jaxpr, in the order in which they are written."""
    for eqn in versions.open_jaxpr(jaxpr)[0].eqns:
        if eqn.primitive.name in around_launch.LAUNCHES:
            yield eqn
        else:
            for inner in privates.core.jaxprs_in_params(eqn.params):
                yield from _launches(inner)


# --- lowering for a device that is not there ----------------------------------------


def pretended_device(kind: str, platform: str) -> Any:
    device = privates.mesh.AbstractDevice(
        device_kind=kind, num_cores=None, platform=platform
    )
    return privates.mesh.use_abstract_mesh(
        AbstractMesh((1,), ("_",), abstract_device=device)
    )


def _lower(eqn: Any, target: Target) -> None:
    operands = [
        jax.ShapeDtypeStruct(var.aval.shape, var.aval.dtype) for var in eqn.invars
    ]
    launch = jax.jit(lambda *values: _bind(eqn, values, target.interpret or False))
    launch.trace(*operands).lower(lowering_platforms=(target.platform or "cpu",))


# --- what JAX said, and where -------------------------------------------------------

_XLA_FRAMES = "=== Source Location Trace"
_LAST_ERROR = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Exit)): ?(.*)", re.S)


def _said(error: BaseException) -> tuple[str, str]:
    """Class and message of an error; one out of a host callback is only text."""
    kind, message = type(error).__name__, str(error).partition(_XLA_FRAMES)[0]
    if "Callback" in message:
        lines = message.splitlines()
        for number in range(len(lines) - 1, -1, -1):
            match = _LAST_ERROR.match("\n".join(lines[number:]))
            if match:
                return match[1].rpartition(".")[2], match[2].strip()
    cause = error.__cause__
    if kind == "LoweringException" and cause is not None:
        return _said(cause)
    return kind, message.strip()


def _place(error: BaseException) -> ir.Loc | None:
    """The user's line of the innermost equation that JAX was busy with."""
    seen: set[int] = set()
    following: BaseException | None = error
    place: ir.Loc | None = None
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        traceback = following.__traceback__
        while traceback is not None:
            eqn = traceback.tb_frame.f_locals.get("eqn")
            if isinstance(eqn, privates.core.JaxprEqn):
                place = locations.user_loc(eqn.source_info, place)
            traceback = traceback.tb_next
        following = following.__cause__ or following.__context__
    return locations.as_shown(place) if place else None
