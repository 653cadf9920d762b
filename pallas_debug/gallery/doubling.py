"""What several kernels of the gallery compute, and the launch that two of them share.

The kernels stand in their own modules, where their stories are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pallas_debug.gallery.entry import Case

TILE, BLOCKS = 128, 4


def case(double: Callable[..., None]) -> Case:
    """A launch of a kernel that doubles a vector, each block a tile of shared memory.

    `double` takes the references of input, output, tile and barrier.
    """
    import jax
    import jax.numpy as jnp
    from jax.experimental.pallas import mosaic_gpu as plgpu

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
