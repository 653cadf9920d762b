"""Shared memory that the copy engine does not see yet.

Now and then the device writes the old tile to the output, while every interpreter shows
the right one. Ordinary stores to shared memory and the asynchronous copy engine are two
proxies of one memory, and the engine may read before the stores are visible to it. The
way out is `plgpu.commit_smem()` between the store and `copy_smem_to_gmem`.
"""

from __future__ import annotations

from typing import Any

from pallas_debug.gallery import doubling
from pallas_debug.gallery.doubling import TILE
from pallas_debug.gallery.entry import Case, Entry


def build(fixed: bool) -> Case:
    """Copies a tile in, doubles it in place, and copies it out."""
    from jax import lax
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import mosaic_gpu as plgpu

    def double(x_ref: Any, o_ref: Any, tile: Any, barrier: Any) -> None:
        window = pl.ds(lax.axis_index("block") * TILE, TILE)
        plgpu.copy_gmem_to_smem(x_ref.at[window], tile, barrier)
        plgpu.barrier_wait(barrier)
        tile[...] = tile[...] * 2
        if fixed:
            plgpu.commit_smem()
        plgpu.copy_smem_to_gmem(tile, o_ref.at[window])
        plgpu.wait_smem_to_gmem(0)

    return doubling.case(double)


ENTRY = Entry(
    name="missing_commit",
    title="A store to shared memory that the copy engine may not see",
    level=2,
    backend="mosaic_gpu",
    codes=("PD203",),
    build=build,
    reference=doubling.reference,
)
