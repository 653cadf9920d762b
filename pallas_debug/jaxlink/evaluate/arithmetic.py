"""Elementwise primitives, as NumPy expressions that mean what XLA means.

Where NumPy and XLA differ (integer division, logical shifts, the sign of zeros) the
rule follows XLA. Values of rank 0 get expressions of their own: a ufunc on a NumPy
scalar costs 1 to 2 microseconds, an operator or a conditional under 0.1.
"""

import ml_dtypes
import numpy as np

from pallas_debug.ir.pure import Pure
from pallas_debug.jaxlink.evaluate import kinds
from pallas_debug.jaxlink.evaluate.kinds import Avals, Params, Rule


def _constants(expr: str, dtype: np.dtype) -> dict[str, object]:
    values = {"ZERO": 0, "ONE": 1, "MINUS": -1}
    return {k: dtype.type(v) for k, v in values.items() if k in expr}


def elementwise(array: str, scalar: str | None = None, *, narrow=False) -> Rule:
    """Rule for real operands; `scalar` replaces `array` when the result has rank 0.

    The expressions may name ZERO, ONE and MINUS of the first operand's dtype.
    """

    def rule(params: Params, in_avals: Avals, out_avals: Avals) -> Pure | None:
        dtype = in_avals[0].dtype
        if kinds.is_complex(dtype) or (kinds.is_narrow(dtype) and not narrow):
            return None
        expr = scalar if scalar and out_avals[0].shape == () else array
        return Pure(expr=expr, env=_constants(expr, dtype))

    return rule


def by_kind(*, real: Rule, integer: Rule) -> Rule:
    """Rule that chooses by the first operand: floats and complex, or the rest."""

    def rule(params: Params, in_avals: Avals, out_avals: Avals) -> Pure | None:
        dtype = in_avals[0].dtype
        chosen = real if kinds.is_inexact(dtype) else integer
        return chosen(params, in_avals, out_avals)

    return rule


def _sign(params: Params, in_avals: Avals, out_avals: Avals) -> Pure | None:
    signs = "(ONE if {0} > ZERO else ZERO if {0} == ZERO else MINUS)"
    if not kinds.is_signed(in_avals[0].dtype):
        signs = "(ONE if {0} else ZERO)"
    return elementwise("np.sign({0})", signs)(params, in_avals, out_avals)


def _divide_floats(params: Params, in_avals: Avals, out_avals: Avals) -> Pure | None:
    """XLA multiplies an array by the reciprocal of a rank-0 divisor, bfloat16 aside."""
    above, below = in_avals
    inverse = above.shape != () and below.shape == () and above.dtype.kind == "f"
    quotient = "({0} * (ONE / {1}))" if inverse else "({0} / {1})"
    return elementwise(quotient)(params, in_avals, out_avals)


def _reciprocal(params: Params, in_avals: Avals, out_avals: Avals) -> Pure | None:
    """The approximate one rounds its operand to bfloat16, as on a CPU."""
    if not params["approx"]:
        return elementwise("(ONE / {0})")(params, in_avals, out_avals)
    env = {"ONE": np.float32(1), "SHORT": np.dtype(ml_dtypes.bfloat16)}
    return Pure(expr="(ONE / {0}.astype(SHORT).astype(np.float32))", env=env)


def _divide_signed(a, b):
    """Integer quotient toward zero of NumPy scalars; -1 for a zero divisor."""
    if b == 0:
        return type(a)(-1)
    quotient = a // b
    if quotient < 0 and quotient * b != a:
        return quotient + type(a)(1)
    return quotient


def _remainder_signed(a, b):
    """Integer remainder of NumPy scalars with the sign of `a`; `a` for b = 0."""
    if b == 0:
        return a
    rest = a % b
    return rest - b if rest != 0 and (rest < 0) != (a < 0) else rest


def _divide_arrays(a, b):
    """Integer quotients; doubles hold those of 32 bits and divide faster."""
    dtype = a.dtype
    if dtype.itemsize <= 4:
        quotient = (a / b).astype(np.int64).astype(dtype)
    else:
        quotient = a // b
        if kinds.is_signed(dtype):
            inexact = (quotient < 0) & (quotient * b != a)
            quotient = quotient + inexact.astype(dtype)
    if np.logical_and.reduce(b, None):
        return quotient
    return np.where(b == 0, ~dtype.type(0), quotient)


def _remainder_arrays(a, b):
    """Integer remainders: a zero divisor leaves `a`, whatever the quotient."""
    return a - _divide_arrays(a, b) * b


