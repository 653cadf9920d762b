"""Loops, branches and the like around a launch, as functions of values.

Each rule does what JAX's own lowering of the primitive does; what is inside is for
`Surroundings.evaluate`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from pallas_debug import errors, ir
from pallas_debug.jaxlink import privates, shards, versions
from pallas_debug.jaxlink.pretend import platform

LAUNCHES = frozenset({"pallas_call", "mpmd_map", "core_map"})

# equation, its place, names and sizes of the mesh, devices, operands of each → results
Launch = Callable[
    [Any, "ir.Loc | None", Mapping[str, int], list[dict[str, int]], list[Any]],
    Sequence[Sequence[np.ndarray]],
]


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What the evaluation of an equation needs besides its operands.

    Attributes:
      launch: Makes a launch for some devices at once.
      evaluate: Evaluates a jaxpr inside.
      lanes: The devices stepped together.
      loc: The nearest enclosing place in the user's source.
      active: Which lanes take part; the others have gone another way.
    """

    launch: Launch
    evaluate: Callable[[Any, Sequence[Any], Surroundings], list[Any]]
    lanes: shards.Lanes
    loc: ir.Loc | None = None
    active: np.ndarray


# Of a chip's kind, what `lax.platform_dependent` may call it.
PLATFORMS = {"gpu": {"cuda", "gpu"}, "tpu": {"tpu"}}

_known: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()


def holds_launch(jaxpr: Any) -> bool:
    """Whether a kernel is launched anywhere in a jaxpr."""
    opened, _ = versions.open_jaxpr(jaxpr)
    if opened not in _known:
        _known[opened] = any(is_around_launch(eqn) for eqn in opened.eqns)
    return _known[opened]


def is_around_launch(eqn: Any) -> bool:
    """Whether an equation is a launch, or has one inside."""
    if eqn.primitive.name in LAUNCHES:
        return True
    return any(map(holds_launch, privates.core.jaxprs_in_params(eqn.params)))


def _scan(eqn: Any, operands: list[Any], around: Surroundings) -> list[Any]:
    params, lanes = eqn.params, around.lanes
    n_consts, n_carry, _ = versions.scan_split(params, len(operands))
    consts, xs = operands[:n_consts], operands[n_consts + n_carry :]
    carry = operands[n_consts : n_consts + n_carry]
    steps = range(params["length"])
    collected = []
    for i in reversed(steps) if params["reverse"] else steps:
        x = [lanes.element(array, i) for array in xs]
        outs = around.evaluate(params["jaxpr"], [*consts, *carry, *x], around)
        carry, y = outs[:n_carry], outs[n_carry:]
        collected.append(y)
    if params["reverse"]:
        collected.reverse()
    if collected:
        ys = [lanes.stacked(column) for column in zip(*collected, strict=True)]
    else:
        ys = [
            lanes.lift(jnp.zeros(var.aval.shape, var.aval.dtype))
            for var in eqn.outvars[n_carry:]
        ]
    return [*carry, *ys]


def _while(eqn: Any, operands: list[Any], around: Surroundings) -> list[Any]:
    params, lanes = eqn.params, around.lanes
    n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
    cond_consts, body_consts = operands[:n_cond], operands[n_cond : n_cond + n_body]
    carry = operands[n_cond + n_body :]
    while True:
        (again,) = around.evaluate(params["cond_jaxpr"], [*cond_consts, *carry], around)
        wanted = lanes.rows(again)  # under `vmap` each lane has several answers
        several = tuple(range(around.active.ndim, wanted.ndim))
        going = np.expand_dims(around.active, several) & wanted
        if not going.any():
            return carry
        around = replace(around, active=going.any(several))
        new = around.evaluate(params["body_jaxpr"], [*body_consts, *carry], around)
        carry = _merged(lanes, going, new, carry)


def _cond(eqn: Any, operands: list[Any], around: Surroundings) -> list[Any]:
    branches, lanes = eqn.params["branches"], around.lanes
    index = np.clip(lanes.rows(operands[0]).astype(int), 0, len(branches) - 1)
    if eqn.params.get("branches_platforms") is not None:
        index = np.full_like(index, _of_platform(eqn.params, int(index.flat[0])))
    outs: list[Any] | None = None
    for choice in np.unique(index[around.active]):
        mask = around.active & (index == choice)
        here = replace(around, active=mask)
        new = around.evaluate(branches[choice], operands[1:], here)
        outs = new if outs is None else _merged(lanes, mask, new, outs)
    assert outs is not None, "somebody came here"
    return outs


def _of_platform(params: Mapping[str, Any], of_cpu: int) -> int:
    """The branch of `lax.platform_dependent` that the pretended chip takes.

    Where no chip was chosen, it is of the platform that launches a kernel there.
    """
    chosen = PLATFORMS.get(platform() or "")
    if chosen is None:
        holding = [n for n, one in enumerate(params["branches"]) if holds_launch(one)]
        return of_cpu if of_cpu in holding else holding[0]
    taken = [
        number
        for number, names in enumerate(params["branches_platforms"])
        if names is None or not chosen.isdisjoint(names)
    ]
    return taken[0] if taken else of_cpu


def _merged(
    lanes: shards.Lanes, mask: np.ndarray, new: list[Any], old: list[Any]
) -> list[Any]:
    """`new` where the lanes, or what they hold, went that way.

    Devices may part inside a `shard_map`, elements of a batch in a loop.
    """
    if mask.all():
        return new
    return [lanes.select(mask, n, o) for n, o in zip(new, old, strict=True)]


def _run_state(eqn: Any, operands: list[Any], around: Surroundings) -> list[Any]:
    given = iter(operands)
    values = [
        next(given) if initialized else around.lanes.lift(_blank(var.aval.inner_aval))
        for var, initialized in zip(
            eqn.params["jaxpr"].invars, eqn.params["is_initialized"], strict=True
        )
    ]
    return around.evaluate(versions.close_jaxpr(eqn.params["jaxpr"]), values, around)


def _blank(aval: Any) -> Any:
    return jnp.zeros(aval.shape, aval.dtype)


def _shard_map(eqn: Any, operands: list[Any], around: Surroundings) -> list[Any]:
    if around.lanes.axis_env:
        raise errors.CaptureError(what="a `shard_map` inside another", loc=around.loc)

    def body(lanes: shards.Lanes, blocks: list[Any]) -> list[Any]:
        active = np.ones(lanes.shape, bool)
        inside = replace(around, lanes=lanes, active=active)
        return around.evaluate(eqn.params["jaxpr"], blocks, inside)

    return shards.run_shard_map(eqn, operands, body)


RULES: Mapping[str, Callable[[Any, list[Any], Surroundings], list[Any]]] = {
    "cond": _cond,
    "run_state": _run_state,
    "scan": _scan,
    "shard_map": _shard_map,
    "while": _while,
}
