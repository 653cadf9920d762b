"""A slot of a ring that is filled again while it is still being read.

The output is right here and wrong on a busy device. The consumer says `free` as soon as
the copy has arrived, before it has read the slot; the producer takes it at its word and
lets the next copy run over the data. Nothing orders the read before that copy. The way
out is to arrive after the last read.
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
                if not fixed:
                    plgpu.barrier_arrive(free.at[slot])
                tile = tiles[slot]
                if fixed:
                    plgpu.barrier_arrive(free.at[slot])
                o_ref[pl.ds(step * TILE, TILE)] = tile * 2

    return ring


def reference(x: Any) -> Any:
    """Twice the input."""
    return np.asarray(x) * 2


ENTRY = Entry(
    name="ring_race",
    title="A slot of a ring is given back before it is read",
    level=3,
    backend="mosaic_gpu",
    codes=("PD201",),
    build=build,
    reference=reference,
)
