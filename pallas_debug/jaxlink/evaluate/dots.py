"""Contractions: `dot_general` as one BLAS call, in the type that XLA accumulates in."""

import math

import numpy as np

from pallas_debug.ir.pure import Pure
from pallas_debug.jaxlink.evaluate import kinds
from pallas_debug.jaxlink.evaluate.kinds import FLOAT32, Avals, Params, Rule

_FLOAT64 = np.dtype(np.float64)


def _accumulator(a: np.dtype, b: np.dtype, out: np.dtype, k: int) -> np.dtype | None:
    """Dtype to multiply in; None where no NumPy dtype gives XLA's values."""
    if any(kinds.is_complex(d) or kinds.is_bool(d) for d in (a, b, out)):
        return None
    if kinds.is_float(out):
        short = all(d.itemsize <= 4 for d in (a, b, out))
        return FLOAT32 if short else _FLOAT64
    largest = k * max(map(abs, kinds.limits(a))) * max(map(abs, kinds.limits(b)))
    if largest <= 1 << 24:
        return FLOAT32
    return _FLOAT64 if largest <= 1 << 53 else out


def _widened(operand: str, source: np.dtype, wide: np.dtype) -> str:
    return operand if source == wide else f"{operand}.astype(WIDE)"


def _aligned(
    operand: str, shape: tuple[int, ...], order: tuple[int, ...], flat: tuple[int, ...]
) -> str:
    if order != tuple(range(len(order))):
        operand += f".transpose({order!r})"
    if tuple(shape[i] for i in order) != flat:
        operand += f".reshape({flat!r})"
    return operand


def _operands(params: Params, in_avals: Avals) -> tuple[str, str, tuple[int, ...], int]:
    """Expressions of both operands as stacks of matrices, the shape of their product
    and the contracted size. The stack axis exists only with batch dimensions.
    """
    (left, right) = (tuple(map(int, aval.shape)) for aval in in_avals)
    contract, batch = params["dimension_numbers"]
    (lc, rc), (lb, rb) = (
        [tuple(map(int, axes)) for axes in pair] for pair in (contract, batch)
    )
    lfree = tuple(i for i in range(len(left)) if i not in lc + lb)
    rfree = tuple(i for i in range(len(right)) if i not in rc + rb)
    k = math.prod(left[i] for i in lc)
    m, n = math.prod(left[i] for i in lfree), math.prod(right[i] for i in rfree)
    stack = (math.prod(left[i] for i in lb),) if lb else ()
    a = _aligned("{0}", left, lb + lfree + lc, (*stack, m, k))
    b = _aligned("{1}", right, rb + rc + rfree, (*stack, k, n))
    return a, b, (*stack, m, n), k


def _dot_general(params: Params, in_avals: Avals, out_avals: Avals) -> Pure | None:
    a, b, product, k = _operands(params, in_avals)
    (da, db), out = (aval.dtype for aval in in_avals), out_avals[0].dtype
    wide = _accumulator(da, db, out, k)
    if wide is None:
        return None
    expr = f"({_widened(a, da, wide)} @ {_widened(b, db, wide)})"
    shape = tuple(map(int, out_avals[0].shape))
    if shape != product:
        zeros = ", ".join("0" for _ in product)
        expr += f".reshape({shape!r})" if shape else f"[{zeros}]"
    return Pure(expr=_narrowed(expr, wide, out), env={"WIDE": wide, "OUT": out})


def _narrowed(expr: str, wide: np.dtype, out: np.dtype) -> str:
    if wide == out:
        return expr
    if kinds.is_integer(out) and kinds.is_float(wide):
        return f"{expr}.astype(np.int64).astype(OUT)"
    return f"{expr}.astype(OUT)"


RULES: dict[str, Rule] = {"dot_general": _dot_general}
