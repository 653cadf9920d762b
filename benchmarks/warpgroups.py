"""The two larger GPU kernels: a ring between warpgroups, a pipelined wgmma matmul."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from case import K_STEPS, TILE, Case, like, matmul_grid, numbers, rows
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu

RING_SLOTS = 2
RING_STEPS = 8  # tiles that one block of the ring consumes


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
            plgpu.commit_smem()  # the read comes before the next asynchronous write
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
