"""Reductions, scans along an axis, and orderings.

Floats under 32 bits accumulate in float32 and round once, as XLA does.
"""

import numpy as np

from pallas_debug.ir.pure import Pure
from pallas_debug.jaxlink.evaluate import kinds
from pallas_debug.jaxlink.evaluate.kinds import Avals, Params, Rule


def _lowest(dtype: np.dtype):
    if kinds.is_bool(dtype):
        return np.False_
    return dtype.type(-np.inf if kinds.is_float(dtype) else kinds.limits(dtype)[0])


def _highest(dtype: np.dtype):
    if kinds.is_bool(dtype):
        return np.True_
    return dtype.type(np.inf if kinds.is_float(dtype) else kinds.limits(dtype)[1])


def _axes(params: Params, rank: int) -> str:
    axes = tuple(map(int, params["axes"]))
    if len(axes) == rank:
        return "None"
    return repr(axes[0] if len(axes) == 1 else axes)


def _accumulate(ufunc: str) -> Rule:
    """Sum or product: wide for short floats, and in its own type for integers."""

    def rule(params: Params, in_avals: Avals, out_avals: Avals) -> Pure | None:
        dtype = in_avals[0].dtype
        if kinds.is_narrow(dtype):
            return None
        if not params["axes"]:
            return Pure(expr="{0}")
        axes = _axes(params, len(in_avals[0].shape))
        if kinds.is_short(dtype):
            expr = f"{ufunc}.reduce({{0}}.astype(np.float32), {axes}).astype(T)"
        else:
            expr = f"{ufunc}.reduce({{0}}, {axes}, T)"
        return Pure(expr=expr, env={"T": dtype})

    return rule


def _extreme(ufunc: str, initial) -> Rule:
    def rule(params: Params, in_avals: Avals, out_avals: Avals) -> Pure | None:
        dtype = in_avals[0].dtype
        if kinds.is_narrow(dtype) or kinds.is_complex(dtype):
            return None
        if not params["axes"]:
            return Pure(expr="{0}")
        axes = _axes(params, len(in_avals[0].shape))
        if 0 not in in_avals[0].shape:
            return Pure(expr=f"{ufunc}.reduce({{0}}, {axes})")
        expr = f"{ufunc}.reduce({{0}}, {axes}, initial=INITIAL)"
        return Pure(expr=expr, env={"INITIAL": initial(dtype)})

    return rule


def _bitwise(ufunc: str) -> Rule:
    def rule(params: Params, in_avals: Avals, out_avals: Avals) -> Pure | None:
        if kinds.is_narrow(in_avals[0].dtype):
            return None
        if not params["axes"]:
            return Pure(expr="{0}")
        return Pure(
            expr=f"{ufunc}.reduce({{0}}, {_axes(params, len(in_avals[0].shape))})"
        )

    return rule


def _scan(ufunc: str) -> Rule:
    def rule(params: Params, in_avals: Avals, out_avals: Avals) -> Pure | None:
        dtype = in_avals[0].dtype
        if kinds.is_narrow(dtype) or kinds.is_complex(dtype):
            return None
        axis = int(params["axis"])
        back = f"[{':, ' * axis}::-1]" if params["reverse"] else ""
        short = kinds.is_short(dtype)
        operand = f"{{0}}{back}" + (".astype(np.float32)" if short else "")
        wide = np.dtype(np.float32) if short else dtype
        expr = f"{ufunc}.accumulate({operand}, {axis}, WIDE){back}"
        expr += ".astype(T)" if short else ""
        return Pure(expr=expr, env={"WIDE": wide, "T": dtype})

    return rule


def comparable(dtype: np.dtype) -> np.dtype | None:
    """Dtype that NumPy sorts in XLA's order, for one that it may not sort at all."""
    if kinds.is_complex(dtype):
        return None
    if kinds.is_short(dtype) and dtype.name != "float16":
        return np.dtype(np.float32)
    return np.dtype(np.int8) if kinds.is_narrow(dtype) else dtype


def _argument(method: str) -> Rule:
    def rule(params: Params, in_avals: Avals, out_avals: Avals) -> Pure | None:
        dtype = in_avals[0].dtype
        through = comparable(dtype)
        if through is None or len(params["axes"]) != 1:
            return None
        cast = "" if through == dtype else ".astype(THROUGH)"
        env = {"THROUGH": through, "INDEX": out_avals[0].dtype}
        axis = int(params["axes"][0])
        return Pure(expr=f"{{0}}{cast}.{method}({axis}).astype(INDEX)", env=env)

    return rule


def _sorter(axis: int, keys: int, through: list[np.dtype]):
    def order(*operands):
        wide = [
            x.astype(t, copy=False) for x, t in zip(operands, through, strict=False)
        ]
        if keys == 1:
            place = np.argsort(wide[0], axis, kind="stable")
        else:
            place = np.lexsort(wide[::-1], axis)
        out = [np.take_along_axis(x, place, axis) for x in operands]
        return tuple(out) if len(out) > 1 else out[0]

    return order


def _sort(params: Params, in_avals: Avals, out_avals: Avals) -> Pure | None:
    keys = params["num_keys"]
    through = [t for a in in_avals[:keys] if (t := comparable(a.dtype)) is not None]
    if len(through) < keys:
        return None
    fn = _sorter(int(params["dimension"]), keys, through)
    operands = ", ".join(f"{{{i}}}" for i in range(len(in_avals)))
    return Pure(expr=f"sort({operands})", env={"sort": fn}, results=len(in_avals))


RULES: dict[str, Rule] = {
    "reduce_sum": _accumulate("np.add"),
    "reduce_prod": _accumulate("np.multiply"),
    "reduce_max": _extreme("np.maximum", _lowest),
    "reduce_min": _extreme("np.minimum", _highest),
    "reduce_and": _bitwise("np.bitwise_and"),
    "reduce_or": _bitwise("np.bitwise_or"),
    "reduce_xor": _bitwise("np.bitwise_xor"),
    "cumsum": _scan("np.add"),
    "cumprod": _scan("np.multiply"),
    "cummax": _scan("np.maximum"),
    "cummin": _scan("np.minimum"),
    "cumlogsumexp": _scan("np.logaddexp"),
    "argmax": _argument("argmax"),
    "argmin": _argument("argmin"),
    "sort": _sort,
}
for _name in ("sum", "prod", "max", "min"):
    RULES[f"mosaic_gpu_reduce_{_name}"] = RULES[f"reduce_{_name}"]
