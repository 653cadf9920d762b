"""Evaluates the jaxpr around the kernels, down to each launch.

Opens only what holds a launch; everything else is JAX's to compute. Runs in the
caller's thread and knows nothing of what a launch does.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pallas_debug import errors
from pallas_debug.jaxlink import (
    around_launch,
    locations,
    owned,
    privates,
    shards,
    versions,
)
from pallas_debug.jaxlink.around_launch import Launch, Surroundings
from pallas_debug.jaxlink.pretend import may_ask

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


def evaluate(jaxpr: Any, args: Sequence[Any], launch: Launch) -> list[Any]:
    """Evaluates a traced function; mutable arrays among `args` are updated."""
    args = list(args)
    opened, consts = versions.open_jaxpr(jaxpr)
    if any(isinstance(const, privates.Ref) for const in consts):
        opened = privates.partial_eval.convert_constvars_jaxpr(opened)
        jaxpr, args = versions.close_jaxpr(opened), [*consts, *args]
    values = [arg[...] if isinstance(arg, privates.Ref) else arg for arg in args]
    lanes = shards.Lanes()
    surroundings = Surroundings(
        launch=launch, lanes=lanes, active=np.array(True), evaluate=_evaluate
    )
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
        if around_launch.is_around_launch(eqn):
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
    if name in around_launch.LAUNCHES:
        return _launched(eqn, operands, around)
    if name in CALLS:
        return _evaluate(eqn.params[CALLS[name]], operands, around)
    if name in around_launch.RULES:
        may_ask()
        return around_launch.RULES[name](eqn, operands, around)
    raise errors.KernelInside(primitive=name, loc=around.loc)


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


_stateful: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()


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
