"""NaN in rows of a softmax whose every entry is masked.

One row in four comes out as NaN, and the loss with it. Masked scores are `-inf`; where
the mask hides a whole row, its maximum is `-inf`, too, and `-inf - -inf` is NaN. The way
out is a maximum that stays finite: `jnp.maximum(row_max, -1e30)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pallas_debug.gallery.entry import Case, Entry

ROWS, COLUMNS, BLOCK = 32, 128, 8


def build(fixed: bool) -> Case:
    """A softmax over the last axis of scores, four rows for each grid point."""
    import jax
    import jax.numpy as jnp
    from jax.experimental import pallas as pl

    def softmax(scores_ref: Any, mask_ref: Any, o_ref: Any) -> None:
        scores = jnp.where(mask_ref[...], scores_ref[...], -jnp.inf)
        row_max = jnp.max(scores, axis=1, keepdims=True)
        if fixed:
            row_max = jnp.maximum(row_max, -1e30)
        weights = jnp.exp(scores - row_max)
        total = jnp.sum(weights, axis=1, keepdims=True)
        o_ref[...] = weights / jnp.maximum(total, 1e-30)

    spec = pl.BlockSpec((BLOCK, COLUMNS), lambda i: (i, 0))
    launch = pl.pallas_call(
        softmax,
        out_shape=jax.ShapeDtypeStruct((ROWS, COLUMNS), jnp.float32),
        grid=(ROWS // BLOCK,),
        in_specs=[spec, spec],
        out_specs=spec,
    )
    random = np.random.default_rng(0)
    scores = random.standard_normal((ROWS, COLUMNS)).astype(np.float32)
    mask = random.random((ROWS, COLUMNS)) < 0.7
    mask[9] = False
    return launch, (jnp.asarray(scores), jnp.asarray(mask))


def reference(scores: Any, mask: Any) -> Any:
    """The softmax of the visible entries, zeros in rows without any."""
    scores = np.where(mask, scores, -np.inf)
    weights = np.exp(scores - np.maximum(scores.max(1, keepdims=True), -1e30))
    return weights / np.maximum(weights.sum(1, keepdims=True), 1e-30)


ENTRY = Entry(
    name="masked_softmax",
    title="Rows that are masked throughout come out as NaN",
    level=1,
    backend="generic",
    codes=("PD401",),
    build=build,
    reference=reference,
)
