"""Mosaic GPU: doubling a tile sometimes writes the *old* shared memory to the output.

Ordinary SMEM stores and the asynchronous copy engine are different proxies.  Without
`commit_smem()` between the store and `copy_smem_to_gmem`, the copy may read stale bytes.

Evidence: jax-ml/jax#27868 (the manual's own warning), jax-ml/jax#27982
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.pallas import mosaic_gpu as plgpu

N = 256


def _body(commit):
    def double_tile(x_gmem, o_gmem, smem, barrier):
        plgpu.copy_gmem_to_smem(x_gmem, smem, barrier.at[0])
        plgpu.barrier_wait(barrier.at[0])
        smem[...] = smem[...] * 2.0
        if commit:
            plgpu.commit_smem()
        plgpu.copy_smem_to_gmem(smem, o_gmem)  # async read of smem
        plgpu.wait_smem_to_gmem(0)

    return double_tile


def _call(commit, interpret):
    return plgpu.kernel(
        _body(commit),
        out_type=jax.ShapeDtypeStruct((N,), jnp.float32),
        scratch_types=[plgpu.SMEM((N,), jnp.float32), plgpu.Barrier(num_barriers=1)],
        interpret=interpret,
    )


def _args():
    return (jnp.arange(N, dtype=jnp.float32),)


def build(interpret=None):
    return _call(False, interpret), _args()


def fixed(interpret=None):
    return _call(True, interpret), _args()


def reference():
    return np.arange(N, dtype=np.float32) * 2


EXPECT = {
    "family": "mosaic_gpu",
    "kind": "race",
    "finding": "missing-commit-smem",  # a race between a store and an async read of it
    "buffer": "smem",
    "first_block": (),
    "line_contains": "async read of smem",
    "other_line_contains": "smem[...] = smem[...] * 2.0",
    "fixed_output": "reference()",
    "tolerance": 0.0,
}
