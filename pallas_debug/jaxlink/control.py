"""Control flow: nested jaxprs become jumps, branches and inlined code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.errors import UnsupportedForm
from pallas_debug.jaxlink import versions
from pallas_debug.jaxlink.lowering import Lowering, constant, translate

CALLS = {
    "lax.jit": "jaxpr",
    "lax.pjit": "jaxpr",
    "lax.call": "call_jaxpr",
    "lax.closed_call": "call_jaxpr",
    "lax.core_call": "call_jaxpr",
    "lax.eval_jaxpr": "call_jaxpr",
    "lax.remat": "jaxpr",
    "lax.remat2": "jaxpr",
    "lax.xla_metadata_call": "jaxpr",
    "lax.checkpoint": "jaxpr",
    "lax.custom_jvp_call": "call_jaxpr",
    "lax.custom_vjp_call": "call_jaxpr",
    "lax.custom_vjp_call_jaxpr": "fun_jaxpr",
    "lax.custom_vmap_call": "call",
    "lax.custom_lin": "jaxpr",
}


@translate(*CALLS)
def call(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> list[ir.Operand]:
    """A call: inlined, remembered as a scope."""
    key = CALLS[f"lax.{versions.primitive_name(eqn.primitive)}"]
    key = key if key in eqn.params else _jaxpr_key(eqn.params)
    before = lw.enter("call", str(eqn.params.get("name") or eqn.primitive.name))
    outs = lw.jaxpr(eqn.params[key], ins)
    lw.scope = before
    return outs


def _jaxpr_key(params: dict[str, Any]) -> str:
    for key in ("call_jaxpr", "jaxpr", "fun_jaxpr", "call"):
        if key in params:
            return key
    raise UnsupportedForm(
        op="",
        form=f"the parameters {', '.join(sorted(params))}, none of them a jaxpr",
        way="call the function without this wrapper",
    )


@translate("lax.cond")
def cond(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    """Branches by number, clamped; results meet in the same registers."""
    index, *operands = ins
    branches = eqn.params["branches"]
    before = lw.enter("cond", "cond")
    outs = [lw.register() for _ in eqn.outvars]
    lw.emit("ir.branch", [index], targets=[-1] * len(branches))
    branch, labels, ends = lw.here - 1, [], []
    for jaxpr in branches:
        labels.append(lw.here)
        lw.move(lw.jaxpr(jaxpr, operands), outs)
        ends.append(lw.jump())
    lw.patch(branch, *labels)
    for end in ends:
        lw.patch(end, lw.here)
    lw.scope = before
    return outs


# As JAX's own lowerings name themselves.
PLATFORMS = {"tpu": "mosaic", "mosaic_gpu": "cuda", "triton": "cuda", "generic": "cpu"}


@translate("lax.platform_index")
def platform_index(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    """Which branch of a `platform_dependent` is this platform's; None is the default."""
    own = PLATFORMS[lw.backend]
    choices = eqn.params["platforms"]
    wanted = [
        i for i, names in enumerate(choices) if names is not None and own in names
    ]
    wanted += [i for i, names in enumerate(choices) if names is None]
    if not wanted:
        return lw.unknown(f"lax.platform_index for {own}", [eqn.outvars[0].aval], ins)
    return [constant(np.int32(wanted[0]))]


@translate("lax.while")
def while_loop(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    """Test, body, jump back; the carry stays in its registers."""
    p = eqn.params
    n_test, n_body = p["cond_nconsts"], p["body_nconsts"]
    test_consts, body_consts = ins[:n_test], ins[n_test : n_test + n_body]
    before = lw.enter("while", "while")
    carry = _carry(lw, ins[n_test + n_body :], eqn.outvars)
    top = lw.here
    (go,) = lw.jaxpr(p["cond_jaxpr"], [*test_consts, *carry])
    lw.emit("ir.branch", [go], targets=[-1, -1])
    branch = lw.here - 1
    lw.move(lw.jaxpr(p["body_jaxpr"], [*body_consts, *carry]), carry)
    lw.jump(top)
    lw.patch(branch, lw.here, branch + 1)
    lw.scope = before
    return carry


def _carry(
    lw: Lowering, values: Sequence[ir.Operand], variables: Sequence[Any]
) -> list[ir.Reg]:
    """Registers for a loop's carry, with its first values."""
    carry = [lw.register() for _ in variables]
    lw.move(values, carry)
    return carry


@translate("lax.scan")
def scan(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    """A counted loop; scanned inputs are sliced, stacked outputs are collected."""
    p = eqn.params
    n_consts, n_carry, _ = versions.scan_split(p, len(ins))
    consts, init, xs = (
        ins[:n_consts],
        ins[n_consts : n_consts + n_carry],
        ins[n_consts + n_carry :],
    )
    length, reverse = p["length"], p["reverse"]
    before = lw.enter("scan", "scan")
    carry = _carry(lw, init, eqn.outvars[:n_carry])
    n_ys = len(eqn.outvars) - n_carry
    counter = lw.register()
    stacks = [lw.register() for _ in range(n_ys)]
    lw.move(
        [constant(np.int32(0)), *(ir.Const(()) for _ in stacks)], [counter, *stacks]
    )
    top = lw.here
    done = lw.compute(f"{{0}} >= {length}", counter)
    lw.emit("ir.branch", [done], targets=[-1, -1])
    branch = lw.here - 1
    at = lw.compute(f"{length - 1} - {{0}}", counter) if reverse else counter
    slices = [lw.compute("{0}[{1}]", x, at) for x in xs]
    outs = lw.jaxpr(p["jaxpr"], [*consts, *carry, *slices])
    grown = [
        lw.compute("({1},) + {0}" if reverse else "{0} + ({1},)", stack, y)
        for stack, y in zip(stacks, outs[n_carry:], strict=True)
    ]
    more = lw.compute("{0} + c1", counter, c1=np.int32(1))
    lw.move([*outs[:n_carry], *grown, more], [*carry, *stacks, counter])
    lw.jump(top)
    lw.patch(branch, branch + 1, lw.here)
    lw.scope = before
    return [*carry, *_stacked(lw, eqn, stacks, n_carry)]


def _stacked(
    lw: Lowering, eqn: Any, stacks: list[ir.Reg], n_carry: int
) -> list[ir.Operand]:
    outs = []
    for stack, var in zip(stacks, eqn.outvars[n_carry:], strict=True):
        shape, dtype = tuple(var.aval.shape), var.aval.dtype
        outs.append(
            lw.compute(
                "stack({0}, shape, dtype)",
                stack,
                stack=_stack,
                shape=shape,
                dtype=dtype,
            )
        )
    return outs


def _stack(values: tuple, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    return np.asarray(values, dtype).reshape(shape)
