"""Sets of elements some of which a buffer does not have, in words: facts for PD101.

Indices are named by their place in the buffer's shape. A place is kept only where the
first dimension alone is left; of the others it is said which dimension they leave, if
the tape shows that.
"""

from __future__ import annotations

import math

import numpy as np

from pallas_debug import ir
from pallas_debug.checks.tapeflow import SHAPING, TapeFlow
from pallas_debug.trace.regions import in_range

LOST = -1  # stands for an index outside whose number was not kept
SHOWN = 3
FILLED = SHAPING | {"lax.broadcast_to"}

Shape = tuple[int, ...]
Indices = list[list[int]]  # of each place, one for each dimension


def words(flat: np.ndarray, shape: Shape, name: str, leaves: str) -> str:
    """Which of the elements do not exist; `leaves` is what they are outside of."""
    outside = flat[~in_range(flat, shape)]
    count = "1 index" if flat.size == 1 else f"{flat.size} indices"
    some = "all" if outside.size == flat.size else f"{outside.size:,}"
    which = "which is" if flat.size == 1 else f"{some} of them"
    return f"`{name}` at {count}, {which} outside {leaves}{_named(outside, shape)}"


def places(outside: np.ndarray, shape: Shape) -> Indices:
    """The places of those whose numbers were kept; the first dimension is too small."""
    known = outside[outside != LOST].astype(np.int64)
    first, rest = np.divmod(known, math.prod(shape[1:]))
    inner = np.unravel_index(rest, shape[1:]) if len(shape) > 1 else ()
    return np.stack([first, *inner], axis=-1).tolist() if known.size else []


def _named(outside: np.ndarray, shape: Shape) -> str:
    found = places(outside, shape) if shape else []
    if not found:
        return ""
    run = _run(np.array(found)) if len(found) == outside.size else ""
    if run:
        return f": {run}"
    shown = [f"[{', '.join(map(str, place))}]" for place in found[:SHOWN]]
    more = ", …" if outside.size > len(shown) else ""
    return f": {', '.join(shown)}{more}"


def _run(found: np.ndarray) -> str:
    """Places one after another along one dimension, as a slice; empty if they are not."""
    steps = np.diff(found, axis=0)
    moving = np.flatnonzero(steps.any(axis=0))
    if len(moving) != 1 or not (steps[:, moving[0]] == 1).all():
        return ""
    inner = [str(number) for number in found[0]]
    inner[moving[0]] = f"{found[0, moving[0]]}:{found[-1, moving[0]] + 1}"
    return f"[{', '.join(inner)}]"


def left_dimension(
    flow: TapeFlow, position: int, access: ir.Access, shape: Shape
) -> int:
    """The one dimension whose index can leave the shape, or -1 if several can."""
    steps = access.steps
    first = steps[0] if len(steps) == 1 else None
    if not isinstance(first, ir.Index) or len(first.dims) != len(shape):
        return -1
    suspects = [
        d
        for d, (dim, size) in enumerate(zip(first.dims, shape, strict=True))
        if not _is_right(flow, position, dim, size)
    ]
    return suspects[0] if len(suspects) == 1 else -1


def _is_right(
    flow: TapeFlow, position: int, dim: ir.Slice | ir.At | ir.Gather, size: int
) -> bool:
    """Whether the tape shows that an index stays inside a dimension."""
    is_slice = isinstance(dim, ir.Slice)
    low = _constant(flow, position, dim.start if is_slice else dim.index)
    if low is None or (is_slice and dim.size_operand is not None):
        return False
    high = low.max() + ((dim.size - 1) * dim.stride if is_slice else 0)
    return bool(low.min() >= 0 and high < size)


def _constant(flow: TapeFlow, position: int, operand: ir.Operand) -> np.ndarray | None:
    """The values of an operand that the tape holds, in any shape."""
    if isinstance(operand, ir.Const):
        value = np.asarray(operand.value)
        return value if value.size and value.dtype.kind in "iu" else None
    definers = flow.definers(position, operand.number)
    instr = flow.tape[definers[0]] if len(definers) == 1 else None
    if instr is None or instr.op not in FILLED or len(instr.ins) != 1:
        return None
    return _constant(flow, definers[0], instr.ins[0])
