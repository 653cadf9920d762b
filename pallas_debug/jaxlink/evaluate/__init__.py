"""The meaning of pure JAX primitives: NumPy expressions that agree with XLA.

The machine runs generated Python without knowing JAX. This package gives it, for each
pure equation of a jaxpr, the expression to paste (`Pure`). NumPy does the work where it
agrees with XLA or differs in last bits only; XLA does it, one operation at a time, for
the rest and wherever `exact` is asked.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pallas_debug.ir.pure import Pure
from pallas_debug.jaxlink.evaluate import (
    arithmetic,
    casts,
    dots,
    indexing,
    kinds,
    mosaic,
    random,
    reductions,
    shaping,
)
from pallas_debug.jaxlink.evaluate.denormals import (
    flushing_denormals as flushing_denormals,
)
from pallas_debug.jaxlink.evaluate.exact import INEXACT, XLA_ONLY, xla


def _collect(*families: Any) -> dict[str, kinds.Rule]:
    rules: dict[str, kinds.Rule] = {}
    for family in families:
        repeated = sorted(rules.keys() & family.RULES.keys())
        if repeated:
            raise ValueError(f"{family.__name__} repeats rules for {repeated}")
        rules |= family.RULES
    return rules


RULES = _collect(arithmetic, casts, shaping, indexing, reductions, dots, random, mosaic)
PURE_NAMES = frozenset(RULES) | XLA_ONLY
"""Names that `evaluate` knows, as JAX spells them less a trailing `_p`."""


def evaluate(
    name: str,
    params: Mapping[str, Any],
    in_avals: Sequence[Any],
    out_avals: Sequence[Any],
    *,
    exact: bool = False,
    primitive: Any = None,
) -> Pure | None:
    """Returns the meaning of one equation, or None for a primitive it does not know.

    Args:
      name: The primitive's name without a trailing `_p`.
      params: The equation's parameters.
      in_avals: Abstract values of the operands.
      out_avals: Abstract values of the results.
      exact: Whether results must equal op-by-op JAX on a CPU bit for bit.
      primitive: The JAX primitive, for names that the public JAX modules lack.
    """
    avals = (*in_avals, *out_avals)
    if name not in PURE_NAMES or not all(_is_value(aval) for aval in avals):
        return None
    if _asks_xla(name, avals, exact):
        return xla(name, params, in_avals, out_avals, primitive)
    pure = RULES[name](params, in_avals, out_avals)
    return pure or xla(name, params, in_avals, out_avals, primitive)


def _is_value(aval: Any) -> bool:
    """Whether the aval is an array's: references have an `inner_aval`."""
    return hasattr(aval, "dtype") and not hasattr(aval, "inner_aval")


def _asks_xla(name: str, avals: Sequence[Any], exact: bool) -> bool:
    if name in XLA_ONLY:
        return True
    if any(kinds.is_key(aval.dtype) for aval in avals):
        return name not in random.RULES and name not in shaping.IDENTITIES
    inexact = any(kinds.is_inexact(aval.dtype) for aval in avals)
    return exact and inexact and name in INEXACT
