"""Where a breakpoint stops: on its line, and where the thread enters what is called there.

The events of a helper function stand on its own lines. A breakpoint on the line that
calls it stops once each time that the line is executed, at the first event of the line
or of what it calls; so it does on the line of a loop or a branch. The viewer has the same
rules in TypeScript.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.ir.kernel import WITHOUT_SITE
from pallas_debug.trace import Trace
from pallas_debug.trace.entries import distinct, entries, silent
from pallas_debug.trace.query import called_from, sites_on, stands_on

NOWHERE = (-1, -1, -1)
Find = Callable[[Mapping[str, Any]], np.ndarray]


def stops(trace: Trace, conditions: Mapping[str, Any], find: Find) -> np.ndarray:
    """Sorted events at which a breakpoint with these conditions stops.

    `find` gives the events that meet conditions.
    """
    line = conditions.get("line")
    if line is None or not called_from(trace, line).any():
        return find(conditions)
    numbers, execution = _executions(trace, line)
    rest = {name: value for name, value in conditions.items() if name != "line"}
    met = np.zeros(len(trace), bool)
    met[find(rest)] = True
    kept = met[numbers]
    _, first = np.unique(execution[kept], return_index=True)
    return np.sort(numbers[kept][first])


def _executions(trace: Trace, line: Any) -> tuple[np.ndarray, np.ndarray]:
    """A line's events and those in what it calls; which execution each is of."""
    columns = trace.columns
    order, _ = columns.by_thread
    part, is_own = _parts(trace, line)
    anew = _anew(trace, line)[order]
    part, is_own, instr = part[order], is_own[order], columns.instr[order]
    inside = part >= 0
    goes_on = np.zeros(len(order), bool)
    goes_on[1:] = inside[1:] & ~anew[1:] & (instr[1:] > instr[:-1])
    goes_on[1:] |= inside[1:] & ~anew[1:] & ~is_own[1:] & ~is_own[:-1]
    for column in (part, columns.thread[order], columns.launch[order]):
        goes_on[1:] &= column[1:] == column[:-1]
    execution = np.cumsum(inside & ~goes_on)
    return order[inside], execution[inside]


def _parts(trace: Trace, line: Any) -> tuple[np.ndarray, np.ndarray]:
    """Of each event: the part of the tape that is one execution of a line, -1 if none.

    And whether the event is the line's own, in nothing that the line opens.
    """
    part, is_own = np.full(len(trace), -1), np.zeros(len(trace), bool)
    for launch in trace.launches:
        events = slice(launch.first_event, launch.last_event)
        instr = np.minimum(trace.columns.instr[events], len(launch.kernel.tape))
        parts, own = _parts_of(trace, launch.kernel, line)
        part[events], is_own[events] = parts[instr], own[instr]
    return part, is_own


def _parts_of(
    trace: Trace, kernel: ir.Kernel, line: Any
) -> tuple[np.ndarray, np.ndarray]:
    """The same of each instruction, and of none."""
    opened, mute = _opened(kernel, line), silent(trace, kernel)
    parts, is_own = np.full(len(mute), -1), np.zeros(len(mute), bool)
    latest, count = dict[int, int](), 0
    seen = dict[int, dict[tuple[int, str], int]]()
    for at, instr in enumerate(kernel.tape):
        scope, parent, site = opened[instr.scope]
        own = scope < 0
        if mute[at] or (own and not stands_on(kernel.loc_of(at), line)):
            continue
        if own:
            scope, parent, site = -1 - at, instr.scope, instr.loc
        key = site, instr.op if own else ""
        # What the line does a second time it does in another execution.
        if seen.setdefault(parent, {}).get(key, scope) != scope or parent not in latest:
            latest[parent], seen[parent], count = count, {}, count + 1
        seen[parent][key] = scope
        parts[at], is_own[at] = latest[parent], own
    return parts, is_own


def _opened(kernel: ir.Kernel, line: Any) -> list[tuple[int, int, int]]:
    """For each scope the outermost around it that a line opens, its parent, its place."""
    rows = list[tuple[int, int, int]]()
    for number, scope in enumerate(kernel.scopes):
        row = rows[scope.parent] if scope.parent >= 0 else NOWHERE
        own = kernel.locs[scope.loc : scope.loc + 1] if scope.loc >= 0 else ()
        if row == NOWHERE and scope.kind not in WITHOUT_SITE and sites_on(own, line):
            row = number, scope.parent, scope.loc
        rows.append(row)
    return rows


def _anew(trace: Trace, line: Any) -> np.ndarray:
    """Which events are the first after the line was come to once more."""
    found = np.zeros(len(trace), bool)
    table = entries(trace)
    columns, events = trace.columns, table.event
    rows, which = distinct(columns.launch[events], columns.instr[events], table.kept)
    anew = np.zeros(len(rows), bool)
    for number, (launch, instr, left) in enumerate(rows):
        sites = trace.launches[launch].kernel.callers_of(instr)
        anew[number] = sites_on(sites[: len(sites) - left], line)
    found[events] = anew[which]
    return found