def _divide(params: Params, in_avals: Avals, out_avals: Avals) -> Pure | None:
    dtype = in_avals[0].dtype
    if kinds.is_narrow(dtype):
        return None
    if out_avals[0].shape != ():
        return Pure(expr="divide({0}, {1})", env={"divide": _divide_arrays})
    if kinds.is_signed(dtype):
        expr = "({0} // {1} if {0} >= ZERO and {1} > ZERO else divide({0}, {1}))"
        return Pure(expr=expr, env={"ZERO": dtype.type(0), "divide": _divide_signed})
    ones = dtype.type(kinds.limits(dtype)[1])
    return Pure(expr="({0} // {1} if {1} else ONES)", env={"ONES": ones})


def _remainder(params: Params, in_avals: Avals, out_avals: Avals) -> Pure | None:
    dtype = in_avals[0].dtype
    if kinds.is_narrow(dtype):
        return None
    if out_avals[0].shape != ():
        return Pure(expr="remainder({0}, {1})", env={"remainder": _remainder_arrays})
    if kinds.is_signed(dtype):
        expr = "({0} % {1} if {0} >= ZERO and {1} > ZERO else remainder({0}, {1}))"
        env = {"ZERO": dtype.type(0), "remainder": _remainder_signed}
        return Pure(expr=expr, env=env)
    return Pure(expr="({0} % {1} if {1} else {0})")


def _round_away(x):
    whole = np.trunc(x)
    up = (np.abs(x - whole) >= x.dtype.type(0.5)).astype(x.dtype)
    return np.where(np.isfinite(x), np.copysign(np.abs(whole) + up, x), x)[()]


def _round(params: Params, in_avals: Avals, out_avals: Avals) -> Pure:
    if int(params["rounding_method"]) == 1:
        return Pure(expr="np.rint({0})")
    return Pure(expr="round_away({0})", env={"round_away": _round_away})


def power(factor: str, exponent: int) -> str:
    """Expression of a power by repeated squaring, in the order that XLA uses."""
    result, square = "", factor
    while exponent:
        if exponent & 1:
            result = square if not result else f"({result} * {square})"
        exponent >>= 1
        if exponent:
            square = f"({square} * {square})"
    return result


def _integer_pow(params: Params, in_avals: Avals, out_avals: Avals) -> Pure | None:
    dtype, y = in_avals[0].dtype, params["y"]
    if kinds.is_complex(dtype) or kinds.is_narrow(dtype) or y == 0 or abs(y) > 4:
        return None
    expr = power("{0}", abs(y)) if y > 0 else f"(ONE / {power('{0}', -y)})"
    return Pure(expr=expr, env=_constants(expr, dtype))


def _pow(params: Params, in_avals: Avals, out_avals: Avals) -> Pure | None:
    base, exponent = (aval.dtype for aval in in_avals)
    if not kinds.is_float(base):
        return None
    if base == exponent:
        return Pure(expr="np.power({0}, {1})")
    return Pure(expr="np.power({0}, {1}.astype(BASE))", env={"BASE": base})


def _shift_logical(params: Params, in_avals: Avals, out_avals: Avals) -> Pure | None:
    dtype = in_avals[0].dtype
    if kinds.is_narrow(dtype):
        return None
    if not kinds.is_signed(dtype):
        return Pure(expr="({0} >> {1})")
    env = {"U": kinds.unsigned(dtype), "S": dtype, "ZERO": dtype.type(0)}
    through = "({0}.view(U) >> {1}.view(U)).view(S)"
    if out_avals[0].shape == ():
        return Pure(expr=f"({{0}} >> {{1}} if {{0}} >= ZERO else {through})", env=env)
    return Pure(expr=through, env=env)


def _shift_arithmetic(params: Params, in_avals: Avals, out_avals: Avals) -> Pure | None:
    dtype = in_avals[0].dtype
    if kinds.is_narrow(dtype):
        return None
    if kinds.is_signed(dtype):
        return Pure(expr="({0} >> {1})")
    env = {"U": dtype, "S": kinds.signed(dtype)}
    return Pure(expr="({0}.view(S) >> {1}.view(S)).view(U)", env=env)


def _population_count(params: Params, in_avals: Avals, out_avals: Avals) -> Pure | None:
    dtype = in_avals[0].dtype
    if kinds.is_narrow(dtype):
        return None
    env = {"U": kinds.unsigned(dtype), "T": dtype}
    return Pure(expr="np.bitwise_count({0}.view(U)).astype(T)", env=env)


