"""Shared memory that the copy engine does not see yet.

Now and then the device writes the old tile to the output, while every interpreter shows
the right one. Ordinary stores to shared memory and the asynchronous copy engine are two
proxies of one memory, and the engine may read before the stores are visible to it. The
way out is `plgpu.commit_smem()` between the store and `copy_smem_to_gmem`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pallas_debug.gallery.entry import Case, Entry

TILE, BLOCKS = 128, 4


def build(fixed: bool) -> Case:
    """Copies a tile in, doubles it in place, and copies it out."""
    import jax
    import jax.numpy as jnp
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

    launch = plgpu.kernel(
        double,
        out_type=jax.ShapeDtypeStruct((BLOCKS * TILE,), jnp.float32),
        grid=(BLOCKS,),
        grid_names=("block",),
        scratch_types=[plgpu.SMEM((TILE,), jnp.float32), plgpu.Barrier()],
    )
    return launch, (jnp.arange(BLOCKS * TILE, dtype=jnp.float32),)


def reference(x: Any) -> Any:
    """Twice the input."""
    return np.asarray(x) * 2


ENTRY = Entry(
    name="missing_commit",
    title="A store to shared memory that the copy engine may not see",
    level=2,
    backend="mosaic_gpu",
    codes=("PD203",),
    build=build,
    reference=reference,
)
