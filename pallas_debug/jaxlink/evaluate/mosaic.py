"""Value operations that Pallas adds for TPUs: sublane bitcasts, rolls and packing."""

import numpy as np

from pallas_debug.ir.pure import Pure
from pallas_debug.jaxlink.evaluate import kinds
from pallas_debug.jaxlink.evaluate.kinds import Avals, Params, Rule


def _bitcast(params: Params, in_avals: Avals, out_avals: Avals) -> Pure | None:
    """Bitcast that scales one dimension, the second minor one unless told."""
    source, target = in_avals[0].dtype, out_avals[0].dtype
    if any(kinds.is_bool(d) or kinds.bits(d) < 8 for d in (source, target)):
        return None
    if source.itemsize == target.itemsize:
        return Pure(expr="{0}.view(T)", env={"T": target})
    rank = len(in_avals[0].shape)
    if params.get("dim", rank - 2) % rank == rank - 1:
        return Pure(expr="np.ascontiguousarray({0}).view(T)", env={"T": target})
    expr = "np.ascontiguousarray({0}.swapaxes(-1, -2)).view(T).swapaxes(-1, -2)"
    return Pure(expr=expr, env={"T": target})


def _roll(params: Params, in_avals: Avals, out_avals: Avals) -> Pure:
    axis, stride = params["axis"], params["stride"]
    if stride is None:
        return Pure(expr=f"np.roll({{0}}, int({{1}}), {int(axis)})")
    across = params["stride_axis"]
    count = in_avals[0].shape[across]

    def roll(x, shift):
        rows = np.split(x, count, across)
        rolled = [np.roll(r, int(shift) + i * stride, axis) for i, r in enumerate(rows)]
        return np.concatenate(rolled, across)

    return Pure(expr="roll({0}, {1})", env={"roll": roll})


def _pack(params: Params, in_avals: Avals, out_avals: Avals) -> Pure:
    """Interleaves the low bits of several words, the first operand lowest."""
    packed, word = np.dtype(params["packed_dtype"]), out_avals[0].dtype
    width = kinds.bits(packed)
    mask = word.type((1 << width) - 1)
    rounds = kinds.is_float(packed)

    def pack(*words):
        out = np.zeros_like(words[0], dtype=word)
        for i, x in enumerate(words):
            low = x.astype(packed).view(np.uint16) if rounds else x.view(word)
            out = out | ((low.astype(word) & mask) << word.type(i * width))
        return out

    operands = ", ".join(f"{{{i}}}" for i in range(len(in_avals)))
    return Pure(expr=f"pack({operands})", env={"pack": pack})


def _unpack(params: Params, in_avals: Avals, out_avals: Avals) -> Pure:
    packed, target = np.dtype(params["packed_dtype"]), out_avals[0].dtype
    width, word = kinds.bits(packed), kinds.unsigned(in_avals[0].dtype)
    shift = word.type(params["index"] * width)
    mask = word.type((1 << width) - 1)
    above = word.type(word.itemsize * 8 - width)
    signed = kinds.signed(word)

    def unpack(x):
        low = (x.view(word) >> shift) & mask
        if kinds.is_float(packed):
            return low.astype(np.uint16).view(packed).astype(target)
        if kinds.is_signed(packed):
            return ((low << above).view(signed) >> above.view(signed)).astype(target)
        return low.astype(target)

    return Pure(expr="unpack({0})", env={"unpack": unpack})


RULES: dict[str, Rule] = {
    "bitcast": _bitcast,
    "roll": _roll,
    "pack_elementwise": _pack,
    "unpack_elementwise": _unpack,
}
