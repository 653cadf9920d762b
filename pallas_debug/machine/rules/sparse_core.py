"""A TPU's SparseCore: the barrier of the subcores of one core."""

from __future__ import annotations

from pallas_debug import ir
from pallas_debug.machine import peers
from pallas_debug.machine.rules.registry import rule
from pallas_debug.machine.step import Step


@rule("sc.barrier_arrive")
def barrier_arrive(m: Step, *, decl: ir.Buffer, axis: str) -> None:
    m.arrive(_barrier(m, decl, axis), 0)


@rule("sc.barrier_wait", waits=True)
def barrier_wait(m: Step, *, decl: ir.Buffer, axis: str) -> bool:
    return m.wait(_barrier(m, decl, axis), 0)


def _barrier(m: Step, decl: ir.Buffer, axis: str) -> int:
    """One for the core, kept with its first subcore."""
    first = peers.group(m, [axis])[0]
    return peers.shared(m, first, ("subcores",), (decl,), 1)[0][0]
