"""Two warpgroups that wait for each other.

The cell never comes back. A producer fills the two slots of a ring and signals `full`;
the consumer reads a slot and must signal `free`, so that the producer may fill it again.
It forgets to, and after the second tile the producer waits for `free`, the consumer for
`full`, and nobody is left to signal either. The way out is the missing
`plgpu.barrier_arrive(free.at[slot])` after the consumer's last use of the slot.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pallas_debug.gallery.entry import Case, Entry

TILE, TILES, SLOTS = 128, 4, 2


def build(fixed: bool) -> Case:
    """Doubles four tiles; one warpgroup loads, the other computes and stores."""
    import jax
    import jax.numpy as jnp
    from jax.experimental.pallas import mosaic_gpu as plgpu

    launch = plgpu.kernel(
        _ring(fixed),
        out_type=jax.ShapeDtypeStruct((TILES * TILE,), jnp.float32),
        num_threads=2,
        thread_name="warpgroup",
        scratch_types=[
            plgpu.SMEM((SLOTS, TILE), jnp.float32),
            plgpu.Barrier(num_barriers=SLOTS),
            plgpu.Barrier(num_barriers=SLOTS),
        ],
    )
    return launch, (jnp.arange(TILES * TILE, dtype=jnp.float32),)


def _ring(fixed: bool) -> Any:
    """The kernel, of both warpgroups."""
    from jax import lax
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import mosaic_gpu as plgpu

    def ring(x_ref: Any, o_ref: Any, tiles: Any, full: Any, free: Any) -> None:
        who = lax.axis_index("warpgroup")

        @pl.when(who == 0)
        def _produce() -> None:
            @pl.loop(0, TILES)
            def _load(step: Any) -> None:
                slot = lax.rem(step, SLOTS)

                @pl.when(step >= SLOTS)
                def _until_free() -> None:
                    plgpu.barrier_wait(free.at[slot])

                source = x_ref.at[pl.ds(step * TILE, TILE)]
                plgpu.copy_gmem_to_smem(source, tiles.at[slot], full.at[slot])

        @pl.when(who == 1)
        def _consume() -> None:
            @pl.loop(0, TILES)
            def _compute(step: Any) -> None:
                slot = lax.rem(step, SLOTS)
                plgpu.barrier_wait(full.at[slot])
                o_ref[pl.ds(step * TILE, TILE)] = tiles[slot] * 2
                if fixed:
                    plgpu.barrier_arrive(free.at[slot])

    return ring


def reference(x: Any) -> Any:
    """Twice the input."""
    return np.asarray(x) * 2


ENTRY = Entry(
    name="ring_deadlock",
    title="A producer and a consumer that wait for each other",
    level=3,
    backend="mosaic_gpu",
    codes=("PD210",),
    build=build,
    reference=reference,
)
