"""Copies between global and shared memory: the agent reads, writes, arrives."""

from __future__ import annotations

from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.machine import devices, peers
from pallas_debug.machine.rules.pallas_places import peek
from pallas_debug.machine.rules.pallas_semaphores import element
from pallas_debug.machine.rules.registry import rule
from pallas_debug.machine.step import Step, Target
from pallas_debug.trace.schema import Kind

REDUCTIONS = {
    "add": lambda old, new: old + new,
    "max": np.maximum,
    "min": np.minimum,
    "and": lambda old, new: old & new,
    "or": lambda old, new: old | new,
    "xor": lambda old, new: old ^ new,
    "inc": lambda old, new: np.where(old >= new, 0, old + 1).astype(old.dtype),
    "dec": lambda old, new: np.where((old == 0) | (old > new), new, old - 1).astype(
        old.dtype
    ),
}


def starts(predicate: Any, values: tuple) -> bool:
    """Whether an operation takes place: `predicate` is a number of a value, or known."""
    if predicate is None or isinstance(predicate, bool):
        return predicate is not False
    return bool(values[predicate])


@rule("gpu.copy_gmem_to_smem", wants_instr=True)
def copy_gmem_to_smem(
    m: Step, instr: ir.Instr, *values: Any, extra: int, predicate: Any, grouped: bool
) -> None:
    """Starts a copy's thread; without a barrier it is a group to wait for."""
    if starts(predicate, values):
        family = "tma_load" if grouped else ""
        m.spawn("tma", instr.targets[0], [*values, *[None] * extra], family)
    if grouped:
        m.commit("tma_load")


@rule("gpu.wait_gmem_to_smem", waits=True)
def wait_gmem_to_smem(m: Step, *, pending: int) -> bool:
    return m.join("tma_load", pending)


@rule("gpu.copy_smem_to_gmem", wants_instr=True)
def copy_smem_to_gmem(
    m: Step, instr: ir.Instr, *values: Any, extra: int, predicate: Any
) -> None:
    if starts(predicate, values):
        m.spawn("tma", instr.targets[0], [*values, *[None] * extra], "tma_store")


@rule("gpu.async_prefetch")
def async_prefetch(m: Step, region: Target) -> None:
    """A cache is nothing that a kernel can see."""


@rule("gpu.async_store_smem", wants_instr=True)
def async_store_smem(m: Step, instr: ir.Instr, *values: Any, extra: int) -> None:
    m.spawn("tma", instr.targets[0], [*values, *[None] * extra])


@rule("gpu.commit_group")
def commit_group(m: Step) -> None:
    m.commit("tma_store")


@rule("gpu.wait_smem_to_gmem", waits=True)
def wait_smem_to_gmem(m: Step, pending: Any, *, reads: bool) -> bool:
    return m.join("tma_store", int(pending), reads=reads)


@rule("gpu.commit_smem", verb="fence")
def commit_smem(m: Step) -> None:
    m.fence()


@rule("gpu.tma_read")
def tma_read(m: Step, source: Target, *, zeros: bool) -> Any:
    """What lies outside the array arrives as zeros, if the copy says so."""
    outside = m.memory(source[0]).data.dtype.type(0) if zeros else None
    return m.read(source, outside=outside)


@rule("gpu.tma_write", verb="write")
def tma_write(m: Step, target: Target, value: Any) -> None:
    m.write(target, value)


@rule("gpu.tma_store")
def tma_store(
    m: Step,
    target: Target,
    value: Any,
    *,
    reduction: str | None,
    axes: tuple[str, ...] = (),
) -> None:
    """To each device along the axes; elements outside the array are dropped."""
    for place in devices.targets(m, target, axes) if axes else (target,):
        if reduction is None:
            m.write(place, value)
        else:
            combine = REDUCTIONS[reduction]
            m.write(place, combine(peek(m, place), value), kind=Kind.UPDATE)


@rule("gpu.tma_reads_done", verb="reads_done")
def tma_reads_done(m: Step) -> None:
    m.reads_done()


@rule("gpu.tma_arrive")
def tma_arrive(m: Step, barrier: Target) -> None:
    m.arrive(*element(m, barrier))


@rule("gpu.tma_multicast")
def tma_multicast(
    m: Step, target: Target, value: Any, *, axes: tuple[str, ...]
) -> None:
    """Writes the same to the corresponding place of each block along the axes."""
    ref, plan, dyn = target
    for block in peers.group(m, axes):
        m.write((peers.peer(m, ref, block), plan, dyn), value)


@rule("gpu.tma_land")
def tma_land(
    m: Step, barrier: Target, *, axes: tuple[str, ...], amount: int, leader: bool
) -> None:
    """This block's part has come in, here and there, or counts for the first block."""
    ref, index = element(m, barrier)
    blocks, own = peers.group(m, axes), m.thread.block
    for block in blocks[:1] if leader else blocks:
        expected = amount * len(blocks) if block is own else 0
        m.land(peers.peer(m, ref, block), index, amount, expected)
