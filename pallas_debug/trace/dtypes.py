"""Dtype names as the trace stores them, and the NumPy dtypes they stand for.

The small floats and integers of accelerators are ml_dtypes extensions; they are
imported only when a buffer or a value of such a dtype is looked at.
"""

from __future__ import annotations

import math
import re
from functools import cache

import numpy as np

BARRIER_BYTES = 8
SEMAPHORE_BYTES = 4
SMALL = "bfloat16 int1 int2 int4 uint1 uint2 uint4"
EIGHTS = "e3m4 e4m3 e4m3b11fnuz e4m3fn e4m3fnuz e5m2 e5m2fnuz e8m0fnu"
PLAIN = frozenset(
    ["bool", "complex64", "complex128", "float16", "float32", "float64"]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)
EXTENDED = frozenset(
    [
        *SMALL.split(),
        *(f"float8_{form}" for form in EIGHTS.split()),
        *("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"),
    ]
)


def is_number(name: str) -> bool:
    """Whether a dtype of this name can be stored."""
    return name in PLAIN or name in EXTENDED


@cache
def numpy_dtype(name: str) -> np.dtype:
    """The dtype that a name stands for; `TypeError` for an unknown one."""
    if name in EXTENDED:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    if name not in PLAIN:  # NumPy would parse structures and comma lists
        raise TypeError(f"{name[:40]!r} is no dtype of numbers")
    return np.dtype(name)


def is_sync(name: str) -> bool:
    """Whether a buffer of this dtype is a barrier or a semaphore."""
    return name.endswith(("barrier", "semaphore"))


def is_barrier(name: str) -> bool:
    """Whether a buffer of this dtype counts arrivals and phases."""
    return name.endswith("barrier")


@cache
def size_bytes(name: str, shape: tuple[int, ...]) -> int:
    """Bytes on the device, small types packed."""
    count = math.prod(shape)
    if is_sync(name):
        return count * (BARRIER_BYTES if is_barrier(name) else SEMAPHORE_BYTES)
    digits = re.search(r"\d+", name)
    bits = int(digits.group()) if digits else 8
    return (count * bits + 7) // 8
