"""Generated locators for the common access: one indexer of slices and integers.

The same answer as `places.Plan.locate`, several times faster; it gives up (None) where
the box does not lie inside the buffer, and the general way takes over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.machine.memory import BOX, Place


def locator(steps: Sequence[ir.ViewStep]) -> Callable[..., Place | None] | None:
    """`f(shape, *indices)` for these views of a plain buffer, None if not that simple."""
    views = [s for s in steps if not isinstance(s, (ir.Peer, ir.Multicast))]
    if len(views) != 1 or not isinstance(views[0], ir.Index):
        return None
    dims = views[0].dims
    if not dims or not all(_is_simple(dim) for dim in dims):
        return None
    names = [f"s{d}" for d in range(len(dims))]
    row, index, shape, outside = [f"{BOX}"], [], [], []
    for d, dim in enumerate(dims):
        size, stride = (dim.size, dim.stride) if isinstance(dim, ir.Slice) else (1, 1)
        span = (size - 1) * stride + 1
        row += [f"s{d}", str(size), str(stride)]
        outside.append(f"s{d} < 0 or s{d} + {span} > shape[{d}]")
        if isinstance(dim, ir.Slice):
            index.append(f"slice(s{d}, s{d} + {span}, {stride})")
            shape.append(str(size))
        else:
            index.append(f"s{d}")
    lines = [
        f"def locate(shape, {', '.join(names)}):",
        *(f"    {n} = int({n}) if type({n}) is int32 else scalar({n})" for n in names),
        f"    if {' or '.join(outside)}: return None",
        f"    place = Place(({', '.join(row)}), ({''.join(s + ', ' for s in shape)}))",
        f"    place.index = ({''.join(i + ', ' for i in index)})",
        "    place.fast = True",
        "    return place",
    ]
    scope: dict[str, Any] = {"Place": Place, "scalar": scalar, "int32": np.int32}
    exec("\n".join(lines), scope)
    return scope["locate"]


def scalar(value: Any) -> int:
    """An index as an int; JAX's bool, float and one-element starts are accepted."""
    if type(value) is np.int32 or type(value) is int:
        return int(value)
    return int(value) if np.ndim(value) == 0 else int(np.asarray(value).reshape(-1)[0])


def _is_simple(dim: Any) -> bool:
    if isinstance(dim, ir.Slice):
        return dim.size_operand is None and dim.size > 0
    return isinstance(dim, ir.At)
