"""Mosaic GPU: atomics, devices, and answers to who is where in a cluster."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from pallas_debug.machine import devices, peers
from pallas_debug.machine.rules.pallas_semaphores import element
from pallas_debug.machine.rules.registry import rule
from pallas_debug.machine.rules.triton import OPERATIONS, atomic_rmw
from pallas_debug.machine.step import Step, Target


@rule("gpu.atomic_store")
def atomic_store(m: Step, ref: Target, value: Any, *, operation: str) -> None:
    atomic_rmw(m, ref, value, None, operation=operation)


@rule("gpu.cluster_rank")
def cluster_rank(m: Step, *, axes: tuple[str, ...]) -> Any:
    """The block's number among those that differ along `axes`."""
    return np.int32(peers.rank(m, axes))


@rule("gpu.multimem_store")
def multimem_store(m: Step, ref: Target, value: Any, *, axes: tuple[str, ...]) -> None:
    """Stores to the buffer of each device along the axes."""
    for target in devices.targets(m, ref, axes):
        m.write(target, value)


@rule("gpu.multimem_load_reduce")
def multimem_load_reduce(
    m: Step, ref: Target, *, axes: tuple[str, ...], operation: str
) -> Any:
    """Reads from each device along the axes and combines, small floats in float32."""
    values = [m.read(target) for target in devices.targets(m, ref, axes)]
    dtype = np.asarray(values[0]).dtype
    wide = np.dtype(np.float32) if dtype.itemsize < 4 and dtype.kind != "i" else dtype
    combine = OPERATIONS[operation]
    total = functools.reduce(combine, (np.asarray(v).astype(wide) for v in values))
    return total.astype(dtype)


@rule("gpu.semaphore_signal_multicast")
def semaphore_signal_multicast(
    m: Step, semaphore: Target, amount: Any, *, axes: tuple[str, ...]
) -> None:
    """Signals the semaphore of each device along the axes."""
    for target in devices.targets(m, semaphore, axes):
        m.signal(*element(m, target), int(amount))
