"""Small kernels that the viewer's golden bundles record; each differs in kind.

Their lines and names stand in the golden files: `python tests/golden/viewer.py` makes
those anew.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas import triton as plt
from jax.sharding import PartitionSpec as P


def out(*shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


def floats(*shape):
    return jnp.arange(np.prod(shape), dtype=jnp.float32).reshape(shape)


def padded():
    """Blocks that do not divide the array: the windows at the edge are padded."""

    def scale(x_ref, o_ref, acc_ref):
        @pl.when(pl.program_id(1) == 0)
        def _():
            acc_ref[...] = jnp.zeros_like(acc_ref)

        x = x_ref[...]
        acc_ref[...] += x
        o_ref[...] = acc_ref[...] * 2.0

    tile = pl.BlockSpec((4, 8), lambda i, j: (i, j))
    call = pl.pallas_call(
        scale,
        grid=(2, 3),
        in_specs=[tile],
        out_specs=tile,
        out_shape=out(6, 20),
        scratch_shapes=[pltpu.VMEM((4, 8), jnp.float32)],
        name="padded",
    )
    return call(floats(6, 20))


def gather():
    """A masked load, a gather, a masked store with repeated elements."""

    def body(i_ref, x_ref, o_ref):
        lanes = pl.program_id(0) * 4 + jnp.arange(4, dtype=jnp.int32)
        inside = lanes < 10
        index = plt.load(i_ref.at[lanes], mask=inside, other=0)
        value = x_ref[index]
        plt.store(o_ref.at[lanes], jnp.sqrt(value - 3.0), mask=inside)

    call = pl.pallas_call(
        body, grid=(3,), out_shape=out(10), compiler_params=plt.CompilerParams()
    )
    index = jnp.asarray([3, 1, 4, 1, 5, 9, 2, 6, 5, 3], jnp.int32)
    return call(index, floats(10))


def small_types():
    """Values of 16, 8 and 4 bits, with NaN and infinities among them."""

    def body(b_ref, e_ref, f_ref, i_ref, m_ref, ob_ref, oe_ref, of_ref, oi_ref, om_ref):
        ob_ref[...] = b_ref[...] * jnp.bfloat16(0.5)
        oe_ref[...] = e_ref[...]
        of_ref[...] = f_ref[...]
        oi_ref[...] = i_ref[...]
        om_ref[...] = ~m_ref[...]

    special = [1.5, -2.0, np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-3]
    args = (
        jnp.asarray([*special, 3.14159, 1e30], jnp.bfloat16),
        jnp.asarray([*special, 448.0], jnp.float8_e4m3fn),
        jnp.asarray([*special, 1e4], jnp.float8_e5m2),
        jnp.asarray([-8, -1, 0, 7], jnp.int4),
        jnp.asarray([True, False, True]),
    )
    shapes = [out(*a.shape, dtype=a.dtype) for a in args]
    return pl.pallas_call(body, out_shape=shapes, name="small_types")(*args)


def deadlock():
    """Two warpgroups; the barrier waits for an arrival that never comes."""

    def handover(x_gmem, o_gmem, smem, ready):
        warpgroup = lax.axis_index("wg")

        @pl.when(warpgroup == 0)
        def _():
            smem[...] = x_gmem[...] + 1.0
            plgpu.barrier_arrive(ready)

        @pl.when(warpgroup == 1)
        def _():
            plgpu.barrier_wait(ready)
            o_gmem[...] = smem[...]

    call = plgpu.kernel(
        handover,
        out_type=out(128),
        scratch_types=[
            plgpu.SMEM((128,), jnp.float32),
            plgpu.Barrier(num_arrivals=2),
        ],
        num_threads=2,
        thread_name="wg",
    )
    return call(floats(128))


def past_the_end():
    """An index map that names the block behind the last one."""

    def add_bias(x_ref, b_ref, o_ref):
        o_ref[...] = x_ref[...] + b_ref[...]

    call = pl.pallas_call(
        add_bias,
        grid=(2,),
        in_specs=[
            pl.BlockSpec((4, 8), lambda i: (i, 0)),
            pl.BlockSpec((1, 8), lambda i: (i, 0)),
        ],
        out_specs=pl.BlockSpec((4, 8), lambda i: (i, 0)),
        out_shape=out(8, 8),
        name="add_bias",
    )
    return call(floats(8, 8), floats(1, 8))


def launches():
    """One kernel twice and another once; the second has a scalar argument."""

    def double(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2.0

    def shifted(n_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...] + n_ref[0].astype(jnp.float32)

    rows = pl.BlockSpec((2, 4), lambda i, *_: (i, 0))
    twice = pl.pallas_call(
        double,
        grid=(2,),
        in_specs=[rows],
        out_specs=rows,
        out_shape=out(4, 4),
    )
    shift = pl.pallas_call(
        shifted,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1, grid=(2,), in_specs=[rows], out_specs=rows
        ),
        out_shape=out(4, 4),
    )
    return shift(jnp.asarray([7], jnp.int32), twice(twice(floats(4, 4))))


def devices():
    """The same kernel on two devices of a mesh."""

    def double(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2.0 + lax.axis_index("d").astype(jnp.float32)

    def on_device(x):
        return pl.pallas_call(double, grid=(1,), out_shape=out(*x.shape))(x)

    mesh = jax.make_mesh((2,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    spread = jax.shard_map(
        on_device, mesh=mesh, in_specs=P("d"), out_specs=P("d"), check_vma=False
    )
    return spread(floats(4, 4))


def hopper_matmul():
    """The Hopper matmul that JAX ships, at its smallest."""
    from jax.experimental.pallas.ops.gpu import hopper_matmul_mgpu as shipped

    config = shipped.TuningConfig(
        tile_m=64,
        tile_n=64,
        tile_k=64,
        max_concurrent_steps=2,
        epi_tile_m=64,
        epi_tile_n=64,
    )
    a, b = ((floats(rows, 128) % 7 - 3).astype(jnp.float16) for rows in (64, 128))
    return shipped.matmul(a, b.T, None, config)


def neighbors():
    """Two devices that copy to each other, at each of two grid points."""

    def exchange(x_ref, o_ref, send, received):
        other = 1 - lax.axis_index("d")
        ready = pltpu.get_barrier_semaphore()
        pl.semaphore_signal(ready, device_id={"d": other})
        pl.semaphore_wait(ready)
        rows = pl.ds(pl.program_id(0) * 2, 2)
        copy = pltpu.make_async_remote_copy(
            x_ref.at[rows], o_ref.at[rows], send, received, device_id={"d": other}
        )
        copy.start()
        copy.wait()

    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    launch = pl.pallas_call(
        exchange,
        grid=(2,),
        in_specs=[anywhere],
        out_specs=anywhere,
        out_shape=out(4, 4),
        scratch_shapes=[pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.DMA],
        compiler_params=pltpu.CompilerParams(collective_id=0),
    )
    mesh = jax.make_mesh((2,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    spread = jax.shard_map(
        launch, mesh=mesh, in_specs=P("d"), out_specs=P("d"), check_vma=False
    )
    return spread(floats(8, 4))


def scaled(ref, row, factor):
    value = ref[row, :]
    return value * factor


def smoothed(x_ref, o_ref, row):
    def step(column, left):
        value = x_ref[row, column] + left
        o_ref[row, column] = value
        return value

    lax.fori_loop(0, 4, step, 0.0)


def helpers():
    """Helper functions: in a loop that JAX keeps, in one that Python unrolls, nested."""

    def kernel(x_ref, o_ref, p_ref):
        def each(row, count):
            smoothed(x_ref, o_ref, row)
            return count

        lax.fori_loop(0, 3, each, 0)
        for row in range(3):
            p_ref[row, :] = scaled(x_ref, row, 2.0) + scaled(o_ref, row, 3.0)

        @pl.when(x_ref[0, 0] < 1.0)
        def _():
            smoothed(p_ref, o_ref, 0)

    shapes = (out(3, 4), out(3, 4))
    return pl.pallas_call(kernel, grid=(2,), out_shape=shapes)(floats(3, 4))
