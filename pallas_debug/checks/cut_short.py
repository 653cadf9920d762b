"""What is said of a launch that was cut short, and in which loop it went round and round.

Evidence is the second half of the launch's events: one thread made a good part of them,
in one block, all inside one loop. A long grid looks otherwise: no block has so many.
A loop may also record nothing. Then many instructions follow the last event, and the tape
says which loop can go round without one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pallas_debug import ir
from pallas_debug.checks.aborts.foreseen import scopes_of
from pallas_debug.checks.finding import Finding
from pallas_debug.ir.flow import successors
from pallas_debug.trace.tables import RecordedLaunch
from pallas_debug.trace.trace import Trace

LOOPS = ("while", "scan")
LEAST_EVENTS = 8  # fewer say nothing
SHARE = 0.25  # of the second half, made by one thread in one block
LEAST_SILENT = 100  # times the length of the tape, without an event


@dataclass(frozen=True, kw_only=True)
class Round:
    """A loop that a thread did not leave, and how many of its last events are in it."""

    thread: int
    events: int
    loc: ir.Loc


def finding(trace: Trace, launch: RecordedLaunch, how: str, hint: str) -> Finding:
    """The finding: at the loop that did not end, or else at the kernel."""
    said = (
        f"the recording of {launch.name} {how}: {launch.outcome.message} after "
        f"{len(launch.events):,} events; what follows is unknown"
    )
    loop, silent = None, _silent_steps(trace, launch)
    found = None if silent else last_round(trace, launch)
    if found:
        name = trace.threads[found.thread].name
        said += f"; {name} was in this loop for its last {found.events:,} events"
        loop = found.loc
    elif silent:
        said += f"; its last {silent:,} instructions made no event"
        loop = silent_loop(launch.kernel)
        said += "; they went round this loop" if loop else ""
    if loop:
        hint = f"if the loop never ends, look at its condition; else {hint}"
    elif silent:
        hint = f"if some loop never ends, look at its condition; else {hint}"
    return Finding(
        message=said,
        hint=hint,
        loc=loop or launch.loc,
        launch=launch.number,
        threads=(found.thread,) if found else (),
        events=(launch.last_event - 1,) if launch.events else (),
    )


def last_round(trace: Trace, launch: RecordedLaunch) -> Round | None:
    """The loop that a launch was in when it was cut short, if one stands out."""
    first = launch.first_event + len(launch.events) // 2
    rows = slice(first, launch.last_event)
    columns, stride = trace.columns, launch.blocks + 1
    places = columns.thread[rows].astype(np.int64) * stride + columns.block[rows] + 1
    if len(places) < LEAST_EVENTS:
        return None
    found, counts = np.unique(places, return_counts=True)
    most = int(found[counts.argmax()])
    instrs = columns.instr[rows][places == most]
    repeated = np.unique(instrs)
    if len(instrs) < SHARE * len(places) or len(repeated) > len(instrs) // 2:
        return None  # many take part, or one goes straight on
    loop = _loop_around(launch.kernel, [int(instrs[-1]), *map(int, repeated)])
    if loop is None or loop.loc < 0:
        return None
    loc = launch.kernel.locs[loop.loc]
    return Round(thread=most // stride, events=len(instrs), loc=loc)


def _loop_around(kernel: ir.Kernel, instrs: list[int]) -> ir.Scope | None:
    """The innermost loop that has all these instructions in it."""
    common = set.intersection(*(set(scopes_of(kernel, instr)) for instr in instrs))
    for number in scopes_of(kernel, instrs[0]):
        if number in common and kernel.scopes[number].kind in LOOPS:
            return kernel.scopes[number]
    return None


def _silent_steps(trace: Trace, launch: RecordedLaunch) -> int:
    """Instructions after the last event; 0 where a way without loops may be as long."""
    last = trace.columns.step[launch.last_event - 1] if launch.events else 0
    steps = launch.steps - int(last)
    return steps if steps > LEAST_SILENT * max(len(launch.kernel.tape), 1) else 0


def silent_loop(kernel: ir.Kernel) -> ir.Loc | None:
    """The only loop that can go round without an event; with others in it, the outer."""
    found = set[int]()
    for jump, instr in enumerate(kernel.tape):
        if instr.op == "ir.jump" and instr.targets[0] <= jump:
            loops = [s for s in scopes_of(kernel, jump) if _is_loop(kernel, s)]
            if loops and _goes_silently(kernel.tape, instr.targets[0], jump):
                found.add(loops[0])
    outer = [s for s in found if not found & _around(kernel, s)]
    loc = kernel.scopes[outer[0]].loc if len(outer) == 1 else -1
    return kernel.locs[loc] if loc >= 0 else None


def _is_loop(kernel: ir.Kernel, scope: int) -> bool:
    return kernel.scopes[scope].kind in LOOPS


def _around(kernel: ir.Kernel, scope: int) -> set[int]:
    return set(kernel.scopes_around(scope)[1:])


def _goes_silently(tape: ir.Tape, top: int, jump: int) -> bool:
    """Whether a way from one position to another passes no instruction with an event."""
    seen, todo = {top}, [top]
    while todo:
        position = todo.pop()
        if position == jump:
            return True
        instr = tape[position]
        if instr.accesses or instr.sync or instr.op == "grid.next":
            continue
        following = {n for n in successors(tape, position) if top <= n <= jump} - seen
        seen |= following
        todo += following
    return False
