"""Which data decide where a kernel writes, or whether it does: lengths, groups, pages.

Integers that an index is computed from, that a branch in front of the write asks for, or
that give the size of the grid. Values that are written do not count, nor what a kernel
has computed into memory of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from pallas_debug import ir
from pallas_debug.checks.tapeflow import TapeFlow, tapeflow
from pallas_debug.ir.flow import successors
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.tables import RecordedLaunch
from pallas_debug.trace.trace import Trace

GIVEN = ("input", "scalar", "window")
STORES = ("state.set", "state.swap", "pallas.masked_store", "state.addupdate")
GRID = "the size of the grid"


def deciding(trace: Trace, launch: RecordedLaunch, events: np.ndarray) -> str:
    """What decides where these writes of a launch go, and which there are, or empty."""
    kernel = launch.kernel
    if None in kernel.grid.shape:
        return GRID
    flow, given = tapeflow(trace.caches, kernel), _given(trace, launch)
    positions = _positions(trace, events)
    for position in positions:
        for name in _behind(flow, given, position, _places(kernel.tape[position])):
            return name
    for branch, instr in enumerate(kernel.tape):
        if instr.op == "ir.branch" and _parts(kernel.tape, branch, positions):
            for name in _behind(flow, given, branch, instr.reads()):
                return name
    return ""


def _positions(trace: Trace, events: np.ndarray) -> set[int]:
    """The instructions behind events, and those that started their operations."""
    columns = trace.columns
    launch = trace.launches[int(columns.launch[events[0]])]
    found = set(np.unique(columns.instr[events]).tolist())
    threads = np.unique(columns.thread[events]).tolist()
    found |= {trace.thread_rows[thread].instr for thread in threads}
    return {one for one in found if 0 <= one < len(launch.kernel.tape)}


def _given(trace: Trace, launch: RecordedLaunch) -> dict[int, str]:
    """Instructions that read integers which the caller gave: position → name."""
    columns = trace.columns
    part = slice(launch.first_event, launch.last_event)
    reads = np.flatnonzero(columns.kind[part] == Kind.READ) + launch.first_event
    pairs = np.unique(
        np.stack([columns.instr[reads], columns.object[reads]], 1), axis=0
    )
    rows = trace.buffer_rows
    return {
        int(instr): f"`{rows[number].name}`"
        for instr, number in pairs.tolist()
        if rows[number].role in GIVEN and rows[number].dtype.startswith(("int", "uint"))
    }


def _places(instr: ir.Instr) -> Iterator[int]:
    """The registers that say where an instruction writes, not what."""
    operands = [*instr.ins[1:]] if instr.op in STORES else [*instr.ins]
    for access in instr.accesses:
        operands += access.operands()
    for operand in operands:
        if isinstance(operand, ir.Reg):
            yield operand.number


def _behind(
    flow: TapeFlow, given: dict[int, str], position: int, registers: Iterable[int]
) -> Iterator[str]:
    """Names of given integers that registers are computed from."""
    todo = [(position, register) for register in registers]
    seen: set[int] = set()
    while todo:
        for definer in flow.definers(*todo.pop()):
            if definer in given:
                yield given[definer]
            elif definer not in seen:
                seen.add(definer)
                todo += [(definer, one) for one in flow.tape[definer].reads()]


def _parts(tape: ir.Tape, branch: int, positions: set[int]) -> bool:
    """Whether one way from a branch leads to a position without coming back to it."""
    ways = [_ahead(tape, target, branch) & positions for target in tape[branch].targets]
    return any(way != ways[0] for way in ways)


def _ahead(tape: ir.Tape, start: int, barred: int) -> set[int]:
    found, todo = {start}, [start]
    while todo:
        at = todo.pop()
        for position in successors(tape, at) if at != barred else ():
            if position not in found and position < len(tape):
                found.add(position)
                todo.append(position)
    return found
