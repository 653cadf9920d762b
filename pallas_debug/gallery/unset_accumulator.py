"""An accumulator that nobody sets to zero.

The first launch gives the right product, because fresh memory happens to be zero; the
next one does not. The output block stays in VMEM while the last grid dimension runs
along K, and each step adds to it, also the first. The way out is to set it at step 0:
`@pl.when(pl.program_id(2) == 0)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pallas_debug.gallery.entry import Case, Entry

SIZE, TILE = 256, 128


def build(fixed: bool) -> Case:
    """A matmul with a grid of (M, N, K) blocks that accumulates along K."""
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl

    def matmul(x_ref: Any, y_ref: Any, o_ref: Any) -> None:
        if fixed:

            @pl.when(pl.program_id(2) == 0)
            def _first() -> None:
                o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += jnp.dot(
            x_ref[...], y_ref[...], preferred_element_type=jnp.float32
        )

    steps = SIZE // TILE
    launch = pl.pallas_call(
        matmul,
        out_shape=jax.ShapeDtypeStruct((SIZE, SIZE), jnp.float32),
        grid=(steps, steps, steps),
        in_specs=[
            pl.BlockSpec((TILE, TILE), lambda i, j, k: (i, k)),
            pl.BlockSpec((TILE, TILE), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((TILE, TILE), lambda i, j, k: (i, j)),
    )
    random = np.random.default_rng(0)
    x, y = random.standard_normal((2, SIZE, SIZE)).astype(np.float32)
    return launch, (jnp.asarray(x), jnp.asarray(y))


def reference(x: Any, y: Any) -> Any:
    """The product."""
    return np.asarray(x) @ np.asarray(y)


ENTRY = Entry(
    name="unset_accumulator",
    title="A sum over K that starts from whatever was in memory",
    level=1,
    backend="generic",
    codes=("PD102",),
    build=build,
    reference=reference,
)
