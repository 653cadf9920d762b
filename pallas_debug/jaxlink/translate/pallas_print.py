"""What a kernel says about itself: prints and checks, formatted as JAX does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from pallas_debug import ir
from pallas_debug.jaxlink.lowering import Lowering, translate

# What `checkify` adds to the user's words.
CHECKIFY_SAYS = " (`check` failed)"


@translate("lax.debug_print")
def debug_print(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    lw.emit("pallas.debug_print", ins, params={"text": _formatter(eqn.params)})
    return []


def _formatter(params: Any) -> Callable[..., str]:
    fmt, fixed = params["fmt"], dict(params["static_args"])
    options = dict(params["np_printoptions"])

    def text(*values: Any) -> str:
        rest = iter(values)
        count = len(fixed) + len(values)
        leaves = [fixed[i] if i in fixed else next(rest) for i in range(count)]
        args, kwargs = jax.tree.unflatten(params["in_tree"], leaves)
        if not params["has_placeholders"]:
            return " ".join([fmt, *map(str, args)])
        with np.printoptions(**options):
            return fmt.format(*args, **kwargs)

    return text


@translate("lax.debug_callback")
def debug_callback(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    """The callback is named and its values are printed; it is not called."""
    name = getattr(eqn.params.get("callback"), "__name__", "callback")

    def text(*values: Any) -> str:
        return f"{name}({', '.join(map(str, values))})"

    lw.emit("pallas.debug_print", ins, params={"text": text})
    return []


@translate("lax.check")
def check(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    tree = eqn.params["err_tree"]

    def verdict(*values: Any) -> tuple[bool, str]:
        error = jax.tree.unflatten(tree, list(values))
        message = error.get()
        return message is None, (message or "").removesuffix(CHECKIFY_SAYS)

    lw.emit("pallas.debug_check", ins, params={"verdict": verdict})
    return []
