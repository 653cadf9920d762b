"""An index map that goes one block too far.

The last tile of the output is wrong, without a word from JAX: its interpreter clamps the
block's start and quietly reads the tile before. The grid has one point for each tile,
and the neighbor of the last tile does not exist. The way out is to clamp the index
oneself, and to know what the border should be.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pallas_debug.gallery.entry import Case, Entry

TILE, LANES, TILES = 8, 128, 4


def build(fixed: bool) -> Case:
    """Adds to each tile the one after it; the last one is added to itself."""
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl

    def add_next(x_ref: Any, next_ref: Any, o_ref: Any) -> None:
        o_ref[...] = x_ref[...] + next_ref[...]

    def following(i: Any) -> tuple[Any, int]:
        return (jnp.minimum(i + 1, TILES - 1) if fixed else i + 1), 0

    here = pl.BlockSpec((TILE, LANES), lambda i: (i, 0))
    launch = pl.pallas_call(
        add_next,
        out_shape=jax.ShapeDtypeStruct((TILES * TILE, LANES), jnp.float32),
        grid=(TILES,),
        in_specs=[here, pl.BlockSpec((TILE, LANES), following)],
        out_specs=here,
    )
    x = jnp.arange(TILES * TILE * LANES, dtype=jnp.float32).reshape(-1, LANES)
    return (lambda x: launch(x, x)), (x,)


def reference(x: Any) -> Any:
    """Each tile plus its successor, the last one twice."""
    tiles = np.asarray(x).reshape(TILES, TILE, LANES)
    return (tiles + tiles[[1, 2, 3, 3]]).reshape(np.shape(x))


ENTRY = Entry(
    name="past_the_end",
    title="The last block's neighbor does not exist",
    level=1,
    backend="generic",
    codes=("PD101",),
    build=build,
    reference=reference,
)
