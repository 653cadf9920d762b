"""A call to the host in place of an equation, as the lowering of a primitive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from pallas_debug.jaxlink import outer, privates


def lowered(
    ctx: Any, host: Callable[..., Any], axes: Sequence[str], nodes: Sequence[Any]
) -> Any:
    """The equation's results, as `host` gives them.

    `host` gets this device's coordinates on the axes of a mesh, then the operands; a
    random key is the words it consists of.
    """
    coordinates, avals = _coordinates(ctx, axes)
    return _call(
        ctx,
        host,
        [*coordinates, *nodes],
        [*avals, *map(_physical, ctx.avals_in)],
        [_physical(aval) for aval in ctx.avals_out],
    )


def _coordinates(ctx: Any, axes: Sequence[str]) -> tuple[list[Any], list[Any]]:
    """This device's coordinates as values of the program."""
    avals = [privates.core.ShapedArray((), np.dtype("int32"))] * len(axes)
    if not axes:
        return [], []
    lowered = privates.mlir.lower_fun(
        lambda: [jax.lax.axis_index(axis) for axis in axes], multiple_results=True
    )
    inner = ctx.replace(
        avals_in=[],
        avals_out=avals,
        tokens_in=privates.mlir.TokenSet(),
        tokens_out=None,
    )
    return list(lowered(inner)), avals


def _physical(aval: Any) -> Any:
    shape, dtype = outer.physical(aval)
    return privates.core.ShapedArray(shape, dtype)


def _call(
    ctx: Any,
    host: Callable[..., Any],
    nodes: list[Any],
    avals_in: list[Any],
    avals_out: list[Any],
) -> Any:
    # JAX's own interpret modes declare an ordered effect, which comes as a token.
    effect = next(iter(ctx.tokens_in.effects()), None)
    outs, token, _ = privates.emit_python_callback(
        ctx.replace(avals_in=avals_in, avals_out=avals_out),
        host,
        None if effect is None else ctx.tokens_in.get(effect),
        nodes,
        avals_in,
        avals_out,
        has_side_effect=True,
        returns_token=effect is not None,
        sharding=privates.callback_sharding(
            ctx.module_context.axis_context, None, avals_out
        ),
    )
    if effect is not None:
        after = privates.mlir.TokenSet({effect: token})
        ctx.set_tokens_out(ctx.tokens_in.update_tokens(after))
    return outs
