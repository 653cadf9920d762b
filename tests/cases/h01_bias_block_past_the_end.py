"""Fused matmul + bias: fine under `interpret=True`, the accelerator halts.

The bias has two axes of length 1.  The author wrote the *size* of those axes in
the index map where the *block number* belongs, so every bias fetch starts one
whole block past the end.  JAX's plain interpreter clamps the start and so
returns the right numbers; hardware stops on the bounds check.

Evidence: jax-ml/jax#23181
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl

M, K, N, BM, BK, BN = 16, 32, 256, 8, 16, 128


def kernel(x_ref, w_ref, b_ref, o_ref):
    k = pl.program_id(2)

    @pl.when(k == 0)
    def _():
        o_ref[...] = jnp.broadcast_to(b_ref[...].reshape(1, BN), o_ref.shape)

    o_ref[...] += jnp.dot(x_ref[...], w_ref[...], preferred_element_type=jnp.float32)


def _call(bias_map, interpret):
    return pl.pallas_call(
        kernel,
        grid=(M // BM, N // BN, K // BK),
        in_specs=[
            pl.BlockSpec((BM, BK), lambda i, j, k: (i, k)),
            pl.BlockSpec((BK, BN), lambda i, j, k: (k, j)),
            pl.BlockSpec((1, 1, BN), bias_map),
        ],
        out_specs=pl.BlockSpec((BM, BN), lambda i, j, k: (i, j)),
        out_shape=jax.ShapeDtypeStruct((M, N), jnp.float32),
        interpret=interpret,
        name="matmul_bias",
    )


def _args():
    x = jnp.arange(M * K, dtype=jnp.float32).reshape(M, K) / 64
    w = jnp.cos(jnp.arange(K * N, dtype=jnp.float32)).reshape(K, N)
    b = jnp.arange(N, dtype=jnp.float32).reshape(1, 1, N)
    return x, w, b


def build(interpret=False):
    return _call(lambda i, j, k: (1, 1, j), interpret), _args()  # bias index map


def fixed(interpret=False):
    return _call(lambda i, j, k: (0, 0, j), interpret), _args()


def reference():
    x, w, b = (np.asarray(a, np.float64) for a in _args())
    return x @ w + b[0]


EXPECT = {
    "family": "generic",
    "kind": "index-map",
    "finding": "out-of-bounds",
    "event": "block-fetch",
    "buffer": "b_ref",
    "blocks": "all",
    "first_block": (0, 0, 0),
    "axes": (0, 1),
    "line_contains": "lambda i, j, k: (1, 1, j)",
    "fixed_output": "reference()",
    "tolerance": 1e-4,
}
