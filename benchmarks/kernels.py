"""The six benchmark kernels, each with its grid size as a parameter.

A case is built for a number of blocks and an `interpret` argument and comes with its
inputs and what NumPy says the result is. Importing this module imports JAX.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu

TILE = 64
K_STEPS = 4  # of the two matmuls
RING_SLOTS = 2
RING_STEPS = 8  # tiles that one block of the ring consumes
LANES = 128  # the last dimension of a TPU tile


@dataclass(frozen=True)
class Case:
    """A kernel at one grid size.

    Attributes:
      run: The launch, jitted, from inputs to the result.
      inputs: NumPy arrays.
      expected: What NumPy computes from them.
      rtol, atol: How far a result may be off: the order of a sum is the executor's.
    """

    run: Callable[..., Any]
    inputs: tuple[np.ndarray, ...]
    expected: np.ndarray
    rtol: float = 1e-5
    atol: float = 1e-6

    def is_right(self, result: Any) -> bool:
        """Whether a result is the one that NumPy computes."""
        result = np.asarray(result)
        return (
            result.shape == self.expected.shape
            and result.dtype == self.expected.dtype
            and np.allclose(
                result.astype(np.float32),
                self.expected.astype(np.float32),
                rtol=self.rtol,
                atol=self.atol,
            )
        )


def numbers(*shape: int, dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    """The same random numbers in every process."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def like(array: np.ndarray) -> jax.ShapeDtypeStruct:
    """The type of an array."""
    return jax.ShapeDtypeStruct(array.shape, array.dtype)


def rows(block: Any, size: int = TILE) -> Any:
    """The slice of rows that belongs to a block."""
    return pl.ds(block * size, size)


def matmul_grid(outputs: int) -> tuple[int, int]:
    """The most square grid of so many output tiles."""
    m = next(d for d in range(int(outputs**0.5), 0, -1) if outputs % d == 0)
    return m, outputs // m


def elementwise(blocks: int, interpret: Any) -> Case:
    """Kernel a: one 64×64 float32 block for each grid point, `3.1 x + 1.7`."""

    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 3.1 + 1.7

    x = numbers(blocks * TILE, TILE)
    spec = pl.BlockSpec((TILE, TILE), lambda i: (i, 0))
    launch = pl.pallas_call(
        kernel,
        out_shape=like(x),
        grid=(blocks,),
        in_specs=[spec],
        out_specs=spec,
        interpret=interpret,
    )
    expected = x * np.float32(3.1) + np.float32(1.7)
    return Case(jax.jit(launch), (x,), expected, atol=1e-5)


