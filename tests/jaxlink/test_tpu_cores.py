"""Kernels on several TensorCores: they run together and reach each other."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jaxlink.differential import cores, floats, same, traced

DMA = pltpu.SemaphoreType.DMA
REGULAR = pltpu.SemaphoreType.REGULAR


def on_cores(body, x, count=2, scratch=()):
    """The body on a mesh of cores, with an output like its input."""
    return pl.kernel(
        body,
        out_type=jax.ShapeDtypeStruct(x.shape, x.dtype),
        mesh=cores(count),
        scratch_types=list(scratch),
    )


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("policy", ["round-robin", "random"])
def test_a_core_waits_for_the_other(first, policy):
    def body(x_ref, o_ref, sem):
        core = jax.lax.axis_index("core")

        @pl.when(core != first)
        def _():
            pl.semaphore_wait(sem, 1)

        pltpu.sync_copy(x_ref.at[core], o_ref.at[0])

        @pl.when(core == first)
        def _():
            pl.semaphore_signal(sem, 1, core_index=1 - first)

    x = floats(2, 8, 128)
    trace = traced(on_cores(body, x, scratch=[REGULAR]), x, policy=policy, seed=1)
    same(trace.outputs[0], x[1 - first])


def test_all_cores_meet_at_a_barrier():
    def body(x_ref, o_ref, vmem):
        core = jax.lax.axis_index("core")

        def meet(sem):
            for other in range(3):
                pl.semaphore_signal(sem, 1, device_id={"core": other})
            pl.semaphore_wait(sem, 3)

        pltpu.sync_copy(x_ref.at[core], vmem)
        pltpu.sync_copy(vmem, o_ref.at[core])
        pl.run_scoped(meet, REGULAR)
        pltpu.sync_copy(o_ref.at[(core + 1) % 3], vmem)
        pl.run_scoped(meet, REGULAR)
        pltpu.sync_copy(vmem, o_ref.at[core])

    x = floats(3, 8, 128)
    kernel = on_cores(body, x, 3, [pltpu.VMEM((8, 128), jnp.float32)])
    for seed in range(4):
        trace = traced(kernel, x, policy="random", seed=seed)
        same(trace.outputs, np.roll(x, -1, 0))


def test_a_copy_into_the_other_cores_memory_signals_there():
    def body(x_ref, o_ref, vmem, send, received):
        core = jax.lax.axis_index("core")
        copy = pltpu.make_async_remote_copy(
            x_ref.at[core], vmem, send, received, device_id={"core": 1 - core}
        )
        copy.start()
        copy.wait()
        pltpu.sync_copy(vmem, o_ref.at[core])

    x = floats(2, 8, 128)
    scratch = [pltpu.VMEM((8, 128), jnp.float32), DMA, DMA]
    trace = traced(on_cores(body, x, scratch=scratch), x)
    same(trace.outputs, x[::-1])


def test_scoped_memory_in_hbm_is_one_for_all_cores():
    def body(x_ref, o_ref, turn):
        core = jax.lax.axis_index("core")

        def scoped(shared):
            @pl.when(core == 0)
            def _():
                pltpu.sync_copy(x_ref.at[0], shared)
                pl.semaphore_signal(turn, 1, core_index=1)

            @pl.when(core == 1)
            def _():
                pl.semaphore_wait(turn, 1)
                pltpu.sync_copy(shared, o_ref.at[1])

        pl.run_scoped(scoped, pltpu.HBM((8, 128), jnp.float32))

    x = floats(2, 8, 128)
    trace = traced(on_cores(body, x, scratch=[REGULAR]), x)
    same(trace.outputs[1], x[0])
    assert len([b for b in trace.buffers if b.name == "shared"]) == 1
    assert len([b for b in trace.buffers if b.name == "turn"]) == 2
