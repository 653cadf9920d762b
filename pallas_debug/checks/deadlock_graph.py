"""Who waits for whom: the wait-for graph of a deadlock, as plain data.

An edge goes from a thread that waits to one that could have signalled what it waits for:
it did so before, or its way on from where it stands leads to a line that would. If no
thread could, those that ended are the ones to ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from pallas_debug import ir
from pallas_debug.checks import outside_barriers, places
from pallas_debug.ir.flow import reachable
from pallas_debug.trace.tables import RecordedLaunch
from pallas_debug.trace.trace import Trace

if TYPE_CHECKING:
    from pallas_debug.checks.deadlock_sources import Wait

SHOWN = 100
Sources = Sequence[dict[str, Any]]


def graph(
    trace: Trace,
    launch: RecordedLaunch,
    waits: Sequence[Wait],
    sources_of: Callable[[Wait], Sources],
) -> dict[str, Any]:
    """`{"nodes": […], "edges": […]}` over threads; the first waits if there are many."""
    waiting = {wait.thread: wait for wait in waits}
    tape = launch.kernel.tape
    ways = cache(lambda instr: reachable(tape, instr))  # pyright: ignore
    edges: list[dict[str, Any]] = []
    for wait in waits[:SHOWN]:
        edges += _edges(trace, launch, wait, waiting, sources_of(wait), ways)
    threads = dict.fromkeys([wait.thread for wait in waits[:SHOWN]])
    threads |= dict.fromkeys(edge["to"] for edge in edges)
    nodes = [_node(trace, launch, number, waiting.get(number)) for number in threads]
    return {"nodes": nodes, "edges": edges}


def _node(
    trace: Trace, launch: RecordedLaunch, number: int, wait: Wait | None
) -> dict[str, Any]:
    """A thread: what it does, and for what it waits at which line."""
    node: dict[str, Any] = {"thread": number, "name": trace.threads[number].name}
    if wait is None:
        return node | _place(None) | {"state": "ended", "object": "", "needed": 0}
    return (
        node
        | _place(launch.kernel.loc_of(wait.instr))
        | {
            "state": "waits",
            "object": _name(trace, wait),
            "needed": wait.needed,
        }
    )


def _edges(
    trace: Trace,
    launch: RecordedLaunch,
    wait: Wait,
    waiting: dict[int, Wait],
    sources: Sources,
    ways: Callable[[int], set[int]],
) -> list[dict[str, Any]]:
    edge = {
        "from": wait.thread,
        "object": _name(trace, wait),
        "number": wait.number,
        "element": wait.element,
    }
    if wait.number < 0:
        started = _place(launch.kernel.loc_of(trace.thread_rows[wait.element].instr))
        return [edge | started | {"to": wait.element, "state": "waits"}]
    found: dict[int, dict[str, Any]] = {}
    for source in sources:
        signals = edge | _place(source["loc"])
        future = [
            other
            for other in _companions(trace, wait)
            if other in waiting and source["instr"] in ways(waiting[other].instr)
        ]
        for other in (*source["threads"], *future):
            state = "waits" if other in waiting else "ended"
            found.setdefault(other, signals | {"to": other, "state": state})
    # Its own way leads through what only others do: the tape is one for all threads.
    if len(found) > 1:
        found.pop(wait.thread, None)
    elif not found:
        for other in _companions(trace, wait):
            if other not in waiting:
                ended = edge | _place(None)
                found[other] = ended | {"to": other, "state": "ended"}
    return list(found.values())[:SHOWN]


def _companions(trace: Trace, wait: Wait) -> Iterator[int]:
    """Threads of the program that can reach the object."""
    own, row = trace.thread_rows[wait.thread], trace.buffer_rows[wait.number]
    for thread in trace.threads:
        other = thread.row
        if other.launch != own.launch or thread.is_agent or thread.kind == "launch":
            continue
        in_cluster = own.cluster >= 0 and other.cluster == own.cluster
        if other.block == own.block or in_cluster or row.block < 0:
            yield thread.number


def _place(loc: ir.Loc | None) -> dict[str, Any]:
    return {"file": loc.file if loc else "", "line": loc.line if loc else 0}


def _name(trace: Trace, wait: Wait) -> str:
    """The barrier or semaphore with its element, or the operation that is awaited."""
    if wait.number < 0:
        return trace.threads[wait.element].name
    row = trace.buffer_rows[wait.number]
    return row.name + outside_barriers.subscript(row, wait.element)


def circle(found: dict[str, Any], thread: int) -> list[dict[str, Any]]:
    """Edges from a thread over waiting threads back to it, the fewest; [] if none."""
    ways: list[list[dict[str, Any]]] = [[]]
    seen: set[int] = set()
    for way in ways:
        at = way[-1]["to"] if way else thread
        for edge in found["edges"]:
            if edge["from"] == at and edge["state"] == "waits" and edge["number"] >= 0:
                if edge["to"] == thread:
                    return [*way, edge]
                if edge["to"] not in seen:
                    seen.add(edge["to"])
                    ways.append([*way, edge])
    return []


def advice(found: dict[str, Any], thread: int, short: str = "") -> str:
    """What the graph says to do for a thread; empty where it says nothing.

    `short` is what to do if its own line signals, but not often enough.
    """
    nodes = {node["thread"]: node for node in found["nodes"]}
    home, way = nodes[thread]["file"], circle(found, thread)
    if len(way) == 1:
        line = places.said(way[0]["file"], way[0]["line"], home)
        is_here = way[0]["file"] == home
        if is_here and way[0]["line"] > nodes[thread]["line"]:
            return f"signal before this wait: {line}, which does, comes after it"
        late = f"signal before this wait: {line} does so too late or too seldom"
        seldom = f"{line} signals it too seldom: wait once for each signal"
        return short or (seldom if is_here else late)
    if way:
        names = [nodes[edge["from"]]["name"] for edge in way[1:3]]
        who = " and ".join(names) + (" and others" if len(way) > 3 else "")
        line = places.said(way[0]["file"], way[0]["line"], home)
        return f"they wait for each other: {who} would signal at {line}"
    mine = [edge for edge in found["edges"] if edge["from"] == thread]
    if not mine or any(edge["state"] != "waits" for edge in mine):
        return ""
    other = nodes[mine[0]["to"]]
    line = places.said(mine[0]["file"], mine[0]["line"], home)
    at = places.said(other["file"], other["line"], home)
    return (
        f"{other['name']} would signal at {line}, but waits itself at {at}: begin there"
    )
