"""Warps of a warpgroup, and clusters that a running one takes off the queue."""

from __future__ import annotations

from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.errors import UnsupportedForm
from pallas_debug.machine import peers, start
from pallas_debug.machine.rules.pallas_semaphores import element
from pallas_debug.machine.rules.registry import rule
from pallas_debug.machine.step import Step, Target

ANSWER_BYTES = 16


@rule("gpu.warp_map", wants_instr=True)
def warp_map(
    m: Step,
    instr: ir.Instr,
    *values: Any,
    slots: tuple[int, ...],
    number: int,
    warps: int,
) -> None:
    """Starts a thread for each warp, with the captured values in its registers."""
    m.thread.notes["warps"] = warps
    for warp in range(warps):
        registers: list[Any] = [None] * m.kernel.registers
        for slot, value in zip(slots, values, strict=True):
            registers[slot] = value
        registers[number] = np.int32(warp)
        child = m.spawn("warp", instr.targets[0], registers, "warp", warp)
        m.state.threads[child].notes["warp"] = (m.tid, warp)
    m.commit("warp")


@rule("gpu.warp_join", waits=True)
def warp_join(m: Step) -> bool:
    return m.join("warp", 0)


@rule("gpu.cluster_cancel_arrive")
def cluster_cancel_arrive(
    m: Step, barrier: Target, *, axes: tuple[str, ...], thread_name: str
) -> None:
    """The first warpgroup expects the answer, the others arrive at once."""
    ref, index = element(m, barrier)
    if thread_name in axes and m.thread.notes["index"] > 0:
        m.arrive(ref, index)
    else:
        m.land(ref, index, 0, expected=ANSWER_BYTES)


@rule("gpu.try_cluster_cancel", wants_instr=True)
def try_cluster_cancel(
    m: Step,
    instr: ir.Instr,
    *values: Any,
    extra: int,
    axes: tuple[str, ...],
    thread_name: str,
) -> None:
    """The first thread of the first block along the axes asks, for all of them."""
    if m.launch.mesh:
        raise UnsupportedForm(
            op=instr.op,
            form="a launch on several devices, whose clusters begin together",
            way="take the work of a device in a loop over its own part of the grid",
            loc=m.kernel.loc_of(m.pc),
        )
    blocks = peers.group(m, axes)
    is_first = thread_name not in axes or m.thread.notes["index"] == 0
    if is_first and blocks[0] is m.thread.block:
        m.spawn("agent", instr.targets[0], [*values, *[None] * extra])


@rule("gpu.cluster_cancel_answer")
def cluster_cancel_answer(m: Step, result: Target, barrier: Target) -> None:
    """Takes a cluster off the queue; each block of the asking one gets the answer."""
    number = start.claim(m, queued=True)
    answer = np.array([number, number >= 0, 0, 0], np.int32)
    ref, plan, dyn = result
    done, index = element(m, barrier)
    for block in m.cluster(m.thread.block):
        target = (peers.peer(m, ref, block), plan, dyn)
        shape, dtype = m.place(target).shape, m.memory(target[0]).data.dtype
        m.write(target, answer.view(dtype).reshape(shape))
        m.land(peers.peer(m, done, block), index, ANSWER_BYTES)


@rule("gpu.query_cluster_cancel")
def query_cluster_cancel(m: Step, result: Target, *, axes: tuple[int, ...]) -> Any:
    number, ok, *_ = np.ascontiguousarray(m.read(result)).reshape(-1).view(np.int32)
    point = start.unravel(max(int(number), 0), m.launch.grid)
    return (*(np.int32(point[axis]) for axis in axes), np.bool_(ok == 1))
