"""A buffer that is overwritten while a DMA still reads it.

The second half of the output holds what belongs to nobody. Each step computes a tile
into the same VMEM buffer and starts a DMA to HBM, and only the last DMA is awaited. The
next step's store may hit the buffer before the DMA has read it. The way out is to wait
for the copy of the step before, or to use two buffers in turn.
"""

from __future__ import annotations

from typing import Any

from pallas_debug.gallery import doubling
from pallas_debug.gallery.entry import Case, Entry

TILE, LANES, STEPS = 8, 128, 4


def build(fixed: bool) -> Case:
    """Doubles four tiles in a loop, each written out by a DMA of its own."""
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    def double(x_ref: Any, o_ref: Any, tile: Any, done: Any) -> None:
        def copy(step: Any) -> Any:
            target = o_ref.at[pl.ds(step * TILE, TILE)]
            return pltpu.make_async_copy(tile, target, done)

        @pl.loop(0, STEPS)
        def _step(step: Any) -> None:
            tile[...] = x_ref[pl.ds(step * TILE, TILE)] * 2
            copy(step).start()
            if fixed:
                copy(step).wait()

        if not fixed:
            for step in range(STEPS):
                copy(step).wait()

    launch = pl.pallas_call(
        double,
        out_shape=jax.ShapeDtypeStruct((STEPS * TILE, LANES), jnp.float32),
        in_specs=[pl.BlockSpec(memory_space=pltpu.VMEM)],
        out_specs=pl.BlockSpec(memory_space=pl.ANY),
        scratch_shapes=[
            pltpu.VMEM((TILE, LANES), jnp.float32),
            pltpu.SemaphoreType.DMA,
        ],
    )
    size = STEPS * TILE * LANES
    return launch, (jnp.arange(size, dtype=jnp.float32).reshape(-1, LANES),)


ENTRY = Entry(
    name="early_dma",
    title="A tile is overwritten while a DMA still reads it",
    level=2,
    backend="tpu",
    codes=("PD201",),
    build=build,
    reference=doubling.reference,
)