def matmul(blocks: int, interpret: Any) -> Case:
    """Kernel b: a matmul whose last grid dimension runs along K."""

    def kernel(x_ref, y_ref, o_ref):
        @pl.when(pl.program_id(2) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += jnp.dot(
            x_ref[...], y_ref[...], preferred_element_type=jnp.float32
        )

    m, n = matmul_grid(blocks // K_STEPS)
    x = numbers(m * TILE, K_STEPS * TILE)
    y = numbers(K_STEPS * TILE, n * TILE, seed=1)
    expected = x @ y
    launch = pl.pallas_call(
        kernel,
        out_shape=like(expected),
        grid=(m, n, K_STEPS),
        in_specs=[
            pl.BlockSpec((TILE, TILE), lambda i, j, k: (i, k)),
            pl.BlockSpec((TILE, TILE), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((TILE, TILE), lambda i, j, k: (i, j)),
        interpret=interpret,
    )
    return Case(jax.jit(launch), (x, y), expected, rtol=1e-4, atol=1e-3)


def copies(blocks: int, interpret: Any) -> Case:
    """Kernel c: each block copies a tile in, computes, and copies it out."""

    def kernel(x_gmem, o_gmem, x_smem, o_smem, arrived):
        part = rows(lax.axis_index("block"))
        plgpu.copy_gmem_to_smem(x_gmem.at[part], x_smem, arrived)
        plgpu.barrier_wait(arrived)
        o_smem[...] = x_smem[...] * 2.0 + 1.0
        plgpu.commit_smem()
        plgpu.copy_smem_to_gmem(o_smem, o_gmem.at[part])
        plgpu.wait_smem_to_gmem(0)

    x = numbers(blocks * TILE, TILE)
    launch = plgpu.kernel(
        kernel,
        out_type=like(x),
        grid=(blocks,),
        grid_names=("block",),
        scratch_types=[
            plgpu.SMEM((TILE, TILE), jnp.float32),
            plgpu.SMEM((TILE, TILE), jnp.float32),
            plgpu.Barrier(),
        ],
        interpret=interpret,
    )
    expected = x * np.float32(2) + np.float32(1)
    return Case(jax.jit(launch), (x,), expected, atol=1e-5)


def _produce(block: Any, x_gmem: Any, slots: Any, full: Any, empty: Any) -> None:
    """Fills the slots of the ring in turn; waits until a slot was given back."""

    @pl.loop(0, RING_STEPS)
    def _(step):
        slot = lax.rem(step, RING_SLOTS)

        @pl.when(step >= RING_SLOTS)
        def _():
            plgpu.barrier_wait(empty.at[slot])

        tile = rows(block * RING_STEPS + step)
        plgpu.copy_gmem_to_smem(x_gmem.at[tile], slots.at[slot], full.at[slot])


def _consume(half: Any, slots: Any, full: Any, empty: Any) -> jax.Array:
    """Sums one half of every tile that passes through the ring."""

    def body(step, total):
        slot = lax.rem(step, RING_SLOTS)
        plgpu.barrier_wait(full.at[slot])
        total += slots[slot, half]

        @pl.when(step < RING_STEPS - RING_SLOTS)
        def _():
            plgpu.barrier_arrive(empty.at[slot])

        return total

    zero = jnp.zeros((TILE // 2, TILE), jnp.float32)
    return lax.fori_loop(0, RING_STEPS, body, zero)


def ring(blocks: int, interpret: Any) -> Case:
    """Kernel d: one warpgroup feeds two others through a ring of two slots."""

    def kernel(x_gmem, o_gmem, slots, o_smem, full, empty):
        block, group = lax.axis_index("block"), lax.axis_index("wg")

        @pl.when(group == 0)
        def _():
            _produce(block, x_gmem, slots, full, empty)

        @pl.when(group > 0)
        def _():
            half = rows(group - 1, TILE // 2)
            o_smem[half] = _consume(half, slots, full, empty)
            plgpu.commit_smem()
            out = rows(block * 2 + group - 1, TILE // 2)
            plgpu.copy_smem_to_gmem(o_smem.at[half], o_gmem.at[out])
            plgpu.wait_smem_to_gmem(0)

    x = numbers(blocks * RING_STEPS * TILE, TILE)
    expected = x.reshape(blocks, RING_STEPS, TILE, TILE).sum(1).reshape(-1, TILE)
    launch = plgpu.kernel(
        kernel,
        out_type=like(expected),
        grid=(blocks,),
        grid_names=("block",),
        num_threads=3,
        thread_name="wg",
        scratch_types=[
            plgpu.SMEM((RING_SLOTS, TILE, TILE), jnp.float32),
            plgpu.SMEM((TILE, TILE), jnp.float32),
            plgpu.Barrier(num_barriers=RING_SLOTS),
            plgpu.Barrier(num_arrivals=2, num_barriers=RING_SLOTS),
        ],
        interpret=interpret,
    )
    return Case(jax.jit(launch), (x,), expected, rtol=1e-4, atol=1e-5)


def _tile_spec(index_map: Callable[..., Any]) -> Any:
    """A 64×64 float16 tile in shared memory, as wgmma wants it laid out."""
    transforms = (plgpu.TilingTransform((8, TILE)), plgpu.SwizzleTransform(128))
    return plgpu.BlockSpec((TILE, TILE), index_map, transforms=transforms)


def _multiply(a_gmem: Any, b_gmem: Any, row: Any, column: Any) -> jax.Array:
    """One output tile by a pipeline along K."""

    def step(_, a_smem, b_smem, acc_ref):
        plgpu.wgmma(acc_ref, a_smem, b_smem)
        plgpu.wgmma_wait(0)
        return acc_ref

    def scope(acc_ref):
        plgpu.emit_pipeline(
            step,
            grid=(K_STEPS,),
            in_specs=[
                _tile_spec(lambda k: (row, k)),
                _tile_spec(lambda k: (k, column)),
            ],
            max_concurrent_steps=2,
            init_carry=acc_ref,
        )(a_gmem, b_gmem)
        return acc_ref[...]

    return pl.run_scoped(scope, plgpu.ACC((TILE, TILE), jnp.float32))


def pipeline(blocks: int, interpret: Any) -> Case:
    """Kernel e: a Hopper matmul, `emit_pipeline` around wgmma."""

    def kernel(a_gmem, b_gmem, o_gmem, o_smem):
        row, column = lax.axis_index("m"), lax.axis_index("n")
        o_smem[...] = _multiply(a_gmem, b_gmem, row, column).astype(o_smem.dtype)
        plgpu.commit_smem()
        plgpu.copy_smem_to_gmem(o_smem, o_gmem.at[rows(row), rows(column)])
        plgpu.wait_smem_to_gmem(0)

    m, n = matmul_grid(blocks)
    a = numbers(m * TILE, K_STEPS * TILE, dtype=np.float16)
    b = numbers(K_STEPS * TILE, n * TILE, dtype=np.float16, seed=1)
    expected = (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16)
    launch = plgpu.kernel(
        kernel,
        out_type=like(expected),
        grid=(m, n),
        grid_names=("m", "n"),
        scratch_types=[plgpu.SMEM((TILE, TILE), jnp.float16)],
        interpret=interpret,
    )
    return Case(jax.jit(launch), (a, b), expected, rtol=2e-3, atol=2e-2)


def dma(blocks: int, interpret: Any) -> Case:
    """Kernel f: a TPU kernel with its own DMAs, one grid point for each block."""

    def kernel(x_hbm, o_hbm, x_vmem, o_vmem, arrived, left):
        part = rows(pl.program_id(0))
        copy_in = pltpu.make_async_copy(x_hbm.at[part], x_vmem, arrived)
        copy_in.start()
        copy_in.wait()
        o_vmem[...] = x_vmem[...] * 2.0 + 1.0
        copy_out = pltpu.make_async_copy(o_vmem, o_hbm.at[part], left)
        copy_out.start()
        copy_out.wait()

    x = numbers(blocks * TILE, LANES)
    launch = pl.pallas_call(
        kernel,
        out_shape=like(x),
        grid=(blocks,),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec(memory_space=pl.ANY),
        scratch_shapes=[
            pltpu.VMEM((TILE, LANES), jnp.float32),
            pltpu.VMEM((TILE, LANES), jnp.float32),
            pltpu.SemaphoreType.DMA,
            pltpu.SemaphoreType.DMA,
        ],
        interpret=interpret,
    )
    expected = x * np.float32(2) + np.float32(1)
    return Case(jax.jit(launch), (x,), expected, atol=1e-5)


BUILDERS = {
    "a": elementwise,
    "b": matmul,
    "c": copies,
    "d": ring,
    "e": pipeline,
    "f": dma,
}


@functools.cache
def build(name: str, blocks: int, interpret: Any = None) -> Case:
    """The case of a kernel, a grid size and an `interpret` argument."""
    return BUILDERS[name](blocks, interpret or False)
