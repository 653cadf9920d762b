"""An all-gather around a ring of four devices, with a ring of two slots on each.

Two kernels of the gallery are this one with a fault: one does not wait until the
neighbors are there, the other not until a slot is free again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pallas_debug.gallery.entry import Case

TILE, LANES, DEVICES, AXIS = 8, 128, 4, "ring"


def case(*, meets: bool, asks: bool) -> Case:
    """Each device passes on what it got last, until all have everything.

    `meets`: the neighbors wait for each other before the first copy. `asks`: a device
    waits until its neighbor has passed on a slot before it fills it again.
    """
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu
    from jax.sharding import AbstractMesh, AxisType, PartitionSpec

    launch = pl.pallas_call(
        _gather(meets, asks),
        out_shape=jax.ShapeDtypeStruct((DEVICES, TILE, LANES), jnp.float32),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec(memory_space=pl.ANY),
        scratch_shapes=[
            pltpu.VMEM((2, TILE, LANES), jnp.float32),
            pltpu.SemaphoreType.DMA,
            pltpu.SemaphoreType.DMA,
            pltpu.SemaphoreType.REGULAR,
        ],
        compiler_params=pltpu.CompilerParams(collective_id=0),
    )
    mesh: Any = AbstractMesh((DEVICES,), (AXIS,), axis_types=(AxisType.Auto,))
    if jax.device_count() >= DEVICES:
        mesh = jax.make_mesh((DEVICES,), (AXIS,), axis_types=(AxisType.Auto,))
    spec = PartitionSpec(AXIS)
    gather = jax.shard_map(
        launch, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False
    )
    size = DEVICES * TILE * LANES
    return gather, (jnp.arange(size, dtype=jnp.float32).reshape(-1, LANES),)


def _gather(meets: bool, asks: bool) -> Any:
    """The kernel of each device."""
    from jax import lax
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    def gather(
        x_ref: Any, o_ref: Any, slots: Any, sent: Any, received: Any, free: Any
    ) -> None:
        me = lax.axis_index(AXIS)
        left = lax.rem(me + DEVICES - 1, DEVICES)
        right = lax.rem(me + 1, DEVICES)
        if meets:
            ready = pltpu.get_barrier_semaphore()
            for neighbor in (left, right):
                pl.semaphore_signal(ready, device_id={AXIS: neighbor})
            pl.semaphore_wait(ready, 2)
        pltpu.sync_copy(x_ref, slots.at[0])
        pltpu.sync_copy(x_ref, o_ref.at[me])
        for step in range(DEVICES - 1):
            here, there = step % 2, (step + 1) % 2
            if asks and step > 0:
                pl.semaphore_wait(free)
            copy = pltpu.make_async_remote_copy(
                slots.at[here],
                slots.at[there],
                sent,
                received,
                device_id={AXIS: right},
            )
            copy.start()
            copy.wait()
            if asks and step < DEVICES - 2:
                pl.semaphore_signal(free, device_id={AXIS: left})
            owner = lax.rem(me + DEVICES - 1 - step, DEVICES)
            pltpu.sync_copy(slots.at[there], o_ref.at[owner])

    return gather


def reference(x: Any) -> Any:
    """The whole input, on each device."""
    return np.tile(np.asarray(x).reshape(-1, TILE, LANES), (DEVICES, 1, 1))
