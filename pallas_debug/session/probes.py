"""Probes: look at the operands and the result of a pure instruction, and note the odd.

A probe gives the result back unchanged. It compares values only; which of its notes is a
fault is for the checks to say.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np

from pallas_debug import ir
from pallas_debug.session.notes import ELEMENTWISE, Notes
from pallas_debug.session.running import Running, is_short
from pallas_debug.trace.arithmetic import (
    ABSORBED,
    CAST,
    INFINITY,
    NAN,
    OVERFLOW,
    WRAP,
)

DIVIDES = frozenset({"lax.div", "lax.reciprocal", "lax.rsqrt", "lax.log", "lax.log2"})
Probe = Callable[..., Any]


def probe_of(
    position: int,
    instr: ir.Instr,
    sum_of: Callable[[int], Running | None],
    notes: Notes,
) -> Probe | None:
    """The probe for an instruction, None where there is nothing to look for.

    `sum_of` says of an addition to which running sum it adds.
    """
    if instr.pure is None or instr.pure.results != 1 or instr.op.startswith("ir."):
        return None
    if instr.op in ("lax.select_n", "lax.stop_gradient", "lax.clamp"):
        return _carries(position, notes)
    site = (position, instr)

    def observe(result: Any, *operands: Any) -> Any:
        turn = notes.turn(position)
        kind = _family(result)
        if kind == "f":
            _float(notes, site, result, operands, turn)
            if instr.op == "lax.add" and (sum_ := sum_of(position)):
                _added(notes, site, result, operands, turn, sum_)
        elif kind == "i":
            _integer(notes, site, result, operands, turn)
        return result

    return observe


def _carries(position: int, notes: Notes) -> Probe:
    """Chooses among its operands: notes only that NaN came through."""

    def observe(result: Any, *operands: Any) -> Any:
        if _family(result) == "f" and np.isnan(result).any():
            notes.nan(position)
        return result

    return observe


def _family(value: Any) -> str:
    """`f` for floats, `i` for signed and unsigned integers, else empty."""
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return ""
    if dtype.kind == "f" or (dtype.kind == "V" and dtype.name.startswith(("b", "f"))):
        return "" if dtype.name.startswith("float4") else "f"
    return "i" if dtype.kind in "iu" else ""


def _float(
    notes: Notes, site: tuple[int, ir.Instr], result: Any, operands: Any, turn: int
) -> None:
    if np.isfinite(result).all():
        return
    position, instr = site
    nan = np.isnan(result)
    floats = [value for value in operands if _family(value) == "f"]
    values = (result, operands)
    if nan.any():
        notes.nan(position)
        born = _born(instr, nan, [np.isnan(value) for value in floats])
        if born.any():
            kind = OVERFLOW if _is_narrowed(instr, floats, result, born) else NAN
            notes.odd(kind, site, born, values, turn)
    infinite = np.isinf(result)
    if infinite.any():
        born = _born(instr, infinite, [~np.isfinite(value) for value in floats])
        if born.any():
            narrow = np.asarray(result).dtype.itemsize < 4 and instr.op not in DIVIDES
            notes.odd(OVERFLOW if narrow else INFINITY, site, born, values, turn)


def _born(instr: ir.Instr, bad: Any, before: list[Any]) -> np.ndarray:
    """Bad elements of a result that no bad operand explains."""
    bad = np.asarray(bad)
    for old in before:
        bad = bad & ~(old if instr.op in ELEMENTWISE else np.any(old))
    return bad


def _is_narrowed(instr: ir.Instr, floats: list[Any], result: Any, born: Any) -> bool:
    """Whether a cast to a dtype without infinity gave NaN for a number too large."""
    if instr.op != "lax.convert_element_type" or len(floats) != 1:
        return False
    return np.asarray(floats[0]).dtype.itemsize > np.asarray(result).dtype.itemsize


def _added(
    notes: Notes,
    site: tuple[int, ir.Instr],
    result: Any,
    operands: Any,
    turn: int,
    sum_: Running,
) -> None:
    """What an addition to a running sum in a short dtype loses."""
    own = np.asarray(result).dtype
    if is_short(own):
        _absorbed(notes, site, result, operands, turn)
    if is_short(own) or sum_.dtype is not None:
        kept = np.asarray(result).astype(sum_.dtype or own)
        notes.added(site, kept, operands, sum_.operand, turn)


def _absorbed(
    notes: Notes, site: tuple[int, ir.Instr], result: Any, operands: Any, turn: int
) -> None:
    """Terms of a sum in a short dtype that change nothing."""
    a, b = operands
    lost = ((result == a) & (b != 0)) | ((result == b) & (a != 0))
    lost = np.asarray(lost & np.isfinite(result))
    if lost.any():
        notes.odd(ABSORBED, site, lost, (result, operands), turn)
    found = notes.oddities.get((ABSORBED, site[0]))
    if found is not None:
        found.executed += int(np.size(result))


def _integer(
    notes: Notes, site: tuple[int, ir.Instr], result: Any, operands: Any, turn: int
) -> None:
    instr = site[1]
    if instr.op == "lax.convert_element_type":
        lost = _cast(result, operands[0])
        kind = CAST
    elif instr.op == "lax.dot_general":
        exact = _contracted(instr, result, operands)
        lost, kind = np.asarray(exact != result), WRAP
        operands = tuple(np.asarray(exact)[lost][:1])  # its first one
    else:
        lost, kind = _wrapped(instr.op, result, operands), WRAP
    if lost is not None and np.any(lost):
        notes.odd(kind, site, np.asarray(lost), (result, operands), turn)


def _cast(result: Any, value: Any) -> Any:
    """Elements whose number the integer dtype does not hold."""
    dtype, source = np.asarray(result).dtype, np.asarray(value).dtype
    info = ml_dtypes.iinfo(dtype)
    if _family(value) == "f":
        wide = np.asarray(value, np.float64)
        whole = np.trunc(wide)
        return ~((whole >= float(info.min)) & (whole <= float(info.max)))
    if source.kind != "i" or source.itemsize <= dtype.itemsize:
        return None
    return (value < int(info.min)) | (value > int(info.max))


def _wrapped(op: str, result: Any, operands: Any) -> Any:
    """Elements of a signed sum, difference or product that did not fit."""
    dtype = result.dtype
    if op not in ("lax.add", "lax.sub", "lax.mul") or dtype.kind != "i":
        return None
    a, b = operands
    if np.ndim(result) == 0:
        exact = _exact(op, int(a), int(b))
        return exact != int(result)
    if op == "lax.add":
        return ((a ^ result) & (b ^ result)) < 0
    if op == "lax.sub":
        return ((a ^ b) & (a ^ result)) < 0
    limit = math.ldexp(1.0, dtype.itemsize * 8 - 1)
    wide = np.multiply(a, b, dtype=np.float64)
    return (wide >= limit) | (wide < -limit)


def _contracted(instr: ir.Instr, result: Any, operands: Any) -> Any:
    """Sums of products before they are stored in a dtype that is meant to be short.

    In 32 bits or more, where sums may wrap on purpose, and unsigned: the result itself.
    """
    pure, dtype = instr.pure, np.asarray(result).dtype
    is_short_sum = dtype.kind == "i" and dtype.itemsize < 4
    if pure is None or not is_short_sum or "OUT" not in pure.expr:
        return result
    wide = replace(pure, env={**pure.env, "OUT": np.dtype(np.int64)})
    return wide.call(*operands)


def _exact(op: str, a: int, b: int) -> int:
    return a + b if op == "lax.add" else a - b if op == "lax.sub" else a * b
