"""Block scales and sparsity of Blackwell's matrix unit."""

from __future__ import annotations

from typing import Any

import numpy as np

from pallas_debug.machine import peers
from pallas_debug.machine.step import Step, Target

LANES, GROUPS = 32, 4


def arranged(value: Any, shape: tuple[int, ...], what: str) -> Any:
    """What a copy to tensor memory puts there.

    Scales lie in shared memory as tiles of 32 rows of 16, in which a row has four
    columns of scales for each of four rows that are 32 apart.
    """
    if what != "scales" or value.shape == shape:
        return np.reshape(value, shape)
    rows, columns = value.shape[:2]
    tiles = value.reshape(rows, columns, LANES, GROUPS, -1)
    return tiles.transpose(0, 3, 2, 1, 4).reshape(shape)


def scale_left(m: Step, left: Any, scale: Target) -> Any:
    """Rows of `a` times a scale for each block of columns."""
    factor = m.read(scale).astype(np.float32)
    block = left.shape[1] // factor.shape[1]
    return left.astype(np.float32) * np.repeat(factor, block, axis=1)


def scale_right(m: Step, right: list, scale: Target, blocks: tuple) -> list:
    """Columns of `b` times a scale for each block of rows: scales are transposed."""
    ref, plan, dyn = scale
    scaled = []
    first = 0
    for value, block in zip(right, blocks, strict=True):
        held = Target(peers.peer(m, ref, block), plan, dyn)
        factor = m.read(held).astype(np.float32)
        if factor.shape[0] > value.shape[1]:  # each block holds the scales of all
            factor = factor[first : first + value.shape[1]]
            first += value.shape[1]
        rows = value.shape[0] // factor.shape[1]
        scaled.append(value.astype(np.float32) * np.repeat(factor.T, rows, axis=0))
    return scaled


def spread(m: Step, left: Any, metadata: Target) -> Any:
    """A 2:4 sparse matrix with its zeros: two of four columns have a place."""
    places = np.asarray(m.read(metadata)).astype(np.int64).reshape(left.shape[0], -1, 2)
    rows, groups = places.shape[:2]
    full = np.zeros((rows, groups, 4), left.dtype)
    r, g = np.ogrid[:rows, :groups]
    for k in range(2):
        full[r, g, places[:, :, k]] = left.reshape(rows, groups, 2)[:, :, k]
    return full.reshape(rows, groups * 4)
