"""The arrays that a viewer draws from, derived from the columns in one pass each.

Python derives, the page draws: what stands here is looked up there, never computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.trace import Kind, Trace, dtypes, extent, fold
from pallas_debug.trace.entries import entries as entered
from pallas_debug.trace.tables import WORKERS
from pallas_debug.views.sources import Sources

Arrays = Iterator[tuple[str, Any]]
WAITS = (Kind.WAIT, Kind.JOIN)  # as the summary counts them
RUNS, WAITING, IN_FLIGHT = range(3)


def instructions(kernels: Sequence[ir.Kernel], sources: Sources) -> Arrays:
    """Place and scope of each instruction; the scope tree. Kernels one after another."""
    places: list[tuple[int, int, int, int]] = []
    parents: list[int] = []
    first, first_scope = [0], [0]
    for kernel in kernels:
        for number, instr in enumerate(kernel.tape):
            loc = kernel.loc_of(number)
            source, line = sources.place(loc)
            end = (loc.end_line or loc.line) if loc and source >= 0 else 0
            places.append((source, line, end, instr.scope))
        parents += [scope.parent for scope in kernel.scopes]
        first.append(len(places))
        first_scope.append(len(parents))
    table = np.array(places, np.int64).reshape(-1, 4)
    yield "view.instrs.first", first
    for number, name in enumerate(("source", "line", "end", "scope")):
        yield f"view.instrs.{name}", table[:, number]
    yield "view.scopes.first", first_scope
    yield "view.scopes.parent", parents


def entries(trace: Trace) -> Arrays:
    """Where a thread enters a call anew without an event outside."""
    for name, values in entered(trace)._asdict().items():
        yield f"view.entries.{name}", values


def clocks(trace: Trace) -> Arrays:
    """Ticks, ordering edges, and the vector clocks as logs."""
    yield "view.clock", trace.columns.clock
    for name, values in trace.order.edges()._asdict().items():
        yield f"view.edges.{name}", values
    for name, values in trace.order.logs()._asdict().items():
        yield f"view.clocks.{name}", values


def spans(trace: Trace) -> Arrays:
    """When each thread ran (0), waited (1), or was in flight (2): `start … end - 1`."""
    parts = np.concatenate([_worked(trace), _waited(trace), _flew(trace)])
    parts = parts[parts[:, 2] > parts[:, 1]]
    parts = parts[np.lexsort((parts[:, 3], parts[:, 0], parts[:, 1]))]
    for number, name in enumerate(("thread", "start", "end", "kind", "object")):
        yield f"view.spans.{name}", parts[:, number]


def _spans(thread: Any, start: Any, end: Any, kind: int, about: Any) -> np.ndarray:
    columns = np.broadcast_arrays(thread, start, end, kind, about)
    return np.stack([column.astype(np.int64) for column in columns], axis=1)


def _ends(trace: Trace) -> np.ndarray:
    """Where the launch of each event ends."""
    ends = np.array([launch.last_event for launch in trace.launches], np.int64)
    return ends[trace.columns.launch] if len(ends) else ends


def _is_agent(trace: Trace) -> np.ndarray:
    return np.array([row.kind not in WORKERS for row in trace.thread_rows], bool)


def _waited(trace: Trace) -> np.ndarray:
    """From falling asleep to the thread's next event, or to the end of the launch."""
    columns = trace.columns
    numbers, _ = columns.by_thread
    asleep = np.flatnonzero(columns.kind[numbers] == Kind.BLOCK)
    following = np.minimum(asleep + 1, len(numbers) - 1)
    start = numbers[asleep]
    thread = columns.thread[start]
    goes_on = (columns.thread[numbers[following]] == thread) & (following > asleep)
    end = np.where(goes_on, numbers[following], _ends(trace)[start])
    about = columns.object[start].astype(np.int64)
    about = np.where(about >= 0, about, -1 - columns.aux[start].astype(np.int64))
    return _spans(thread, start, end, WAITING, about)


def _worked(trace: Trace) -> np.ndarray:
    """From an event that follows nothing or a sleep to the next sleep or the last.

    A launch itself lives until all that it started has ended.
    """
    columns = trace.columns
    numbers, starts = columns.by_thread
    if not len(numbers):
        return _spans([], [], [], RUNS, -1)
    asleep = columns.kind[numbers] == Kind.BLOCK
    begins = np.zeros(len(numbers), bool)
    begins[starts[:-1][np.diff(starts) > 0]] = True
    begins[1:] |= asleep[:-1]
    begins &= ~asleep & ~_is_agent(trace)[columns.thread[numbers]]
    first = np.flatnonzero(begins)
    thread = columns.thread[numbers[first]]
    last = numbers[starts[thread.astype(np.int64) + 1] - 1] + 1
    is_launch = np.array([row.kind == "launch" for row in trace.thread_rows], bool)
    last = np.where(is_launch[thread], _ends(trace)[numbers[first]], last)
    sleeps = np.flatnonzero(asleep)
    found = np.searchsorted(sleeps, first)
    following = np.append(sleeps, len(numbers))[found]
    ends_asleep = following < starts[thread.astype(np.int64) + 1]
    sleeping = numbers[np.minimum(following, len(numbers) - 1)]
    end = np.where(ends_asleep, sleeping, last)
    return _spans(thread, numbers[first], end, RUNS, -1)


