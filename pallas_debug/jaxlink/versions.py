"""What differs between the supported versions of JAX: each difference named once.

Code elsewhere asks a predicate of this module or calls one of its helpers; it never
compares version numbers and never probes with `hasattr`. Imports no private name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr

OLDEST = (0, 10, 2)
NEWEST = (0, 12, 0)
JAX: tuple[int, ...] = tuple(jax.__version_info__)

IS_SUPPORTED = JAX >= OLDEST
"""Newer ones than `NEWEST` are let through: most of them work."""

# --- jaxprs -------------------------------------------------------------------------

HAS_CLOSED_JAXPR = JAX < (0, 11, 0)
"""Sub-jaxprs are `ClosedJaxpr`s; later a `Jaxpr` holds its constants itself."""

SCAN_HAS_FT = JAX >= (0, 11, 0)
"""`scan` has `ft_in` and `ft_out` in place of `num_consts` and `num_carry`."""

# --- launches -----------------------------------------------------------------------

MPMD_MAP_HAS_SCRATCH_REFUSAL = JAX >= (0, 11, 1)
"""Lowering an `mpmd_map` with scratch operands for CUDA is refused."""

# --- primitives inside kernels ------------------------------------------------------

WAIT_COUNTS_ARE_PARAMS = JAX >= (0, 11, 2)
"""`wait_smem_to_gmem` and `wgmma_wait` have `n` as a param, no longer as operand."""

COPIES_SAY_HAS_BARRIER = JAX >= (0, 11, 1)
"""`copy_gmem_to_smem` may lack a barrier and then says so; before, it has one."""


def open_jaxpr(jaxpr: Any) -> tuple[Any, Sequence[Any]]:
    """The equations' owner and the constants of a jaxpr of either kind."""
    if type(jaxpr).__name__ == "ClosedJaxpr":
        return jaxpr.jaxpr, jaxpr.consts
    return jaxpr, getattr(jaxpr, "consts", ())


def close_jaxpr(jaxpr: Any) -> Any:
    """A jaxpr of either kind as what JAX passes around, with its constants."""
    if HAS_CLOSED_JAXPR and type(jaxpr).__name__ != "ClosedJaxpr":
        return ClosedJaxpr(jaxpr, ())
    return jaxpr


def scan_split(params: Mapping[str, Any], n_inputs: int) -> tuple[int, int, int]:
    """How many of a scan's inputs are constants, carry and scanned arrays."""
    if SCAN_HAS_FT:
        consts, carry, xs = (len(part) for part in params["ft_in"].unpack())
    else:
        consts, carry = params["num_consts"], params["num_carry"]
        xs = n_inputs - consts - carry
    assert consts + carry + xs == n_inputs, "a scan's inputs add up"
    return consts, carry, xs


def primitive_name(primitive: Any) -> str:
    """A primitive's name as the newest JAX spells it."""
    return primitive.name.removesuffix("_p")
