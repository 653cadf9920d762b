"""Multiplying a sub-range of two vectors: the untouched ends of the result hold
values that look like one of the inputs, and change when the inputs swap places.

Only `o_ref[start:stop]` is stored.  The rest of the output is whatever the
allocator handed out (on a GPU: often a recycled input).

Evidence: jax-ml/jax#20227
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl

N, START, STOP = 16, 4, 12


def partial_kernel(x_ref, y_ref, o_ref):
    o_ref[START:STOP] = x_ref[START:STOP] * y_ref[START:STOP]  # the only store


def whole_kernel(x_ref, y_ref, o_ref):
    o_ref[...] = jnp.zeros_like(o_ref)
    o_ref[START:STOP] = x_ref[START:STOP] * y_ref[START:STOP]


def _call(body, interpret):
    return pl.pallas_call(
        body,
        out_shape=jax.ShapeDtypeStruct((N,), jnp.float32),
        interpret=interpret,
        name="mul_range",
    )


def _args():
    return jnp.arange(N, dtype=jnp.float32), jnp.arange(1, N + 1, dtype=jnp.float32)


def build(interpret=False):
    return _call(partial_kernel, interpret), _args()


def fixed(interpret=False):
    return _call(whole_kernel, interpret), _args()


def reference():
    x, y = (np.asarray(a) for a in _args())
    out = np.zeros(N, np.float32)
    out[START:STOP] = (x * y)[START:STOP]
    return out


EXPECT = {
    "family": "generic",
    "kind": "uninitialized",
    "finding": "output-never-written",
    "buffer": "o_ref",
    "first_block": (),
    "elements": [(0, START), (STOP, N)],
    "element_count": N - (STOP - START),
    "line_contains": "the only store",
    "fixed_output": "reference()",
    "tolerance": 0.0,
}
