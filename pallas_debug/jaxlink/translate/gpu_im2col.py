"""Windows of an image as the rows of a matrix: what a copy reads of `im2col_ref`."""

from __future__ import annotations

from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.errors import UnsupportedForm
from pallas_debug.jaxlink import refs
from pallas_debug.jaxlink.lowering import Lowering
from pallas_debug.jaxlink.translate.gpu_operands import Given, Operands, Viewed


def views(lw: Lowering, operands: Operands, reference: Given, tree: Any) -> Viewed:
    """As `Operands.views`; an im2col view becomes coordinates for each row."""
    transforms = tree.unflatten([None] * tree.num_leaves)
    first = transforms[0] if transforms else None
    if type(first).__name__ != "Im2ColTransform":
        return operands.views(reference, tree)
    leaves = [operands.take() for _ in range(tree.num_leaves)]
    given = [[leaf.operand for leaf in leaves], [leaf.aval for leaf in leaves]]
    window, *rest = refs.unflatten(tree, *given)
    if len(rest) != 1:
        raise UnsupportedForm(
            op="",
            form="an im2col view that is not indexed once",
            way="index `im2col_ref(…)` directly, once",
        )
    rows, *offsets, channels = (refs.dimension(i) for i in rest[0].indices)
    assert isinstance(rows, ir.Slice), "JAX takes the rows by a slice"
    spatial = window.spatial_out_shape(reference.aval.shape)
    lows = [low for low, _ in window.window_start_bounds]
    where = _coordinates(rows.size, spatial, lows)
    starts = [rows.start, *(o.index for o in offsets if not isinstance(o, ir.Slice))]
    names = ", ".join(f"{{{i}}}" for i in range(len(starts)))
    count = len(spatial) + 1
    pure = ir.Pure(expr=f"where({names})", env={"where": where}, results=count)
    found = lw.emit("ir.compute", starts, results=count, pure=pure)
    dims = (*(ir.Gather(index=axis) for axis in found), channels)
    access = ir.Access(ref=reference.operand, steps=(ir.Index(dims=dims),))
    return Viewed(access, reference.aval)


def _coordinates(count: int, spatial: tuple[int, ...], lows: list[int]) -> Any:
    """A function of the first row and the pixel within the window."""

    def where(start: Any, *offsets: Any) -> tuple[np.ndarray, ...]:
        flat = int(start) + np.arange(count)
        axes = []
        for size, low, offset in zip(
            spatial[::-1], lows[::-1], offsets[::-1], strict=True
        ):
            axes.append(flat % size + low + int(offset))
            flat = flat // size
        return (flat, *axes[::-1])

    return where
