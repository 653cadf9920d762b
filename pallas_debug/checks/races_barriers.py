"""At which barrier a thread lets another one go on: what the hints of races name.

This module reads arrivals and waits only. A barrier that nobody waits for says best
which wait a kernel lacks; a wait that is there, but for an earlier arrival, comes next.
"""

from __future__ import annotations

import numpy as np

from pallas_debug.checks import places
from pallas_debug.trace.events import Event
from pallas_debug.trace.proxies import Engine, proxies
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.trace import Trace


def given_back(trace: Trace, thread: int, after: int, waiter: int = -1) -> str:
    """`barrier `free`, at which`: where a thread arrives, and the waiter should wait."""
    name = unawaited(trace, thread, after)
    late = None if name else _late(trace, thread, after, waiter)
    name = late.buffer.name if late and late.buffer else name
    return f"barrier `{name}`, at which" if name else "a barrier at which"


def uncovered(trace: Trace, thread: int, after: int, waiter: int, main: Event) -> str:
    """`; the wait at line 9 does not cover that arrival`, if there is one; or empty."""
    late = (
        None if unawaited(trace, thread, after) else _late(trace, thread, after, waiter)
    )
    if late is None:
        return ""
    at = places.line(late.loc, main.loc) if late.loc else f"event {late.seq}"
    columns, number = trace.columns, int(trace.columns.object[late.seq])
    arrivals = columns.thread[
        (columns.kind == Kind.ARRIVE) & (columns.object == number)
    ]
    threads, needed = len(np.unique(arrivals)), trace.buffer_rows[number].arrivals
    agents = [trace.threads[one].is_agent for one in np.unique(arrivals).tolist()]
    few = not any(agents) and 0 < needed < threads
    why = f" ({threads} threads arrive, `num_arrivals={needed}`)" if few else ""
    return f"; the wait at {at} does not cover that arrival{why}"


def unawaited(trace: Trace, thread: int, after: int) -> str:
    """Name of a barrier at which a thread, or a product of its, arrives for nobody."""
    columns = trace.columns
    awaited = columns.object[columns.kind == Kind.WAIT]
    events = _arrivals(trace, thread, after)
    events = events[~np.isin(columns.object[events], awaited)]
    return trace.buffer_rows[int(columns.object[events[0]])].name if len(events) else ""


def _late(trace: Trace, thread: int, after: int, waiter: int) -> Event | None:
    """A wait of one thread where another arrives first after an event."""
    if waiter < 0 or waiter == thread:
        return None
    columns = trace.columns
    waits = columns.of_thread(waiter)
    waits = waits[columns.kind[waits] == Kind.WAIT]
    if _is_told_early(trace, thread, after, waits):
        return None
    told = columns.object[_arrivals(trace, thread, after)[:1]]
    waits = waits[np.isin(columns.object[waits], told)]
    return trace.events[int(waits[0])] if len(waits) else None


def _is_told_early(trace: Trace, thread: int, after: int, waits: np.ndarray) -> bool:
    """Whether a thread arrived where these waits are just before it came to an event."""
    columns = trace.columns
    mine = columns.of_thread(thread)
    mine = mine[mine < after]
    mine = mine[np.isin(columns.kind[mine], (Kind.WAIT, Kind.ARRIVE))]
    if not len(mine) or columns.kind[mine[-1]] != Kind.ARRIVE:
        return False
    return bool(np.isin(columns.object[mine[-1]], columns.object[waits]))


def _arrivals(trace: Trace, thread: int, after: int) -> np.ndarray:
    """Where a thread arrives from an event on, itself or by a product it started."""
    columns = trace.columns
    parents = np.array([row.parent for row in trace.thread_rows])
    units = np.isin(proxies(trace).engine, (Engine.PRODUCT, Engine.ARRIVAL))
    mine = np.append(np.flatnonzero((parents == thread) & units), thread)
    events = np.flatnonzero(columns.kind[after:] == Kind.ARRIVE) + after
    return events[np.isin(columns.thread[events], mine)]
