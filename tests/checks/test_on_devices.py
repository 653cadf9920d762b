"""Findings about several devices of a mesh say which of them they are about."""

import jax
import jax.numpy as jnp
import pytest
from helpers import only
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import AbstractMesh, AxisType, PartitionSpec

import pallas_debug as pldb

ANY = pl.BlockSpec(memory_space=pl.ANY)


def spread(body, scratch, grid=()):
    """A kernel on each of two devices, which meet first."""

    def met(x, o, *scratch):
        other = 1 - lax.axis_index("x")
        ready = pltpu.get_barrier_semaphore()
        pl.semaphore_signal(ready, 1, device_id={"x": other})
        pl.semaphore_wait(ready, 1)
        body(x, o, *scratch)

    call = pl.pallas_call(
        met,
        grid=grid,
        in_specs=[ANY],
        out_specs=ANY,
        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
        scratch_shapes=scratch,
        compiler_params=pltpu.CompilerParams(collective_id=0),
    )
    mesh = AbstractMesh((2,), ("x",), axis_types=(AxisType.Auto,))
    spec = PartitionSpec("x")
    fn = jax.shard_map(call, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)
    return pldb.check(fn, jnp.ones((16, 128)), select="PD22")


def signalled(units, grid=()):
    """Device 0 signals so many units to device 1, which waits for one."""

    def body(x, o, sems):
        me = lax.axis_index("x")

        @pl.when(me == 0)
        def _():
            pl.semaphore_signal(sems.at[1, 0], units, device_id={"x": 1})

        @pl.when(me == 1)
        def _():
            pl.semaphore_wait(sems.at[1, 0], 1)

    return spread(body, [pltpu.SemaphoreType.REGULAR((2, 2))], grid)


@pytest.mark.parametrize(
    ("grid", "where"),
    [
        ((), "; signalled on device 0"),
        ((2,), "; signalled in block (1,) on device 0"),
    ],
)
def test_units_left_are_told_of_the_device_that_has_them(grid, where):
    left = only(signalled(2, grid), "PD220")
    assert "semaphore `sems`[1, 0] on device 1 ends with" in left.message
    assert left.message.endswith(where)
    assert not signalled(1, grid).findings


def copied(waits):
    def body(x, o, sem):
        copy = pltpu.make_async_copy(x, o, sem)
        copy.start()
        if waits:
            copy.wait()

    return spread(body, [pltpu.SemaphoreType.DMA])


def test_copies_left_are_told_of_their_device():
    left = only(copied(waits=False), "PD221")
    assert "semaphore `sem` on device 1, " in left.message
    assert left.message.endswith("; first on device 1, 2 times on 2 devices")
    assert not copied(waits=True).findings
