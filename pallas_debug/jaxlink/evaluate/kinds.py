"""Kinds of dtypes and operands, as the rules of this package tell them apart."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import jax
import numpy as np
from jax import dtypes

from pallas_debug.ir.pure import Pure

Params: TypeAlias = Mapping[str, Any]
Avals: TypeAlias = Sequence[Any]
Rule: TypeAlias = Callable[[Params, Avals, Avals], Pure | None]
"""Makes the meaning of one equation; None leaves it to XLA (`exact.xla`)."""

FLOAT32 = np.dtype(np.float32)


def is_bool(dtype: Any) -> bool:
    """Whether it is the type of truth values."""
    return dtype == np.bool_


def is_float(dtype: Any) -> bool:
    """Whether it is a real float of any width."""
    return dtypes.issubdtype(dtype, np.floating)


def is_complex(dtype: Any) -> bool:
    """Whether it is complex."""
    return dtypes.issubdtype(dtype, np.complexfloating)


def is_inexact(dtype: Any) -> bool:
    """Whether it is a float or complex."""
    return dtypes.issubdtype(dtype, np.inexact)


def is_integer(dtype: Any) -> bool:
    """Whether it is an integer of any width."""
    return dtypes.issubdtype(dtype, np.integer)


def is_signed(dtype: Any) -> bool:
    """Whether it is a signed integer."""
    return dtypes.issubdtype(dtype, np.signedinteger)


def is_key(dtype: Any) -> bool:
    """Whether it is a typed PRNG key, whose values are raw words here."""
    return dtypes.issubdtype(dtype, dtypes.prng_key)


def is_narrow(dtype: Any) -> bool:
    """Whether it is an integer under a byte: ml_dtypes computes few ops on those."""
    return is_integer(dtype) and bits(dtype) < 8


def is_short(dtype: Any) -> bool:
    """Whether it is a float under 32 bits, which XLA accumulates in float32."""
    return is_float(dtype) and dtype.itemsize < 4


def bits(dtype: Any) -> int:
    """Width of one element as the dtype means it, not as NumPy stores it."""
    if is_bool(dtype):
        return 1
    if is_integer(dtype):
        return jax.numpy.iinfo(dtype).bits
    return jax.numpy.finfo(dtype).bits


def limits(dtype: Any) -> tuple[int, int]:
    """Least and greatest value of an integer dtype."""
    info = jax.numpy.iinfo(dtype)
    return int(info.min), int(info.max)


def unsigned(dtype: Any) -> np.dtype:
    """The unsigned integer of the same storage size."""
    return np.dtype(f"u{dtype.itemsize}")


def signed(dtype: Any) -> np.dtype:
    """The signed integer of the same storage size."""
    return np.dtype(f"i{dtype.itemsize}")


def names(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def same(expr: str) -> Rule:
    """Rule whose expression depends on neither parameters nor dtypes."""
    pure = Pure(expr=expr)
    return lambda params, in_avals, out_avals: pure
