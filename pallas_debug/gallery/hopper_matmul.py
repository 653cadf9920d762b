"""The Hopper matmul that JAX ships, unmodified, at a size for a laptop.

A persistent kernel: two consumer warpgroups multiply what a third one copies in. It asks
the device for its number of cores, so it does not even trace on a CPU without us.
"""

from __future__ import annotations

from typing import Any

import numpy as np

M, N, K = 256, 256, 128


def _operands() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    a = random.standard_normal((M, K)).astype(np.float16)
    return a, random.standard_normal((K, N)).astype(np.float16)


def run() -> Any:
    """Launches the kernel; returns `a @ b`."""
    import jax.numpy as jnp
    from jax.experimental.pallas.ops.gpu import hopper_matmul_mgpu as shipped

    config = shipped.TuningConfig(
        tile_m=64,
        tile_n=64,
        tile_k=64,
        max_concurrent_steps=2,
        epi_tile_m=64,
        epi_tile_n=64,
    )
    a, b = map(jnp.asarray, _operands())
    return shipped.matmul(a, b, None, config)


def difference(output: Any) -> float:
    """The largest difference of a result from the plain product."""
    a, b = (matrix.astype(np.float32) for matrix in _operands())
    return float(np.abs(np.asarray(output, np.float32) - a @ b).max())
