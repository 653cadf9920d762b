"""Scoped allocation: buffers of a block or a thread, shared where the kernel says so."""

from __future__ import annotations

from typing import Any

from pallas_debug import ir
from pallas_debug.machine import peers
from pallas_debug.machine.rules.registry import rule
from pallas_debug.machine.step import Step


@rule("scope.alloc")
def alloc(m: Step, *, decls: tuple[ir.Buffer, ...], users: int) -> Any:
    """New buffers; the first of `users` threads allocates, the others join it."""
    thread = m.thread
    if users == 1 and thread.block.cluster not in m.state.clusters:
        held = [peers.new(m, decl) for decl in decls]
    else:
        count = thread.counters.get(m.pc, 0)
        thread.counters[m.pc] = count + 1
        key = (m.pc, count)
        if users == 1:
            key += (thread.notes.get("index", -1),)
        held = peers.shared(m, thread.block, key, decls, users)[0]
    return held[0] if len(held) == 1 else tuple(held)


@rule("scope.free")
def free(m: Step, *held: int, users: int) -> None:
    """Ends the buffers when the last of `users` threads leaves."""
    block = m.thread.block
    in_cluster = block.cluster in m.state.clusters
    if users > 1 or in_cluster:
        for key, entry in reversed(block.shared.items()):
            if entry[0] == list(held):
                entry[1] -= 1
                if entry[1] > 0:
                    return
                if not in_cluster:  # where another block may still look for it
                    del block.shared[key]
                break
    for number in held:
        m.free(number)


@rule("scope.alloc_shared")
def alloc_shared(
    m: Step, *, decls: tuple[ir.Buffer, ...], axes: tuple[str, ...]
) -> Any:
    """New buffers in memory that a TPU's cores along `axes` share; the first allocates."""
    thread, cores = m.thread, peers.group(m, axes)
    count = thread.counters.get(m.pc, 0)
    thread.counters[m.pc] = count + 1
    held = peers.shared(m, cores[0], (m.pc, count), decls, len(cores))[0]
    return held[0] if len(held) == 1 else tuple(held)


@rule("scope.free_shared")
def free_shared(m: Step, *held: int, axes: tuple[str, ...]) -> None:
    """Ends the buffers when the last core leaves."""
    for entry in reversed(peers.group(m, axes)[0].shared.values()):
        if entry[0] == list(held):
            entry[1] -= 1
            if entry[1] > 0:
                return
            break
    for number in held:
        m.free(number)
