"""While open, every kernel launch of the process is handed to the caller's function.

Replaces JAX's CPU lowering of the launch primitives by a call back to the host, so that
it works under any `jit`, also for functions compiled before. What JAX computes in that
call, it computes on a CPU apart: its own devices wait for the call. Recordings nest;
each sees every launch.

  user's thread:  with recording(on_launch): ──── step(x) ──── step(x) ── exit: wait, undo
  XLA's thread:                                  on_launch    on_launch
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from pallas_debug import ir
from pallas_debug.errors import CaptureError
from pallas_debug.jaxlink import apart, capture, hostcalls, locations, privates
from pallas_debug.jaxlink.meetings import Meetings, OnMesh

OnLowered = Callable[[capture.LaunchCall], None]


DEVICE_PLATFORMS = ("cuda", "rocm", "tpu")

# Part of every cache key of jit: what is compiled inside a recording and what is
# compiled outside never mix, and a second recording finds what the first one compiled.
_compiled_for = privates.ConfigState(
    "pallas_debug_recording",
    None,
    "Which lowering of kernel launches a compiled function was made with.",
    include_in_jit_key=True,
    include_in_trace_context=True,
)
_fresh = itertools.count(1)

# `plgpu.kernel` launches inside a `custom_vmap`, whose lowering forgets the place.
_enclosing: contextvars.ContextVar[ir.Loc | None] = contextvars.ContextVar(
    "enclosing", default=None
)


class _Recording:
    """An open recording: takes launches from XLA's threads, one at a time."""

    def __init__(
        self,
        on_launch: capture.OnLaunch,
        on_lowered: OnLowered | None,
        prepare: OnLowered | None,
        on_mesh: OnMesh | None,
    ) -> None:
        self.on_launch = on_launch
        self.on_mesh = on_mesh
        self.meetings = Meetings(on_mesh)
        self.on_lowered = on_lowered
        self.prepare = prepare
        self.key = "recording" if on_lowered is None else f"recording {next(_fresh)}"
        self.error: BaseException | None = None
        self.lock = threading.Lock()
        self.mark = f"pallas_debug stopped recording {id(self)}"

    def run(
        self, call: capture.LaunchCall, arrays: Sequence[np.ndarray]
    ) -> capture.Arrays:
        # XLA frees the operands when the call returns.
        copies = [np.array(array) for array in arrays]
        if not self.meetings.wants(call):
            return self.run_all([call], [copies])[0]
        try:
            return self.meetings.join(call, copies, self.run_all)
        except CaptureError as error:
            self.error = self.error or error
            raise RuntimeError(f"{self.mark}: {error!r}") from None

    def run_all(
        self, calls: Sequence[capture.LaunchCall], arrays: Sequence[capture.Arrays]
    ) -> list[capture.Arrays]:
        """The same for some devices at once, with arrays that stay."""
        with self.lock:
            if self.error is None:
                try:
                    if len(calls) > 1 and self.on_mesh is not None:
                        outs = self.on_mesh.launches(calls, arrays)
                    else:
                        outs = list(map(self.on_launch, calls, arrays))
                    return list(map(capture.checked, calls, outs))
                except BaseException as error:  # raised again at exit
                    self.error = error
        raise RuntimeError(f"{self.mark}: {self.error!r}")

    def raise_error(self) -> None:
        """Raises what `on_launch` raised, as it was."""
        if self.error is None:
            return
        context = self.error.__context__
        try:
            raise self.error
        finally:
            self.error.__context__ = context  # not JAX's text about the callback

    def stopped(self, error: BaseException) -> bool:
        """Whether JAX raised `error` because this recording stopped a launch."""
        return self.error is not None and self.mark in str(error)


_open: list[_Recording] = []  # the outermost first
_rules = contextlib.ExitStack()
_changing = threading.Lock()


@contextlib.contextmanager
def recording(
    on_launch: capture.OnLaunch,
    on_lowered: OnLowered | None = None,
    prepare: OnLowered | None = None,
    on_mesh: OnMesh | None = None,
) -> Iterator[None]:
    """Hands every launch inside the `with` block to `on_launch`.

    An exception of `on_launch` stops the launches that follow; it leaves the block as
    itself. Launches of functions that were compiled ahead of time are not seen.

    Args:
      on_launch: Called once per launch and device, in the order in which they run, with
        NumPy arrays of its own. May touch no array that JAX holds: it may not be ready.
      on_lowered: Called when a launch is lowered for a GPU or a TPU, before JAX's own
        rule, which may refuse. Nothing runs then.
      prepare: Called when a launch is compiled, in the thread of the caller: for what
        can be done before it runs.
      on_mesh: What is called for launches on several devices of a mesh together.
    """
    mine = _Recording(on_launch, on_lowered, prepare, on_mesh)
    with contextlib.ExitStack() as stack:
        _enter(mine)
        stack.callback(_leave, mine)
        try:
            yield
        except Exception as error:
            if not mine.stopped(error):
                raise
        finally:
            _wait_for_launches()
        mine.raise_error()


