"""Blockwise attention with segment ids: padded query rows come out NaN.

The running maximum starts at -inf and masked scores are -inf.  A row that has met no valid
key yet computes exp(-inf - -inf): the NaN is born in that subtraction, two lines before
anyone looks, and reaches the output through the rescaling of the accumulator.

Evidence: AI-Hypercomputer/maxtext#4924 (review thread), flashinfer-ai/flashinfer#4401 (same
arithmetic in another kernel language)
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl

Q, K, D, BK = 8, 32, 128, 8
VALID_Q, VALID_K = 6, 20  # rows 6, 7 are padding and belong to no segment


def _kernel(floor):
    def kernel(q_ref, k_ref, v_ref, qs_ref, ks_ref, o_ref):
        def step(j, carry):
            m, total, acc = carry
            cols = pl.ds(j * BK, BK)
            s = jnp.dot(q_ref[...], k_ref[cols, :].T)
            s = jnp.where(qs_ref[...][:, None] == ks_ref[cols][None, :], s, floor)
            m_new = jnp.maximum(m, s.max(axis=1))
            p = jnp.exp(s - m_new[:, None])  # -inf - -inf
            scale = jnp.exp(m - m_new)
            return (
                m_new,
                total * scale + p.sum(axis=1),
                acc * scale[:, None] + jnp.dot(p, v_ref[cols, :]),
            )

        start = (jnp.full((Q,), floor), jnp.zeros((Q,)), jnp.zeros((Q, D)))
        _, total, acc = jax.lax.fori_loop(0, K // BK, step, start)
        o_ref[...] = acc / total[:, None]

    return kernel


def _call(floor, interpret):
    return pl.pallas_call(
        _kernel(floor),
        out_shape=jax.ShapeDtypeStruct((Q, D), jnp.float32),
        interpret=interpret,
        name="attn",
    )


def _args():
    q = jnp.sin(jnp.arange(Q * D, dtype=jnp.float32)).reshape(Q, D)
    k = jnp.cos(jnp.arange(K * D, dtype=jnp.float32)).reshape(K, D) / 8
    v = jnp.arange(K * D, dtype=jnp.float32).reshape(K, D) % 7
    qs = jnp.where(jnp.arange(Q) < VALID_Q, 0, 1).astype(jnp.int32)
    ks = jnp.where(jnp.arange(K) < VALID_K, 0, 2).astype(jnp.int32)
    return q, k, v, qs, ks


def build(interpret=False):
    return _call(-jnp.inf, interpret), _args()


def fixed(interpret=False):
    return _call(-0.7 * float(np.finfo(np.float32).max), interpret), _args()


def reference():
    """Valid rows only: what the padded rows hold is a convention."""
    q, k, v, _, _ = (np.asarray(a, np.float64) for a in _args())
    s = q[:VALID_Q] @ k[:VALID_K].T
    p = np.exp(s - s.max(1, keepdims=True))
    return (p / p.sum(1, keepdims=True)) @ v[:VALID_K]


EXPECT = {
    "family": "generic",
    "kind": "nan",
    "finding": "nan-origin",
    "buffer": None,
    "first_block": (),
    "loop_iteration": 0,
    "primitive": "sub",
    "rows": (6, 7),
    "line_contains": "-inf - -inf",
    "fixed_output": "reference()",
    "compare": "out[:6]",
    "tolerance": 1e-4,
}