def _flew(trace: Trace) -> np.ndarray:
    """From the event that started an agent to its end, or to that of the launch."""
    columns = trace.columns
    spawned = np.flatnonzero(columns.kind == Kind.SPAWN)
    agent = columns.object[spawned]
    keep = _is_agent(trace)[agent]
    spawned, agent = spawned[keep], agent[keep]
    ended = np.full(len(trace.thread_rows), -1, np.int64)
    ends = np.flatnonzero(columns.kind == Kind.END)
    ended[columns.thread[ends]] = ends
    end = np.where(ended[agent] >= 0, ended[agent] + 1, _ends(trace)[spawned])
    return _spans(agent, spawned, end, IN_FLIGHT, -1)


def traffic(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Bytes that each event reads and writes; an update does both."""
    kind = trace.columns.kind
    read, written = np.zeros(len(kind), np.int64), np.zeros(len(kind), np.int64)
    events = np.flatnonzero(np.isin(kind, extent.ACCESSES))
    count = extent.bytes_touched(trace, events)
    read[events] = np.where(kind[events] != Kind.WRITE, count, 0)
    written[events] = np.where(kind[events] != Kind.READ, count, 0)
    return read, written


def blocks(trace: Trace, worst: dict[tuple[int, int], int]) -> Arrays:
    """One row for each block in which anything happened, by launch and number."""
    columns = trace.columns
    events = np.flatnonzero(columns.block >= 0)
    block = columns.block[events].astype(np.int64)
    width = int(block.max(initial=0)) + 1
    key = columns.launch[events].astype(np.int64) * width + block
    found, first, of = np.unique(key, return_index=True, return_inverse=True)
    last = np.zeros(len(found), np.int64)
    last[of] = events  # of several events the last one stays
    read, written = traffic(trace)
    waits = np.isin(columns.kind[events], WAITS)
    launch, number = np.divmod(found, width)
    yield "view.blocks.launch", launch
    yield "view.blocks.block", number
    yield "view.blocks.first", events[first]
    yield "view.blocks.last", last
    yield "view.blocks.events", np.bincount(of, minlength=len(found))
    for name, amount in (
        ("read", read[events]),
        ("written", written[events]),
        ("waits", waits),
    ):
        yield f"view.blocks.{name}", _sums(of, amount, len(found))
    keys = zip(launch.tolist(), number.tolist(), strict=True)
    yield "view.blocks.worst", [worst.get(one, 0) for one in keys]


def _sums(of: np.ndarray, amount: np.ndarray, count: int) -> np.ndarray:
    return np.bincount(of, amount, count).astype(np.int64)


def buffers(trace: Trace) -> Arrays:
    """Lifetimes (-1: it was there before, or stayed), bytes, whose memory it is."""
    columns = trace.columns
    for name, kind in (("alloc", Kind.ALLOC), ("free", Kind.FREE)):
        found = np.full(len(trace.buffer_rows), -1, np.int64)
        events = np.flatnonzero(columns.kind == kind)
        found[columns.object[events]] = events
        yield f"view.buffers.{name}", found
    rows = trace.buffer_rows
    yield (
        "view.buffers.bytes",
        [dtypes.size_bytes(row.dtype, row.shape) for row in rows],
    )
    yield "view.buffers.root", fold.roots(trace)


def lines(
    trace: Trace, kernels: Sequence[ir.Kernel], sources: Sources
) -> list[list[int]]:
    """`[launch, source, line, executions, bytes read, bytes written, waits]`."""
    read, written = traffic(trace)
    numbers = {id(kernel): number for number, kernel in enumerate(kernels)}
    tables = [_lines_of(kernel, sources) for kernel in kernels]
    rows: list[list[int]] = []
    for launch in trace.launches:
        part = slice(launch.first_event, launch.last_event)
        places, line_of = tables[numbers[id(launch.kernel)]]
        instr = np.minimum(trace.columns.instr[part], len(line_of) - 1)
        of, count = line_of[instr], len(places)
        amounts = (
            read[part],
            written[part],
            np.isin(trace.columns.kind[part], WAITS),
        )
        sums = [_sums(of, amount, count).tolist() for amount in amounts]
        executions = np.zeros(count, np.int64)
        np.maximum.at(executions, line_of, _executions(trace, part, len(line_of)))
        for number, place in enumerate(places):
            times = int(executions[number])
            if place[0] >= 0 and times:
                found = [column[number] for column in sums]
                rows.append([launch.number, *place, times, *found])
    return rows


def _lines_of(
    kernel: ir.Kernel, sources: Sources
) -> tuple[list[tuple[int, int]], np.ndarray]:
    """The places of a kernel, sorted, and the number of each instruction's place.

    One instruction more stands for those that the tape does not have.
    """
    of = [
        tuple(sources.place(kernel.loc_of(number)))
        for number in range(len(kernel.tape) + 1)
    ]
    places = sorted(set(of))
    index = {place: number for number, place in enumerate(places)}
    return places, np.array([index[place] for place in of], np.int64)  # type: ignore


def _executions(trace: Trace, part: slice, count: int) -> np.ndarray:
    """How often each instruction was executed, of those that left a trace.

    The events of one execution stand together: it is one step of the launch. A line was
    executed as often as that of its instructions which was so most often.
    """
    columns = trace.columns
    # The last one stands for those outside the tape.
    of = np.minimum(columns.instr[part], count - 1) % count
    if not len(of):
        return np.zeros(count, np.int64)
    begins = np.ones(len(of), bool)
    begins[1:] = of[1:] != of[:-1]
    for column in (columns.step[part], columns.thread[part]):
        begins[1:] |= column[1:] != column[:-1]
    return np.bincount(of[begins], minlength=count)
