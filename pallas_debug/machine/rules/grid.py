"""The grid as a block sees it: its coordinates, its thread, the grid's sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from pallas_debug.machine.rules.registry import rule
from pallas_debug.machine.step import Step


@rule("grid.id")
def grid_id(m: Step, *, axis: str) -> Any:
    """Coordinate of the block on a named axis (or `#0`, `#1`, …)."""
    return np.int32(m.thread.block.ids[axis])


@rule("grid.thread")
def grid_thread(m: Step) -> Any:
    """Number of the warpgroup within its block."""
    return np.int32(m.thread.notes["index"])


@rule("grid.size")
def grid_size(m: Step, *, axis: int) -> Any:
    """Size of a grid axis, which may be known only at run time."""
    return np.int32(m.launch.grid[axis])
