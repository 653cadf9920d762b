"""Evaluates the jaxpr around the kernels, down to each launch.

Opens only what holds a launch; everything else is JAX's to compute. Runs in the
caller's thread and knows nothing of what a launch does.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from pallas_debug import errors, ir
from pallas_debug.jaxlink import locations, owned, privates, shards, versions
from pallas_debug.jaxlink.pretend import may_ask

LAUNCHES = frozenset({"pallas_call", "mpmd_map", "core_map"})

# Primitives that mean what their jaxpr means, and the param that holds it.
CALLS: Mapping[str, str] = {
    "call": "call_jaxpr",
    "checkpoint": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vmap_call": "call",
    "eval_jaxpr": "call_jaxpr",
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "remat": "jaxpr",
    "remat2": "jaxpr",
    "remat_opt": "fwd_jaxpr",
    "xla_metadata_call": "jaxpr",
}

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
      lanes: The devices stepped together.
      loc: The nearest enclosing place in the user's source.
      active: Which lanes take part; the others have gone another way.
    """

    launch: Launch
    lanes: shards.Lanes
    loc: ir.Loc | None = None
    active: np.ndarray


def evaluate(jaxpr: Any, args: Sequence[Any], launch: Launch) -> list[Any]:
    """Evaluates a traced function; mutable arrays among `args` are updated."""
    args = list(args)
    opened, consts = versions.open_jaxpr(jaxpr)
    if any(isinstance(const, privates.Ref) for const in consts):
        opened = privates.partial_eval.convert_constvars_jaxpr(opened)
        jaxpr, args = versions.close_jaxpr(opened), [*consts, *args]
    values = [arg[...] if isinstance(arg, privates.Ref) else arg for arg in args]
    lanes = shards.Lanes()
    surroundings = Surroundings(launch=launch, lanes=lanes, active=np.array(True))
    outs = _evaluate(jaxpr, values, surroundings)
    refs = [arg for arg in args if isinstance(arg, privates.Ref)]
    n_outs = len(outs) - len(refs)
    for ref, value in zip(refs, outs[n_outs:], strict=True):
        ref[...] = value
    return outs[:n_outs]


def _evaluate(jaxpr: Any, args: Sequence[Any], around: Surroundings) -> list[Any]:
    jaxpr = _without_refs(jaxpr)
    consts, (jaxpr, _) = _constants(jaxpr), versions.open_jaxpr(jaxpr)
    lanes = around.lanes
    env: dict[Any, Any] = dict(zip(jaxpr.invars, args, strict=True))
    env |= {var: lanes.lift(c) for var, c in zip(jaxpr.constvars, consts, strict=True)}

    def read(atom: Any) -> Any:
        literal = isinstance(atom, privates.Literal)
        return lanes.lift(atom.val) if literal else env[atom]

    last_used = privates.core.last_used(jaxpr)
    for eqn in jaxpr.eqns:
        if _holds_launch_eqn(eqn):
            here = replace(around, loc=locations.call_loc(eqn.source_info, around.loc))
            outs = _opened(eqn, [read(atom) for atom in eqn.invars], here)
        else:
            may_ask()
            variables = [
                env[atom]
                for atom in eqn.invars
                if not isinstance(atom, privates.Literal)
            ]
            outs = lanes.bind(eqn, variables)
        env.update(zip(eqn.outvars, outs, strict=True))
        privates.core.clean_up_dead_vars(eqn, env, last_used)
    return [read(atom) for atom in jaxpr.outvars]


@privates.weakref_lru_cache
def _constants(jaxpr: Any) -> list[Any]:
    """Arrays that a traced function closes over, as they are when it first runs.

    So `jit` keeps them, whatever becomes of the user's own; and so does the trace.
    """
    _, consts = versions.open_jaxpr(jaxpr)
    arrays = [getattr(const, "val", const) for const in consts]
    return [
        owned.given(array) if isinstance(array, np.ndarray) else const
        for array, const in zip(arrays, consts, strict=True)
    ]


def _opened(eqn: Any, operands: list[Any], around: Surroundings) -> list[Any]:
    name = eqn.primitive.name
    if name in LAUNCHES:
        return _launched(eqn, operands, around)
    if name in CALLS:
        return _evaluate(eqn.params[CALLS[name]], operands, around)
    if name in RULES:
        may_ask()
        return RULES[name](eqn, operands, around)
    raise errors.CaptureError(what=f"a kernel inside `{name}`", loc=around.loc)


