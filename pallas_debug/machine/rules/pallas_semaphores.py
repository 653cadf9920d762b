"""Semaphores: counted in units by signal and wait, in bytes by copies."""

from __future__ import annotations

from typing import Any

import numpy as np

from pallas_debug.machine import devices
from pallas_debug.machine.rules.registry import rule
from pallas_debug.machine.step import Step, Target

BYTE = np.dtype(np.int8)


def element(m: Step, target: Target) -> tuple[int, int]:
    """The semaphore array of a target, and which of its semaphores is meant.

    A place outside the array gives a number outside it, too: nobody waits there.
    """
    ref, plan, dyn = target
    key = ("element", dyn)
    number = plan.cache.get(key)
    if number is None:
        shape = m.memory(ref).decl.shape
        row = plan.locate(shape, BYTE, ref, dyn).row
        number = _linear(row[1::3], shape)
        plan.cache[key] = number
    return ref, number


def _linear(starts: tuple[int, ...], shape: tuple[int, ...]) -> int:
    if len(shape) == 1:
        return starts[0]
    number = 0
    for start, size in zip(starts, shape, strict=True):
        if not 0 <= start < size:
            return int(np.prod(shape))
        number = number * size + start
    return number


@rule("pallas.semaphore_signal")
def semaphore_signal(m: Step, semaphore: Target, amount: Any) -> None:
    m.signal(*element(m, semaphore), int(amount))


@rule("pallas.semaphore_wait", waits=True)
def semaphore_wait(m: Step, semaphore: Target, amount: Any, decrement: Any) -> bool:
    return m.take(*element(m, semaphore), int(amount), bool(decrement))


@rule("pallas.semaphore_read")
def semaphore_read(m: Step, semaphore: Target) -> Any:
    ref, number = element(m, semaphore)
    counts = m.state.semaphores[ref].count
    inside = 0 <= number < len(counts)
    return np.int32(counts[number]) if inside else np.int32(0)


@rule("pallas.on_device")
def on_device(m: Step, ref: int, *ids: Any, axes: tuple[Any, ...], op: str) -> int:
    """The same buffer on another device of the mesh, for what `op` does with it."""
    return devices.reach(m, ref, axes, ids, op)
