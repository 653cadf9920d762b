"""Where a breakpoint stops: on its line, and where the thread enters what is called there.

The events of a helper function stand on its own lines. A breakpoint on the line that
calls it stops at the first of them, each time that the line is executed; so it does on
the line of a loop or a branch. The viewer has the same rules in TypeScript.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.ir.kernel import WITHOUT_SITE
from pallas_debug.session.places import scopes_of
from pallas_debug.trace import Trace
from pallas_debug.trace.entries import distinct, entries
from pallas_debug.trace.query import called_from, sites_on

NOWHERE = (-1, -1, -1)
Find = Callable[[Mapping[str, Any]], np.ndarray]


def stops(trace: Trace, conditions: Mapping[str, Any], find: Find) -> np.ndarray:
    """Sorted events at which a breakpoint with these conditions stops.

    `find` gives the events that meet conditions.
    """
    found, line = find(conditions), conditions.get("line")
    if line is None:
        return found
    called = called_from(trace, line)
    if not called.any():
        return found
    numbers, entry = _executions(trace, called, line)
    rest = {name: value for name, value in conditions.items() if name != "line"}
    met = np.zeros(len(trace), bool)
    met[find(rest)] = True
    kept = met[numbers]
    _, first = np.unique(entry[kept], return_index=True)
    return np.union1d(found, numbers[kept][first])


def _executions(
    trace: Trace, called: np.ndarray, line: Any
) -> tuple[np.ndarray, np.ndarray]:
    """The events in what a line calls, thread by thread; which execution each is of."""
    columns = trace.columns
    order, _ = columns.by_thread
    inside = called[order]
    goes_on = np.zeros(len(order), bool)
    goes_on[1:] = inside[1:] & inside[:-1]
    for column in (columns.thread[order], columns.launch[order]):
        goes_on[1:] &= column[1:] == column[:-1]
    goes_on[1:] &= _one_execution(trace, order, line)
    goes_on &= ~_anew(trace, called, line)[order]
    execution = np.cumsum(inside & ~goes_on)
    return order[inside], execution[inside]


def _one_execution(trace: Trace, order: np.ndarray, line: Any) -> np.ndarray:
    """Whether each event but the first can be of the execution of the one before."""
    scopes, launches = scopes_of(trace, order), trace.columns.launch[order]
    same = np.zeros(max(len(order) - 1, 0), bool)
    for launch in trace.launches:
        opened = _opened(launch.kernel, line)
        mine = (launches == launch.number)[1:]
        scope, parent, site = opened[np.where(mine, scopes[1:], 0)].T
        before, its_parent, its_site = opened[np.where(mine, scopes[:-1], 0)].T
        beside = (parent == its_parent) & (site != its_site)
        same |= mine & ((scope == before) | beside)
    return same


def _opened(kernel: ir.Kernel, line: Any) -> np.ndarray:
    """For each scope the outermost around it that a line opens, its parent, its place."""
    rows = list[tuple[int, int, int]]()
    for number, scope in enumerate(kernel.scopes):
        row = rows[scope.parent] if scope.parent >= 0 else NOWHERE
        own = kernel.locs[scope.loc : scope.loc + 1] if scope.loc >= 0 else ()
        if row == NOWHERE and scope.kind not in WITHOUT_SITE and sites_on(own, line):
            row = number, scope.parent, scope.loc
        rows.append(row)
    return np.array(rows, np.int64).reshape(-1, 3)


def _anew(trace: Trace, called: np.ndarray, line: Any) -> np.ndarray:
    """Which events are the first after the line was come to once more."""
    found = np.zeros(len(trace), bool)
    table = entries(trace)
    inside = called[table.event]
    events, kept = table.event[inside], table.kept[inside]
    columns = trace.columns
    rows, which = distinct(columns.launch[events], columns.instr[events], kept)
    anew = np.zeros(len(rows), bool)
    for number, (launch, instr, left) in enumerate(rows):
        sites = trace.launches[launch].kernel.callers_of(instr)
        anew[number] = sites_on(sites[: len(sites) - left], line)
    found[events] = anew[which]
    return found
