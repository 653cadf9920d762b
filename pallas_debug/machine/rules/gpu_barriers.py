"""Barriers: an arrival at a cluster's barrier reaches each block's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.machine import peers
from pallas_debug.machine.rules.pallas_semaphores import element
from pallas_debug.machine.rules.registry import rule
from pallas_debug.machine.step import Step, Target

SPINS = 100


@rule("gpu.barrier_arrive")
def barrier_arrive(
    m: Step,
    barrier: Target,
    predicate: Any,
    *,
    groups: tuple[tuple[str, ...], ...],
    leader: bool,
) -> None:
    if not predicate:
        return
    ref, index = element(m, barrier)
    if not groups:
        m.arrive(ref, index)
        return
    # A block that several groups have in common is reached once.
    reached = {b.linear: b for axes in groups for b in peers.group(m, axes)}
    if leader:
        first = peers.group(m, [axis for axes in groups for axis in axes])[0]
        reached = {first.linear: first}
    for number in sorted(reached):
        m.arrive(peers.peer(m, ref, reached[number]), index)


@rule("gpu.barrier_wait", waits=True)
def barrier_wait(m: Step, barrier: Target) -> bool:
    return m.wait(*element(m, barrier))


@rule("gpu.barrier_yield", waits=True)
def barrier_yield(m: Step, barrier: Target) -> bool:
    """Passes the turn on once; sleeps when nothing else has happened for long."""
    ref, index = element(m, barrier)
    if m.phase_ready(ref, index):
        return True
    notes, events = m.thread.notes, m.writer.events
    if notes.pop("yielded", False):
        return True
    spins, seen = notes.get("spins", (0, -1))
    spins = spins + 1 if seen == events and not m.state.ready else 0
    if spins > SPINS:
        return m.wait(ref, index)
    notes["yielded"], notes["spins"] = True, (spins, events)
    m.state.ready.append(m.tid)
    return False


@rule("gpu.barrier_test")
def barrier_test(m: Step, barrier: Target) -> Any:
    """Whether the phase is complete; then it counts as waited for."""
    ref, index = element(m, barrier)
    ready = m.phase_ready(ref, index)
    if ready:
        m.wait(ref, index)
    return np.bool_(ready)


@rule("gpu.named_arrive")
def named_arrive(
    m: Step, number: Any, *, decl: ir.Buffer, amount: int, waits: bool
) -> None:
    """Who also waits does so for this phase, not for one in which it took no part."""
    ref, index = _named(m, decl), int(number)
    if waits:
        m.catch_up(ref, index)
    m.arrive(ref, index, amount)


@rule("gpu.named_wait", waits=True)
def named_wait(m: Step, number: Any, *, decl: ir.Buffer) -> bool:
    return m.wait(_named(m, decl), int(number))


def _named(m: Step, decl: ir.Buffer) -> int:
    """The block's barriers for so many arrivals; the first to ask allocates them."""
    key = ("named", decl.params["num_arrivals"])
    return peers.shared(m, m.thread.block, key, (decl,), 1)[0][0]
