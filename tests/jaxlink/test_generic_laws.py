"""The machine's laws over kernels that come from JAX: copies, windows, atomics."""

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas import triton as pltriton
from jaxlink.differential import cores, floats, out
from laws.machine_laws import LAWS

from pallas_debug import ir
from pallas_debug.jaxlink.capture import run_captured
from pallas_debug.jaxlink.lower import lower

HBM = pl.BlockSpec(memory_space=pl.ANY)


def launch_of(fn, *args):
    """The one launch of a function, as the machine gets it."""
    found = []

    def on_launch(call, arrays):
        kernel = lower(call)
        grid = tuple(size for size in kernel.grid.shape if size is not None)
        found.append(ir.Launch(kernel=kernel, arguments=tuple(arrays), grid=grid))
        return [jnp.zeros(a.shape, a.dtype) for a in call.out_avals]

    run_captured(fn, args, {}, on_launch)
    (launch,) = found
    return launch


def double_buffered():
    def body(x_ref, o_ref, bufs, sems):
        def fetch(i):
            return pltpu.make_async_copy(x_ref.at[i], bufs.at[i % 2], sems.at[i % 2])

        fetch(0).start()

        @pl.loop(0, 3)
        def _(i):
            @pl.when(i < 2)
            def _():
                fetch(i + 1).start()

            fetch(i).wait()
            pltpu.sync_copy(bufs.at[i % 2], o_ref.at[i])

    scratch = [pltpu.VMEM((2, 8), jnp.float32), pltpu.SemaphoreType.DMA((2,))]
    kernel = pl.pallas_call(
        body,
        in_specs=[HBM],
        out_specs=HBM,
        out_shape=out(3, 8),
        scratch_shapes=scratch,
    )
    return launch_of(kernel, floats(3, 8))


def windows_in_place():
    def body(x_ref, acc_ref, o_ref):
        o_ref[...] = acc_ref[...] + x_ref[0]

    spec = pl.BlockSpec((4,), lambda i, j: (i,))
    kernel = pl.pallas_call(
        body,
        grid=(2, 3),
        in_specs=[pl.BlockSpec((1, 4), lambda i, j: (j, i)), spec],
        out_specs=spec,
        out_shape=out(7),
        input_output_aliases={1: 0},
    )
    return launch_of(kernel, floats(3, 7), floats(7))


def atomics():
    def body(i_ref, y_ref, o_ref):
        del y_ref
        value = jnp.full((3,), pl.program_id(0), jnp.float32)
        pltriton.atomic_add(o_ref, i_ref[...], value)

    kernel = pl.pallas_call(
        body,
        grid=(3,),
        out_shape=out(4),
        input_output_aliases={1: 0},
        compiler_params=pltriton.CompilerParams(),
    )
    return launch_of(kernel, jnp.asarray([1, 1, 3], jnp.int32), floats(4))


def two_cores():
    def body(x_ref, o_ref, vmem, sem):
        core = jax.lax.axis_index("core")
        pltpu.sync_copy(x_ref.at[core], vmem)
        pl.semaphore_signal(sem, 1, core_index=1 - core)
        pl.semaphore_wait(sem, 1)
        pltpu.sync_copy(vmem, o_ref.at[1 - core])

    kernel = pl.kernel(
        body,
        out_type=out(2, 8),
        mesh=cores(2),
        scratch_types=[pltpu.VMEM((8,), jnp.float32), pltpu.SemaphoreType.REGULAR],
    )
    return launch_of(kernel, floats(2, 8))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("policy", ["round-robin", "random"])
@pytest.mark.parametrize(
    "make",
    [double_buffered, windows_in_place, atomics, two_cores],
    ids=lambda make: make.__name__,
)
def test_law_of_a_kernel_from_jax(law, make, policy):
    law(make(), {"policy": policy, "seed": 5})
