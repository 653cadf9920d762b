"""Mosaic GPU, two warpgroups: the kernel never returns.

The "ready" barrier was sized for both threads, but only the producer arrives on it.  The
consumer waits for a phase that cannot complete.

Evidence: jax-ml/jax commit 3af2f8982e (a wait for participants that never take part),
pytorch/xla#8931 (a paged-attention kernel that hangs)
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu

N = 128


def body(x_gmem, o_gmem, smem, ready):
    wg = lax.axis_index("wg")

    @pl.when(wg == 0)
    def _():
        smem[...] = x_gmem[...] + 1.0
        plgpu.barrier_arrive(ready.at[0])

    @pl.when(wg == 1)
    def _():
        plgpu.barrier_wait(ready.at[0])  # waits for two arrivals
        o_gmem[...] = smem[...]


def _call(arrivals, interpret):
    return plgpu.kernel(
        body,
        out_type=jax.ShapeDtypeStruct((N,), jnp.float32),
        scratch_types=[
            plgpu.SMEM((N,), jnp.float32),
            plgpu.Barrier(num_arrivals=arrivals, num_barriers=1),
        ],
        num_threads=2,
        thread_name="wg",
        interpret=interpret,
    )


def _args():
    return (jnp.arange(N, dtype=jnp.float32),)


def build(interpret=None):
    return _call(2, interpret), _args()


def fixed(interpret=None):
    return _call(1, interpret), _args()


def reference():
    return np.arange(N, dtype=np.float32) + 1


EXPECT = {
    "family": "mosaic_gpu",
    "kind": "deadlock",
    "finding": "deadlock",
    "buffer": "ready",
    "threads": 2,
    "waiting_thread": 1,
    "arrivals": {"seen": 1, "needed": 2},
    "line_contains": "waits for two arrivals",
    "hangs_in_jax": True,
    "fixed_output": "reference()",
    "tolerance": 0.0,
}