def _select(params: Params, in_avals: Avals, out_avals: Avals) -> Pure | None:
    which, *cases = in_avals
    if kinds.is_bool(which.dtype):
        if which.shape == ():
            return Pure(expr="({2} if {0} else {1})")
        return Pure(expr="np.where({0}, {2}, {1})")
    last = len(cases) - 1
    if which.shape == ():
        listed = ", ".join(f"{{{i + 1}}}" for i in range(len(cases)))
        return Pure(expr=f"({listed},)[min(max(int({{0}}), 0), {last})]")
    expr = f"{{{last + 1}}}"
    for i in reversed(range(last)):
        expr = f"np.where({{0}} <= {i}, {{{i + 1}}}, {expr})"
    return Pure(expr=expr)


def _complex(real, imag):
    out = np.empty(np.shape(real), np.result_type(real, np.complex64))
    out.real, out.imag = real, imag
    return out[()]


_MATH = kinds.names(
    "exp exp2 expm1 log log1p log2 sqrt cbrt tanh sin cos tan sinh cosh floor ceil"
)
_ARC = {f"a{f}": f"arc{f}" for f in kinds.names("sin cos tan sinh cosh tanh")}
_ORDER = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}

_MAX = "({0} if {0} >= {1} else {1})"
_MIN = "({0} if {0} <= {1} else {1})"
_MAX_REAL = "({0} if {0} >= {1} or {0} != {0} else {1})"
_MIN_REAL = "({0} if {0} <= {1} or {0} != {0} else {1})"
_CLAMP = "np.minimum(np.maximum({0}, {1}), {2})"

RULES: dict[str, Rule] = {
    **{name: elementwise(f"np.{name}({{0}})") for name in _MATH},
    **{name: elementwise(f"np.{of}({{0}})") for name, of in _ARC.items()},
    **{k: elementwise(f"({{0}} {op} {{1}})", narrow=True) for k, op in _ORDER.items()},
    "add": kinds.same("({0} + {1})"),
    "add_any": kinds.same("({0} + {1})"),
    "sub": kinds.same("({0} - {1})"),
    "mul": elementwise("({0} * {1})", narrow=True),
    "neg": elementwise("(-{0})"),
    "abs": elementwise("abs({0})"),
    "square": elementwise("({0} * {0})", narrow=True),
    "one_minus_square": elementwise("(ONE - {0} * {0})"),
    "div": by_kind(real=_divide_floats, integer=_divide),
    "rem": by_kind(real=elementwise("np.fmod({0}, {1})"), integer=_remainder),
    "max": by_kind(
        real=elementwise("np.maximum({0}, {1})", _MAX_REAL),
        integer=elementwise("np.maximum({0}, {1})", _MAX),
    ),
    "min": by_kind(
        real=elementwise("np.minimum({0}, {1})", _MIN_REAL),
        integer=elementwise("np.minimum({0}, {1})", _MIN),
    ),
    "clamp": by_kind(
        real=elementwise(_CLAMP.replace("{0}, {1}", "{1}, {0}")),
        integer=elementwise(_CLAMP, "min(max({0}, {1}), {2})"),
    ),
    "sign": by_kind(real=elementwise("np.copysign(np.sign({0}), {0})"), integer=_sign),
    "round": _round,
    "rsqrt": elementwise("(ONE / np.sqrt({0}))"),
    "logistic": elementwise("(ONE / (ONE + np.exp(-{0})))"),
    "reciprocal": _reciprocal,
    "atan2": elementwise("np.arctan2({0}, {1})"),
    "nextafter": elementwise("np.nextafter({0}, {1})"),
    "is_finite": elementwise("np.isfinite({0})"),
    "pow": _pow,
    "integer_pow": _integer_pow,
    "and": elementwise("({0} & {1})"),
    "or": elementwise("({0} | {1})"),
    "xor": elementwise("({0} ^ {1})"),
    "not": elementwise("(~{0})"),
    "shift_left": elementwise("({0} << {1})"),
    "shift_right_logical": _shift_logical,
    "shift_right_arithmetic": _shift_arithmetic,
    "population_count": _population_count,
    "select_n": _select,
    "real": kinds.same("{0}.real"),
    "imag": kinds.same("{0}.imag"),
    "complex": lambda params, in_avals, out_avals: Pure(
        expr="complex({0}, {1})", env={"complex": _complex}
    ),
    "conj": kinds.same("np.conj({0})"),
}
