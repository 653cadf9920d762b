"""Ragged attention style gather: an empty sequence brings the TPU down.

`ceil(length / block) - 1` is the last useful block.  For a length of 0 it is -1, and the
index map hands -1 to the fetch.  The plain interpreter clamps it to block 0.

Evidence: AI-Hypercomputer/maxtext#3946
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

B, S, D, BS = 3, 32, 128, 8
LENGTHS = (20, 0, 32)


def kernel(len_ref, last_ref, x_ref, o_ref):
    b, j = pl.program_id(0), pl.program_id(1)

    @pl.when(j == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    @pl.when(j * BS < len_ref[b])
    def _():
        rows = j * BS + jax.lax.broadcasted_iota(jnp.int32, (BS, D), 0)
        o_ref[...] += jnp.sum(
            jnp.where(rows < len_ref[b], x_ref[...], 0.0), axis=0, keepdims=True
        )


def _call(interpret):
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=2,
        grid=(B, S // BS),
        in_specs=[
            # stay on the last useful block once past the end: no fetch for the masked tail
            pl.BlockSpec(
                (None, BS, D), lambda b, j, lens, last: (b, jnp.minimum(j, last[b]), 0)
            )
        ],
        out_specs=pl.BlockSpec((None, 1, D), lambda b, j, lens, last: (b, 0, 0)),
    )
    return pl.pallas_call(
        kernel,
        grid_spec=spec,
        out_shape=jax.ShapeDtypeStruct((B, 1, D), jnp.float32),
        interpret=interpret,
        name="ragged_sum",
    )


def _args(floor):
    lengths = jnp.asarray(LENGTHS, jnp.int32)
    last = (lengths + BS - 1) // BS - 1
    last = jnp.maximum(last, floor)
    x = jnp.arange(B * S * D, dtype=jnp.float32).reshape(B, S, D) % 31
    return lengths, last, x


def build(interpret=False):
    return _call(interpret), _args(-1)


def fixed(interpret=False):
    return _call(interpret), _args(0)


def reference():
    x = np.asarray(_args(0)[2])
    return np.stack([x[b, :n].sum(0, keepdims=True) for b, n in enumerate(LENGTHS)])


EXPECT = {
    "family": "tpu",
    "kind": "index-map",
    "finding": "out-of-bounds",
    "event": "block-fetch",
    "buffer": "x_ref",
    "first_block": (1, 0),
    "block_index": (1, -1, 0),
    "caused_by": {"buffer": "last_ref", "index": (1,), "value": -1},
    "line_contains": "jnp.minimum(j, last[b])",
    "fixed_output": "reference()",
    "tolerance": 1e-3,
}
