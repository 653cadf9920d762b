"""Source lines and scopes of events, as numbers that can be compared."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pallas_debug import ir
from pallas_debug.trace import Trace


class Instructions(NamedTuple):
    """The instructions of all kernels of a trace, one tape after another.

    Behind each tape stands one more, for an instruction that it does not have.

    Attributes:
      lines: Number of the source line, equal for equal lines, -1 if unknown.
      scopes: Scope in its kernel.
      begins, lengths: Of each launch's tape.
    """

    lines: np.ndarray
    scopes: np.ndarray
    begins: np.ndarray
    lengths: np.ndarray

    def rows(self, trace: Trace, numbers: np.ndarray) -> np.ndarray:
        """Where the instructions of some events stand."""
        launches = trace.columns.launch[numbers]
        instr = np.minimum(trace.columns.instr[numbers], self.lengths[launches])
        return self.begins[launches] + instr


def lines_of(trace: Trace, numbers: np.ndarray) -> np.ndarray:
    """A number for the source line of each of some events, -1 if unknown."""
    table = instructions(trace)
    return table.lines[table.rows(trace, numbers)]


def scopes_of(trace: Trace, numbers: np.ndarray) -> np.ndarray:
    """The scope of each of some events in its kernel."""
    table = instructions(trace)
    return table.scopes[table.rows(trace, numbers)]


def instructions(trace: Trace) -> Instructions:
    """The table of a trace, made once."""
    found = trace.caches.get("instructions")
    if found is None:
        found = trace.caches["instructions"] = _made(trace)
    return found


def _made(trace: Trace) -> Instructions:
    known: dict[tuple[str, int], int] = {}
    starts: dict[int, int] = {}
    lines: list[int] = []
    scopes: list[int] = []
    for launch in trace.launches:
        kernel = launch.kernel
        if id(kernel) in starts:
            continue
        starts[id(kernel)] = len(lines)
        for position, instr in enumerate(kernel.tape):
            loc = kernel.loc_of(position)
            key = (loc.file, loc.line) if loc else None
            lines.append(known.setdefault(key, len(known)) if key else -1)
            scopes.append(instr.scope)
        lines.append(-1)
        scopes.append(0)
    begins = [starts[id(launch.kernel)] for launch in trace.launches]
    lengths = [len(launch.kernel.tape) for launch in trace.launches]
    return Instructions(*map(np.array, (lines, scopes, begins, lengths)))


def inside(kernel: ir.Kernel, scope: int) -> np.ndarray:
    """Which scopes of a kernel are a scope or lie in it."""
    found = np.zeros(len(kernel.scopes), bool)
    for number, entry in enumerate(kernel.scopes):
        found[number] = number == scope or (entry.parent >= 0 and found[entry.parent])
    return found
