"""A slice that JAX's GPU interpreter refuses, although the kernel is right.

`jax` answers with a bare `AssertionError` from its own inside. The start of the slice
comes from a comparison, so it is a bool; Pallas lowers that for the device, its
interpreter does not take it. Here the run goes on past the refusal, and the finding says
which line it was. The way out is an integer start: `.astype(jnp.int32)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pallas_debug.gallery.entry import Case, Entry

TILE, BLOCKS = 128, 2


def build(fixed: bool) -> Case:
    """Each block copies a window; the second block's begins one element later."""
    import jax
    import jax.numpy as jnp
    from jax import lax
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import mosaic_gpu as plgpu

    def shift(x_ref: Any, o_ref: Any) -> None:
        block = lax.axis_index("block")
        start = block > 0
        if fixed:
            start = start.astype(jnp.int32)
        o_ref[pl.ds(block * TILE, TILE)] = x_ref[pl.ds(start, TILE)]

    launch = plgpu.kernel(
        shift,
        out_type=jax.ShapeDtypeStruct((BLOCKS * TILE,), jnp.float32),
        grid=(BLOCKS,),
        grid_names=("block",),
    )
    return launch, (jnp.arange(BLOCKS * TILE, dtype=jnp.float32),)


def reference(x: Any) -> Any:
    """The first window, then the one that begins one element later."""
    x = np.asarray(x)
    return np.concatenate([x[:TILE], x[1 : TILE + 1]])


ENTRY = Entry(
    name="refused_slice",
    title="A right kernel that JAX's interpreter refuses",
    level=1,
    backend="mosaic_gpu",
    codes=("PD303",),
    build=build,
    reference=reference,
)
