"""Primitives that move elements and compute nothing: views wherever NumPy has one."""

import numpy as np

from pallas_debug.ir.pure import Pure
from pallas_debug.jaxlink.evaluate import kinds
from pallas_debug.jaxlink.evaluate.kinds import Avals, Params, Rule

IDENTITIES = kinds.names(
    "copy stop_gradient optimization_barrier multiple_of max_contiguous layout_cast "
    "name sharding_constraint reshard pvary pcast random_clone"
)
"""Names of primitives whose results are their operands."""


def _identity(params: Params, in_avals: Avals, out_avals: Avals) -> Pure:
    n = len(out_avals)
    if n == 1:
        return Pure(expr="{0}")
    return Pure(expr=_tuple(f"{{{i}}}" for i in range(n)), results=n)


def _tuple(parts) -> str:
    return "(" + "".join(f"{part}, " for part in parts).rstrip() + ")"


def reshaped(expr: str, shape: tuple[int, ...], rank: int) -> str:
    """Expression of a reshape from an array of `rank`; rank 0 yields a scalar."""
    if shape != ():
        return f"{expr}.reshape({tuple(map(int, shape))!r})"
    return f"{expr}[{', '.join(['0'] * rank)}]" if rank else expr


def _reshape(params: Params, in_avals: Avals, out_avals: Avals) -> Pure | None:
    if params.get("dimensions") is not None:
        return None
    if in_avals[0].shape == out_avals[0].shape:
        return Pure(expr="{0}")
    return Pure(expr=reshaped("{0}", out_avals[0].shape, len(in_avals[0].shape)))


def _full(shape: tuple[int, ...], dtype: np.dtype):
    def full(x):
        out = np.empty(shape, dtype)
        out.fill(x)
        return out

    return full


def _spread(shape: tuple[int, ...], dtype: np.dtype):
    def spread(x):
        out = np.empty(shape, dtype)
        out[...] = x
        return out

    return spread


def _broadcast_in_dim(params: Params, in_avals: Avals, out_avals: Avals) -> Pure:
    aval, shape = in_avals[0], tuple(map(int, out_avals[0].shape))
    if aval.shape == shape:
        return Pure(expr="{0}")
    if aval.shape == ():
        return Pure(expr="full({0})", env={"full": _full(shape, aval.dtype)})
    kept = dict(zip(params["broadcast_dimensions"], aval.shape, strict=True))
    aligned = tuple(int(kept.get(axis, 1)) for axis in range(len(shape)))
    view = reshaped("{0}", aligned, len(aval.shape))
    if aligned == shape:
        return Pure(expr=view)
    leading = len(shape) - len(aval.shape)
    if aligned[leading:] == aval.shape and set(aligned[:leading]) <= {1}:
        view = "{0}"
    return Pure(expr=f"spread({view})", env={"spread": _spread(shape, aval.dtype)})


def _broadcast_to(params: Params, in_avals: Avals, out_avals: Avals) -> Pure:
    shape, rank = out_avals[0].shape, len(in_avals[0].shape)
    axes = tuple(range(len(shape) - rank, len(shape)))
    return _broadcast_in_dim({"broadcast_dimensions": axes}, in_avals, out_avals)


def _transpose(params: Params, in_avals: Avals, out_avals: Avals) -> Pure:
    order = tuple(map(int, params["permutation"]))
    if order == tuple(range(len(order))):
        return Pure(expr="{0}")
    return Pure(expr=f"{{0}}.transpose({order!r})")


def _concatenate(params: Params, in_avals: Avals, out_avals: Avals) -> Pure:
    parts = _tuple(f"{{{i}}}" for i in range(len(in_avals)))
    return Pure(expr=f"np.concatenate({parts}, {int(params['dimension'])})")


def _stack(params: Params, in_avals: Avals, out_avals: Avals) -> Pure:
    parts = _tuple(f"{{{i}}}" for i in range(len(in_avals)))
    return Pure(expr=f"np.stack({parts}, {int(params['axis'])})")