def stopped(error: BaseException) -> bool:
    """Whether JAX raised `error` because an open recording stopped a launch."""
    return any(one.stopped(error) for one in _open)


def announced(on_mesh_launch: capture.OnMeshLaunch) -> capture.OnMeshLaunch:
    """The same, after every open recording has seen the launch of all devices."""

    def launches(
        calls: Sequence[capture.LaunchCall], arrays: Sequence[capture.Arrays]
    ) -> Sequence[capture.Arrays]:
        for one in tuple(_open):
            one.run_all(calls, [[np.array(a) for a in mine] for mine in arrays])
        return on_mesh_launch(calls, arrays)

    return launches


def _enter(mine: _Recording) -> None:
    with _changing:
        if not _open:
            _rules.enter_context(_own_rules())
        _open.append(mine)
        _compiled_for.set_global(mine.key)


def _leave(mine: _Recording) -> None:
    with _changing:
        _open.remove(mine)
        _compiled_for.set_global(_open[-1].key if _open else None)
        if not _open:
            _rules.close()


def _wait_for_launches() -> None:
    """JAX dispatches ahead: launches may be under way when the block ends.

    Also those whose results nobody kept: this thread's tokens tell.
    """
    tokens = privates.runtime_tokens
    for table in (tokens.current_tokens, tokens.output_runtime_tokens):
        for key, token in list(table.items()):
            try:
                token.block_until_ready()
            except RuntimeError as error:
                if stopped(error):  # JAX would say it once more when Python exits
                    del table[key]
    for array in jax.live_arrays():
        # A failed launch is reported by its own exception; some arrays are deleted.
        with contextlib.suppress(RuntimeError, ValueError):
            array.block_until_ready()


@contextlib.contextmanager
def _own_rules() -> Iterator[None]:
    mlir = privates.mlir
    tables, uncacheable = (
        mlir._platform_specific_lowerings,
        mlir._uncacheable_primitives,
    )
    ours = {privates.pallas_call_p, privates.mpmd_map_p, privates.custom_vmap_p}
    saved = {
        (platform, p): tables[platform].get(p)
        for platform in ("cpu", *DEVICE_PLATFORMS)
        for p in ours
    }
    # Two equal launches on two lines are two launches.
    added = ours - uncacheable
    uncacheable |= added
    try:
        for (platform, p), entry in saved.items():
            original = (entry or mlir._lowerings[p]).rule
            mlir.register_lowering(p, _rule(platform, p, original), platform=platform)
        yield
    finally:
        uncacheable -= added
        for (platform, p), entry in saved.items():
            if entry is None:
                tables[platform].pop(p, None)
            else:
                tables[platform][p] = entry


def _rule(platform: str, primitive: Any, original: Callable[..., Any]) -> Any:
    if primitive is privates.custom_vmap_p:
        return functools.partial(_remember_place, original)
    if platform == "cpu":
        return functools.partial(_host_rule, primitive)
    return functools.partial(_device_rule, primitive, original)


def _remember_place(original: Any, ctx: Any, *nodes: Any, **params: Any) -> Any:
    token = _enclosing.set(locations.call_loc(ctx, _enclosing.get()))
    try:
        return original(ctx, *nodes, **params)
    finally:
        _enclosing.reset(token)


def _device_rule(
    primitive: Any, original: Any, ctx: Any, *nodes: Any, **params: Any
) -> Any:
    for one in tuple(_open):
        if one.on_lowered is not None:
            one.on_lowered(_described(primitive, ctx, params))
    return original(ctx, *nodes, **params)


def _host_rule(primitive: Any, ctx: Any, *nodes: Any, **params: Any) -> Any:
    call = _described(primitive, ctx, params)
    axes = tuple(call.axis_env)
    for one in tuple(_open):
        if one.prepare is not None:
            one.prepare(call)

    def host(*values: np.ndarray) -> tuple[np.ndarray, ...]:
        device = {axis: int(i) for axis, i in zip(axes, values, strict=False)}
        return _hosted(replace(call, device=device), values[len(axes) :])

    return hostcalls.lowered(ctx, host, axes, nodes)


def _hosted(
    call: capture.LaunchCall, values: Sequence[np.ndarray]
) -> tuple[np.ndarray, ...]:
    """What the innermost recording returns; the others see the launch, too."""
    with apart.computing():
        results = [one.run(call, values) for one in tuple(_open)]
    if not results:
        raise RuntimeError("the recording that this launch belongs to has ended")
    return tuple(results[-1])


def _described(primitive: Any, ctx: Any, params: Any) -> capture.LaunchCall:
    loc = locations.call_loc(ctx, _enclosing.get()) or locations.current_loc()
    axis_env = dict(privates.core.get_axis_env().axis_sizes)
    return capture.describe(
        primitive, params, ctx.avals_in, ctx.avals_out, loc, axis_env
    )
