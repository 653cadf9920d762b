"""Sum over the leading axis with a grid `(rows_to_sum, blocks)`: right in the plain
interpreter, wrong on a TPU.

The reduction axis is the *outermost* grid axis, so each output block is left and
come back to.  On a TPU the output window is not read back from HBM when the block
is revisited: the accumulator starts from whatever is in the window.  The summed
axis has to be the innermost one.

Evidence: jax-ml/jax#23099
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl

G, R, C, BR = 3, 16, 128, 8


def _kernel(axis):
    def kernel(x_ref, o_ref):
        @pl.when(pl.program_id(axis) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += x_ref[...]  # accumulate

    return kernel


def _args():
    return (jnp.arange(G * R * C, dtype=jnp.float32).reshape(G, R, C) % 97,)


def build(interpret=False):
    fn = pl.pallas_call(
        _kernel(0),
        grid=(G, R // BR),
        in_specs=[pl.BlockSpec((None, BR, C), lambda g, r: (g, r, 0))],
        out_specs=pl.BlockSpec((BR, C), lambda g, r: (r, 0)),  # revisited after leaving
        out_shape=jax.ShapeDtypeStruct((R, C), jnp.float32),
        interpret=interpret,
        name="sum_leading",
    )
    return fn, _args()


def fixed(interpret=False):
    fn = pl.pallas_call(
        _kernel(1),
        grid=(R // BR, G),
        in_specs=[pl.BlockSpec((None, BR, C), lambda r, g: (g, r, 0))],
        out_specs=pl.BlockSpec((BR, C), lambda r, g: (r, 0)),
        out_shape=jax.ShapeDtypeStruct((R, C), jnp.float32),
        interpret=interpret,
        name="sum_leading",
    )
    return fn, _args()


def reference():
    return np.asarray(_args()[0]).sum(0)


EXPECT = {
    "family": "tpu",
    "kind": "accumulate",
    "finding": "output-block-revisited",
    "buffer": "o_ref",
    "first_block": (
        1,
        0,
    ),  # the first grid point that comes back to output block (0, 0)
    "output_block": (0, 0),
    "line_contains": "revisited after leaving",
    "fixed_output": "reference()",
    "tolerance": 1e-3,
}
