"""TPU decode kernel with two output banks: some rows of the state come out torn.

Each step fills a bank and starts an asynchronous copy of it to HBM.  The wait for the copy
started two steps earlier on the *same* bank comes after the bank has been refilled, so the
copy in flight reads a mixture.

Evidence: sgl-project/sglang-jax#1110 (review thread)
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

T, R, C = 4, 8, 128


def _body(wait_first):
    def kernel(x_ref, o_hbm, bank, sem):
        def copy(n):
            return pltpu.make_async_copy(bank.at[n % 2], o_hbm.at[n], sem.at[n % 2])

        for n in range(T):
            if wait_first and n >= 2:
                copy(n - 2).wait()
            bank[n % 2] = x_ref[n] * 2.0  # refills the bank
            if not wait_first and n >= 2:
                copy(n - 2).wait()  # too late
            copy(n).start()
        for n in range(T - 2, T):
            copy(n).wait()

    return kernel


def _call(wait_first, interpret):
    return pl.pallas_call(
        _body(wait_first),
        in_specs=[pl.BlockSpec(memory_space=pltpu.VMEM)],
        out_specs=pl.BlockSpec(memory_space=pl.ANY),
        out_shape=jax.ShapeDtypeStruct((T, R, C), jnp.float32),
        scratch_shapes=[
            pltpu.VMEM((2, R, C), jnp.float32),
            pltpu.SemaphoreType.DMA((2,)),
        ],
        interpret=interpret,
        name="two_banks",
    )


def _args():
    return (jnp.arange(T * R * C, dtype=jnp.float32).reshape(T, R, C),)


def build(interpret=False):
    return _call(False, interpret), _args()


def fixed(interpret=False):
    return _call(True, interpret), _args()


def reference():
    return np.asarray(_args()[0]) * 2


EXPECT = {
    "family": "tpu",
    "kind": "race",
    "finding": "race",
    "buffer": "bank",
    "first_block": (),
    "elements": [(0, 1)],  # bank 0 first, at n == 2
    "line_contains": "refills the bank",
    "other_line_contains": "copy(n).start()",
    "fixed_output": "reference()",
    "tolerance": 0.0,
}
