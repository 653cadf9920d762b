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
    columns of scales for each of four rows that are 32 apart. Metadata lies in tiles.
    """
    if what == "scales" and value.shape != shape:
        rows, columns, lanes, _ = value.shape  # 64 lanes: halves of two blocks
        tiles = value.reshape(rows, columns, lanes // LANES, LANES, GROUPS, -1)
        value = tiles.transpose(0, 2, 4, 3, 1, 5)
    elif what == "sparse_metadata":
        value = value.transpose(0, 2, 1, 3)
    return np.reshape(value, shape)


def scale_left(m: Step, left: Any, scale: Target) -> Any:
    """Rows of `a` times a scale for each block of columns."""
    factor = m.read(scale).astype(np.float32)[: left.shape[0]]
    block = left.shape[1] // factor.shape[1]
    return left.astype(np.float32) * np.repeat(factor, block, axis=1)


def scale_right(m: Step, right: list, scale: Target, blocks: tuple) -> list:
    """Columns of `b` times a scale for each block of rows: scales are transposed."""
    ref, plan, dyn = scale
    scaled = []
    for number, (value, block) in enumerate(zip(right, blocks, strict=True)):
        held = (peers.peer(m, ref, block), plan, dyn)
        factor = m.read(held).astype(np.float32)
        if factor.shape[0] > value.shape[1]:  # each block holds the scales of all
            first = number * factor.shape[0] // len(blocks)
            factor = factor[first : first + value.shape[1]]
        rows = value.shape[0] // factor.shape[1]
        scaled.append(value.astype(np.float32) * np.repeat(factor.T, rows, axis=0))
    return scaled


def spread(m: Step, left: Any, metadata: Target) -> Any:
    """A 2:4 sparse matrix with its zeros: two of four columns have a place."""
    held = np.asarray(m.read(metadata)).astype(np.int64)
    rows, columns = left.shape
    if left.dtype.itemsize == 2:  # tiles of 128 by 64 are interleaved for 16 bits
        tiles = held.reshape(rows // 128, 8, 2, 8, columns // 64, 4, 2, 8)
        held = tiles.transpose(0, 1, 6, 3, 4, 5, 2, 7)
    places = held.reshape(rows, columns // 2, 2)
    full = np.zeros((rows, columns // 2, 4), left.dtype)
    np.put_along_axis(full, places, left.reshape(places.shape), axis=-1)
    return full.reshape(rows, 2 * columns)
