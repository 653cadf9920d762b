"""Where a thread enters a call, a loop or a branch anew although it did not seem to leave.

Two events in a row of one thread may both stand in what one line calls, and yet belong
to two executions of that line: a loop around it went on between them. Then the tape went
back, and how many instructions were executed says how far.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pallas_debug import ir
from pallas_debug.ir.flow import successors
from pallas_debug.trace.trace import Trace

LOOPS = ("scan", "while", "grid")
FARTHEST = 4096  # instructions that are followed
UNKNOWN = -1


class Entries(NamedTuple):
    """The first events of new executions, sorted.

    Attributes:
      event: Its number.
      kept: How many of its callers, counted from the outermost, still are those of the
        thread's event before; the others were entered anew.
    """

    event: np.ndarray
    kept: np.ndarray


def entries(trace: Trace) -> Entries:
    """The table of a trace, made once."""
    found = trace.caches.get("entries")
    if found is None:
        found = trace.caches["entries"] = _made(trace)
    return found


def _made(trace: Trace) -> Entries:
    columns = trace.columns
    order, _ = columns.by_thread
    before, after = order[:-1], order[1:]
    launch = columns.launch.astype(np.int64)
    instr = columns.instr.astype(np.int64)
    step = columns.step.astype(np.int64)
    steps = step[after] - step[before]
    back = (columns.thread[before] == columns.thread[after]) & (
        launch[before] == launch[after]
    )
    back &= (instr[after] <= instr[before]) & (steps != 0)
    before, after, steps = before[back], after[back], steps[back]
    # Who else ran between them, and for how long, is not known.
    steps = np.where(after == before + 1, steps, UNKNOWN)
    rows, which = distinct(launch[after], instr[before], instr[after], steps)
    kept = np.array([_kept(trace, *row) for row in rows], np.int64)[which]
    is_new = kept >= 0
    numbers = after[is_new]
    sorted_ = np.argsort(numbers)
    return Entries(numbers[sorted_], kept[is_new][sorted_])


def distinct(*columns: np.ndarray) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """The different rows of some columns, and which of them each row is."""
    which = np.zeros(len(columns[0]), np.int64)
    first = which[:1]
    for column in columns:
        _, codes = np.unique(column, return_inverse=True)
        keys = which * (int(codes.max(initial=0)) + 1) + codes
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    rows = zip(*(column[first].tolist() for column in columns), strict=True)
    return list(rows), which


def _kept(trace: Trace, launch: int, begin: int, end: int, steps: int) -> int:
    """How many callers stay, -1 if all do, from one instruction to an earlier one."""
    row = trace.launches[launch]
    kernel = row.kernel
    if max(begin, end) >= len(kernel.tape):
        return -1
    outer = kernel.scopes_around(kernel.tape[begin].scope)
    path = kernel.scopes_around(kernel.tape[end].scope)
    loops = [s for s in path if s in outer and kernel.scopes[s].kind in LOOPS]
    if not loops:
        return -1
    loop = loops[0]
    if len(loops) > 1 and 0 < steps <= FARTHEST:
        mute = silent(trace, kernel)
        reached = (s for s in loops if _leads(kernel, mute, begin, end, steps, s))
        loop = next(reached, loop)
    kept = len(kernel.sites[loop])
    return kept if kept < len(kernel.sites[kernel.tape[end].scope]) else -1


def _leads(
    kernel: ir.Kernel,
    mute: np.ndarray,
    begin: int,
    end: int,
    steps: int,
    loop: int,
) -> bool:
    """Whether so many steps within a loop, all silent, can lead from one to the other."""
    inside = {
        s for s in range(loop, len(kernel.scopes)) if loop in kernel.scopes_around(s)
    }
    at = {begin}
    for left in range(steps, 0, -1):
        follow = {n for pc in at for n in successors(kernel.tape, pc)}
        follow = {n for n in follow if n < len(kernel.tape)}
        at = {n for n in follow if kernel.tape[n].scope in inside}
        if left == 1:
            return end in at
        at = {n for n in at if mute[n]}
        if not at:
            return False
    return False


def silent(trace: Trace, kernel: ir.Kernel) -> np.ndarray:
    """The instructions of a kernel that no event comes from."""
    key = f"silent {id(kernel)}"
    found = trace.caches.get(key)
    if found is None:
        found = np.ones(len(kernel.tape) + 1, bool)
        for row in trace.launches:
            if row.kernel is kernel:
                part = slice(row.first_event, row.last_event)
                found[np.minimum(trace.columns.instr[part], len(kernel.tape))] = False
        trace.caches[key] = found
    return found