def _launched(eqn: Any, operands: list[Any], around: Surroundings) -> list[Any]:
    lanes = around.lanes
    active = [lane for lane in np.ndindex(lanes.shape) if around.active[lane]]
    rows = [lanes.rows(operand) for operand in operands]
    results = around.launch(
        eqn,
        around.loc,
        lanes.axis_env,
        [lanes.device(lane) for lane in active],
        [[row[lane] for row in rows] for lane in active],
    )
    outs = []
    for k, var in enumerate(eqn.outvars):
        if not lanes.shape and results:
            outs.append(lanes.pile(results[0][k], var.aval))
            continue
        shape, dtype = physical(var.aval)
        whole = np.zeros((*lanes.shape, *shape), dtype)
        for lane, values in zip(active, results, strict=True):
            whole[lane] = values[k]
        outs.append(lanes.pile(whole, var.aval))
    return outs


def physical(aval: Any) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and NumPy dtype of a value; a random key is the words it consists of."""
    if privates.dtypes.issubdtype(aval.dtype, privates.dtypes.extended):
        aval = privates.core.physical_aval(aval)
    return tuple(aval.shape), np.dtype(aval.dtype)


def _scan(eqn: Any, operands: list[Any], around: Surroundings) -> list[Any]:
    params, lanes = eqn.params, around.lanes
    n_consts, n_carry, _ = versions.scan_split(params, len(operands))
    consts, xs = operands[:n_consts], operands[n_consts + n_carry :]
    carry = operands[n_consts : n_consts + n_carry]
    steps = range(params["length"])
    collected = []
    for i in reversed(steps) if params["reverse"] else steps:
        x = [lanes.element(array, i) for array in xs]
        outs = _evaluate(params["jaxpr"], [*consts, *carry, *x], around)
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
        (again,) = _evaluate(params["cond_jaxpr"], [*cond_consts, *carry], around)
        going = around.active & lanes.rows(again)
        if not going.any():
            return carry
        around = replace(around, active=going)
        new = _evaluate(params["body_jaxpr"], [*body_consts, *carry], around)
        carry = _merged(lanes, going, new, carry)


def _cond(eqn: Any, operands: list[Any], around: Surroundings) -> list[Any]:
    branches, lanes = eqn.params["branches"], around.lanes
    index = np.clip(lanes.rows(operands[0]).astype(int), 0, len(branches) - 1)
    outs: list[Any] | None = None
    for choice in np.unique(index[around.active]):
        mask = around.active & (index == choice)
        here = replace(around, active=mask)
        new = _evaluate(branches[choice], operands[1:], here)
        outs = new if outs is None else _merged(lanes, mask, new, outs)
    assert outs is not None, "somebody came here"
    return outs


def _merged(
    lanes: shards.Lanes, mask: np.ndarray, new: list[Any], old: list[Any]
) -> list[Any]:
    """`new` where the lanes went that way; devices may part inside a `shard_map`."""
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
    return _evaluate(versions.close_jaxpr(eqn.params["jaxpr"]), values, around)


def _blank(aval: Any) -> Any:
    return jnp.zeros(aval.shape, aval.dtype)


def _shard_map(eqn: Any, operands: list[Any], around: Surroundings) -> list[Any]:
    if around.lanes.axis_env:
        raise errors.CaptureError(what="a `shard_map` inside another", loc=around.loc)

    def body(lanes: shards.Lanes, blocks: list[Any]) -> list[Any]:
        active = np.ones(lanes.shape, bool)
        inside = replace(around, lanes=lanes, active=active)
        return _evaluate(eqn.params["jaxpr"], blocks, inside)

    return shards.run_shard_map(eqn, operands, body)


RULES: Mapping[str, Callable[[Any, list[Any], Surroundings], list[Any]]] = {
    "cond": _cond,
    "run_state": _run_state,
    "scan": _scan,
    "shard_map": _shard_map,
    "while": _while,
}

_known: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()
_stateful: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()


def holds_launch(jaxpr: Any) -> bool:
    """Whether a kernel is launched anywhere in a jaxpr."""
    opened, _ = versions.open_jaxpr(jaxpr)
    if opened not in _known:
        _known[opened] = any(_holds_launch_eqn(eqn) for eqn in opened.eqns)
    return _known[opened]


def _holds_launch_eqn(eqn: Any) -> bool:
    if eqn.primitive.name in LAUNCHES:
        return True
    return any(map(holds_launch, privates.core.jaxprs_in_params(eqn.params)))


def _without_refs(jaxpr: Any) -> Any:
    """The same function of values: references and high-level types lowered by JAX.

    References among the inputs become values, their last values further outputs.
    """
    opened, _ = versions.open_jaxpr(jaxpr)
    if opened not in _stateful:
        _stateful[opened] = opened.is_high or any(
            isinstance(var.aval, privates.AbstractRef)
            for eqn in opened.eqns
            for var in (*eqn.invars, *eqn.outvars)
        )
    if not _stateful[opened]:
        return jaxpr
    return privates.discharge_state(versions.close_jaxpr(jaxpr))
