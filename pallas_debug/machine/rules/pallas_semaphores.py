"""Semaphores: counted in units by signal and wait, in bytes by copies."""

from __future__ import annotations

from typing import Any

import numpy as np

from pallas_debug.machine import peers
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


@rule("pallas.own_device")
def own_device(m: Step, *ids: Any, axes: tuple[Any, ...], op: str) -> None:
    """Goes on only if these ids name this very device and core.

    A launch is one device's: what reaches for another is beyond this machine.
    """
    for axis, value in zip(axes, ids, strict=True):
        own = _own(m, axis)
        if int(value) != own:
            raise peers.elsewhere(m, op, axis, int(value), own)


def _own(m: Step, axis: Any) -> int:
    """This device's or core's number along an axis, or a tuple of axes."""
    if axis == "logical":
        return m.device
    if axis == "core":
        return max(m.thread.block.linear, 0)
    names = axis if isinstance(axis, tuple) else (axis,)
    number = 0
    for name in names:
        if isinstance(name, int):
            name = list(m.launch.axes)[name] if name < len(m.launch.axes) else ""
        ids, sizes = m.thread.block.ids, dict(m.launch.axes)
        sizes |= dict(zip(m.kernel.grid.names, m.launch.grid, strict=False))
        own = m.launch.device.get(name, ids.get(name, 0))
        number = number * sizes.get(name, 1) + own
    return number