def _pad(params: Params, in_avals: Avals, out_avals: Avals) -> Pure:
    shape, dtype = out_avals[0].shape, out_avals[0].dtype
    if shape == ():
        return Pure(expr="{0}")
    targets, sources = [], []
    for size, full, (low, _, interior) in zip(
        in_avals[0].shape, shape, params["padding_config"], strict=True
    ):
        step = interior + 1
        first = max(0, -(low // step))
        stop = max(first, min(size, -((low - full) // step)))
        sources.append(slice(first, stop))
        start = low + first * step
        targets.append(slice(start, start + (stop - first) * step, step))
    into, of = tuple(targets), tuple(sources)

    def pad(x, value):
        out = np.empty(shape, dtype)
        out.fill(value)
        out[into] = x[of]
        return out

    return Pure(expr="pad({0}, {1})", env={"pad": pad})


def _slice(params: Params, in_avals: Avals, out_avals: Avals) -> Pure:
    starts, limits = params["start_indices"], params["limit_indices"]
    strides = params["strides"] or (1,) * len(starts)
    if not starts:
        return Pure(expr="{0}")
    parts = []
    for start, limit, stride in zip(starts, limits, strides, strict=True):
        step = f":{int(stride)}" if stride != 1 else ""
        parts.append(f"{int(start)}:{int(limit)}{step}")
    return Pure(expr=f"{{0}}[{', '.join(parts)}]")


def _split(params: Params, in_avals: Avals, out_avals: Avals) -> Pure:
    axis, start, parts = int(params["axis"]), 0, []
    for size in map(int, params["sizes"]):
        before = ":, " * axis
        parts.append(f"{{0}}[{before}{start}:{start + size}]")
        start += size
    if len(parts) == 1:
        return Pure(expr=parts[0])
    return Pure(expr=_tuple(parts), results=len(parts))


def _unstack(params: Params, in_avals: Avals, out_avals: Avals) -> Pure:
    before = ":, " * int(params["axis"])
    parts = [f"{{0}}[{before}{i}]" for i in range(len(out_avals))]
    if len(parts) == 1:
        return Pure(expr=parts[0])
    return Pure(expr=_tuple(parts), results=len(parts))


def _rev(params: Params, in_avals: Avals, out_avals: Avals) -> Pure:
    axes = {int(axis) for axis in params["dimensions"]}
    if not axes:
        return Pure(expr="{0}")
    parts = ("::-1" if i in axes else ":" for i in range(len(in_avals[0].shape)))
    return Pure(expr=f"{{0}}[{', '.join(parts)}]")


def _tile(params: Params, in_avals: Avals, out_avals: Avals) -> Pure:
    sizes, reps = in_avals[0].shape, tuple(map(int, params["reps"]))
    if not sizes or set(reps) == {1}:
        return Pure(expr="{0}")
    shape = tuple(map(int, out_avals[0].shape))
    paired = tuple(n for pair in zip(reps, sizes, strict=True) for n in pair)
    aligned = tuple(n for size in sizes for n in (1, size))
    env = {"spread": _spread(paired, in_avals[0].dtype)}
    return Pure(expr=f"spread({{0}}.reshape({aligned!r})).reshape({shape!r})", env=env)


def _constant(value: np.ndarray) -> Pure:
    value.flags.writeable = False
    return Pure(expr="constant", env={"constant": value[()]})


def _iota(params: Params, in_avals: Avals, out_avals: Avals) -> Pure:
    shape, axis = out_avals[0].shape, params["dimension"]
    count = np.arange(shape[axis]).astype(out_avals[0].dtype)
    aligned = count.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return _constant(np.broadcast_to(aligned, shape).copy())


def _zeros(params: Params, in_avals: Avals, out_avals: Avals) -> Pure:
    return _constant(np.zeros(out_avals[0].shape, out_avals[0].dtype))


RULES: dict[str, Rule] = {
    **dict.fromkeys(IDENTITIES, _identity),
    "reshape": _reshape,
    "squeeze": lambda params, in_avals, out_avals: _reshape({}, in_avals, out_avals),
    "expand_dims": lambda params, *avals: _reshape({}, *avals),
    "broadcast_in_dim": _broadcast_in_dim,
    "broadcast_to": _broadcast_to,
    "transpose": _transpose,
    "concatenate": _concatenate,
    "stack": _stack,
    "pad": _pad,
    "slice": _slice,
    "split": _split,
    "unstack": _unstack,
    "rev": _rev,
    "tile": _tile,
    "iota": _iota,
    "empty": _zeros,
    "empty2": _zeros,
    "zeros_like": _zeros,
}
