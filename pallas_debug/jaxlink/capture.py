"""A function and its arguments in, each kernel launch handed to the caller's function.

Traces the function once and evaluates its jaxpr in the caller's thread; what is no
launch goes to JAX. Knows nothing of what a kernel means: `on_launch` does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.jaxlink import locations, outer, privates, traced


@dataclass(frozen=True, kw_only=True)
class LaunchCall:
    """One launch as JAX describes it, before anything runs.

    Attributes:
      primitive: `pallas_call`, `mpmd_map` or `core_map`.
      params: The equation's params as JAX gives them.
      in_avals: Types of the operands; never mutable references, those have become
        values with an aliased result.
      out_avals: Types of the results that `on_launch` returns.
      name: The kernel's name.
      loc: The user's line that makes the call, if one is known.
      axis_env: Names and sizes of the enclosing `shard_map` axes.
      device: This device's coordinate on each of these axes. Empty where the launch is
        only lowered and nothing runs.
      interpret: What the user asked for, by `interpret=` or a `force_…` context:
        `none`, `generic` (True), `tpu` (`InterpretParams`) or `gpu`
        (`InterpretGPUParams`).
    """

    primitive: str
    params: Mapping[str, Any] = field(repr=False)
    in_avals: tuple[Any, ...]
    out_avals: tuple[Any, ...]
    name: str
    loc: ir.Loc | None
    axis_env: Mapping[str, int] = field(default_factory=dict)
    device: Mapping[str, int] = field(default_factory=dict)
    interpret: str = "none"


# What JAX calls a `plgpu.kernel` under `vmap`, and one of a function without a name.
NAMELESS = ("batched_body", "anonymous")

Arrays = list[np.ndarray]
OnLaunch = Callable[[LaunchCall, Arrays], Arrays]
OnMeshLaunch = Callable[[Sequence[LaunchCall], Sequence[Arrays]], Sequence[Arrays]]


def run_captured(
    fn: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    on_launch: OnLaunch,
    on_mesh_launch: OnMeshLaunch | None = None,
) -> Any:
    """Runs `fn(*args, **kwargs)` with every kernel launch handed to `on_launch`.

    Arrays among the arguments are traced; all else, Python numbers included, is seen by
    `fn` as it is. An error of tracing, of `fn` or of `on_launch` comes out as itself.

    Args:
      fn: Any function that `jax.jit` would take.
      args: Its positional arguments.
      kwargs: Its keyword arguments.
      on_launch: Called once per launch and device, in the order of execution, with
        read-only arrays; returns one array per result, of the announced type.
      on_mesh_launch: Under `shard_map`, called in its place once for all devices that
        reach the launch together, as kernels that copy between devices need.

    Returns:
      What `fn` returns, with JAX arrays for arrays.
    """
    jaxpr, arrays, rebuild = traced.traced(fn, tuple(args), dict(kwargs))
    launch = functools.partial(_launch, on_launch, on_mesh_launch)
    return rebuild(outer.evaluate(jaxpr, arrays, launch))


def _launch(
    on_launch: OnLaunch,
    on_mesh_launch: OnMeshLaunch | None,
    eqn: Any,
    loc: ir.Loc | None,
    axis_env: Mapping[str, int],
    devices: list[dict[str, int]],
    inputs: list[Arrays],
) -> list[Arrays]:
    call = describe(
        eqn.primitive,
        eqn.params,
        [var.aval for var in eqn.invars],
        [var.aval for var in eqn.outvars],
        loc,
        axis_env,
    )
    calls = [replace(call, device=device) for device in devices]
    if axis_env and on_mesh_launch is not None:
        results = on_mesh_launch(calls, inputs)
    else:
        results = [
            on_launch(c, arrays) for c, arrays in zip(calls, inputs, strict=True)
        ]
    return [checked(call, outs) for outs in results]


def describe(
    primitive: Any,
    params: Mapping[str, Any],
    in_avals: Sequence[Any],
    out_avals: Sequence[Any],
    loc: ir.Loc | None,
    axis_env: Mapping[str, int],
) -> LaunchCall:
    """The launch that an equation, or the lowering of one, stands for."""
    return LaunchCall(
        primitive=primitive.name,
        params=params,
        in_avals=tuple(in_avals),
        out_avals=tuple(out_avals),
        name=_kernel_name(params),
        loc=loc,
        axis_env=axis_env,
        interpret=_interpreter(params.get("interpret")),
    )


def _kernel_name(params: Mapping[str, Any]) -> str:
    jaxpr = params["jaxpr"] if "jaxpr" in params else params["jaxprs"][0]
    name = params.get("name") or jaxpr.debug_info.func_name
    if name in NAMELESS:
        return locations.outermost_function(jaxpr) or name
    return name


def _interpreter(interpret: Any) -> str:
    if isinstance(interpret, privates.InterpretParams):
        return "tpu"
    if isinstance(interpret, privates.InterpretGPUParams):
        return "gpu"
    return "generic" if interpret else "none"


def checked(call: LaunchCall, outs: Sequence[Any]) -> Arrays:
    """The results of a launch, if they are what the launch announced."""
    wanted = [outer.physical(aval) for aval in call.out_avals]
    arrays = [np.asarray(out) for out in outs]
    got = [(array.shape, array.dtype) for array in arrays]
    if got != wanted:
        raise TypeError(f"`on_launch` of {call.name} returned {got}, expected {wanted}")
    return arrays
