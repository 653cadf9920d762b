"""Scatter-add of events: an index that occurs twice in one vector is counted once.

On a GPU every lane's atomic add lands.  JAX's interpreter turns the vector atomic into one
gather, add and scatter, so of two equal indices only one survives; the two disagree and the
interpreter is the one that is wrong.

Evidence: jax-ml/jax#24117 (second report in the thread)
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plt

N = 8


def kernel(i_ref, d_ref, y_ref, o_ref):
    del y_ref
    plt.atomic_add(o_ref, i_ref[...], d_ref[...])  # two lanes, one address


def _call(interpret):
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((N,), jnp.float32),
        input_output_aliases={2: 0},
        interpret=interpret,
        name="events",
    )


def _args(indices):
    return (
        jnp.asarray(indices, jnp.int32),
        jnp.ones(4, jnp.float32),
        jnp.zeros(N, jnp.float32),
    )


def build(interpret=False):
    return _call(interpret), _args([0, 1, 1, 5])


def fixed(interpret=False):
    return _call(interpret), _args([0, 1, 2, 5])


def reference():
    return np.array([1, 1, 1, 0, 0, 1, 0, 0], np.float32)


EXPECT = {
    "family": "triton",
    "kind": "interpreter-mismatch",
    "finding": "duplicate-atomic-index",  # information, not an error: and the result must be right
    "buffer": "o_ref",
    "first_block": (),
    "index": 1,
    "line_contains": "two lanes, one address",
    "hardware_output": [1, 2, 0, 0, 0, 1, 0, 0],
    "fixed_output": "reference()",
    "tolerance": 0.0,
}
