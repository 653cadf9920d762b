"""Scoped allocation: buffers of a block or a thread, shared where the kernel says so."""

from __future__ import annotations

from typing import Any

from pallas_debug import ir
from pallas_debug.machine.rules.registry import rule
from pallas_debug.machine.step import Step


@rule("scope.alloc")
def alloc(m: Step, *, decls: tuple[ir.Buffer, ...], users: int) -> Any:
    """New buffers; the first of `users` threads allocates, the others join it."""
    if users == 1:
        held = [m.alloc(decl) for decl in decls]
    else:
        thread = m.thread
        count = thread.counters.get(m.pc, 0)
        thread.counters[m.pc] = count + 1
        shared = thread.block.shared
        entry = shared.get((m.pc, count))
        if entry is None:
            entry = shared[(m.pc, count)] = [[m.alloc(d) for d in decls], users]
        held = entry[0]
    return held[0] if len(held) == 1 else tuple(held)


@rule("scope.free")
def free(m: Step, *held: int, users: int) -> None:
    """Ends the buffers when the last of `users` threads leaves."""
    if users > 1:
        shared = m.thread.block.shared
        for key, entry in shared.items():
            if entry[0] == list(held):
                entry[1] -= 1
                if entry[1] > 0:
                    return
                del shared[key]
                break
    for number in held:
        m.free(number)
