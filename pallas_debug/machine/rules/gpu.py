"""Mosaic GPU: atomics, devices, and answers to who is where in a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from pallas_debug.machine import peers
from pallas_debug.machine.rules.registry import rule
from pallas_debug.machine.rules.triton import atomic_rmw
from pallas_debug.machine.step import Step, Target


@rule("gpu.atomic_store")
def atomic_store(m: Step, ref: Target, value: Any, *, operation: str) -> None:
    atomic_rmw(m, ref, value, None, operation=operation)


@rule("gpu.cluster_rank")
def cluster_rank(m: Step, *, axes: tuple[str, ...]) -> Any:
    """The block's number among those that differ along `axes`."""
    return np.int32(peers.rank(m, axes))


@rule("gpu.only_device")
def only_device(m: Step, *, axes: tuple[str, ...], op: str) -> None:
    """Goes on only if there is no other device along the axes."""
    for axis in axes:
        if m.launch.axes.get(axis, 1) > 1:
            own = m.launch.device[axis]
            raise peers.elsewhere(m, op, axis, int(own == 0), own)
