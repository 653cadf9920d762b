"""A producer and a consumer with a ring of two slots between them.

Two kernels of the gallery are this one with a fault: they differ in when the consumer
gives a slot back.
"""

from __future__ import annotations

from typing import Any

from pallas_debug.gallery.entry import Case

TILE, TILES, SLOTS = 128, 4, 2


def case(given_back: str) -> Case:
    """Doubles four tiles; one warpgroup loads, the other computes and stores.

    `given_back` says when the consumer arrives at `free`: `after` its last use of the
    slot, as is right, `before` it, or `never`.
    """
    import jax
    import jax.numpy as jnp
    from jax.experimental.pallas import mosaic_gpu as plgpu

    launch = plgpu.kernel(
        _ring(given_back),
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


def _ring(given_back: str) -> Any:
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
                if given_back == "before":
                    plgpu.barrier_arrive(free.at[slot])
                tile = tiles[slot]
                if given_back == "after":
                    plgpu.barrier_arrive(free.at[slot])
                o_ref[pl.ds(step * TILE, TILE)] = tile * 2

    return ring
