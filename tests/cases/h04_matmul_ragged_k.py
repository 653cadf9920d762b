"""Tiled matmul whose K is not a multiple of the K tile returns NaN (or garbage).

The last K tile hangs over the edge: those columns/rows are *unspecified* padding, and
the dot product sums them into every output element.  Both operands have to be masked
(masking only one is not enough when the padding is NaN, since 0 * NaN is NaN).

Evidence: pytorch/helion#2062, jax-ml/jax#23819, jax-ml/jax#27224
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl

M, K, N, BK = 8, 40, 128, 16  # 40 = 2 * 16 + 8


def raw_kernel(x_ref, w_ref, o_ref):
    @pl.when(pl.program_id(0) == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += jnp.dot(x_ref[...], w_ref[...])  # sums the padding too


def masked_kernel(x_ref, w_ref, o_ref):
    k = pl.program_id(0)

    @pl.when(k == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    left = K - k * BK
    x = jnp.where(
        jax.lax.broadcasted_iota(jnp.int32, (M, BK), 1) < left, x_ref[...], 0.0
    )
    w = jnp.where(
        jax.lax.broadcasted_iota(jnp.int32, (BK, N), 0) < left, w_ref[...], 0.0
    )
    o_ref[...] += jnp.dot(x, w)


def _call(body, interpret):
    return pl.pallas_call(
        body,
        grid=(pl.cdiv(K, BK),),
        in_specs=[
            pl.BlockSpec((M, BK), lambda k: (0, k)),
            pl.BlockSpec((BK, N), lambda k: (k, 0)),
        ],
        out_specs=pl.BlockSpec((M, N), lambda k: (0, 0)),
        out_shape=jax.ShapeDtypeStruct((M, N), jnp.float32),
        interpret=interpret,
        name="matmul_k",
    )


def _args():
    x = jnp.sin(jnp.arange(M * K, dtype=jnp.float32)).reshape(M, K)
    w = jnp.cos(jnp.arange(K * N, dtype=jnp.float32)).reshape(K, N)
    return x, w


def build(interpret=False):
    return _call(raw_kernel, interpret), _args()


def fixed(interpret=False):
    return _call(masked_kernel, interpret), _args()


def reference():
    x, w = (np.asarray(a, np.float64) for a in _args())
    return x @ w


EXPECT = {
    "family": "generic",
    "kind": "uninitialized",
    "finding": "padding-read",  # an uninitialized read: block padding reaches a value that is stored
    "buffer": "x_ref",
    "also_buffer": "w_ref",
    "first_block": (2,),
    "elements": [(8, 16)],  # along the K axis of the block
    "line_contains": "sums the padding too",
    "nan_first_seen_at": "dot",
    "fixed_output": "reference()",
    "tolerance": 1e-4,
}
