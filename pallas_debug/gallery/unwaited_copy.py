"""A copy that nobody waits for.

The output is NaN on a laptop, and right on most days on the device: the block reads its
tile while the copy engine may still be filling it. `copy_gmem_to_smem` only starts a
copy; the barrier says when the bytes are there. The way out is one line:
`plgpu.barrier_wait(barrier)` before the first read.
"""

from __future__ import annotations

from typing import Any

from pallas_debug.gallery import doubling
from pallas_debug.gallery.doubling import TILE
from pallas_debug.gallery.entry import Case, Entry


def build(fixed: bool) -> Case:
    """Doubles a vector tile by tile, each tile through shared memory."""
    from jax import lax
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import mosaic_gpu as plgpu

    def double(x_ref: Any, o_ref: Any, tile: Any, barrier: Any) -> None:
        window = pl.ds(lax.axis_index("block") * TILE, TILE)
        plgpu.copy_gmem_to_smem(x_ref.at[window], tile, barrier)
        if fixed:
            plgpu.barrier_wait(barrier)
        o_ref[window] = tile[...] * 2

    return doubling.case(double)


ENTRY = Entry(
    name="unwaited_copy",
    title="A tile is read before its copy has arrived",
    level=1,
    backend="mosaic_gpu",
    codes=("PD102",),
    build=build,
    reference=doubling.reference,
)
