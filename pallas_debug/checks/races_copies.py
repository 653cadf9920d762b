"""What copies need that race: whether a wait was for several, or a slot is refilled.

The words are those of `races_words.py`; this module compares events only, and says
the two pieces of advice that look at what else the threads did.
"""

from __future__ import annotations

import numpy as np

from pallas_debug.checks import accesses
from pallas_debug.checks.races_cells import Cells
from pallas_debug.trace.events import Event
from pallas_debug.trace.proxies import Standing, proxies
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.trace import Trace


def line(event: Event) -> str:
    """`line 31`, or the event's number where the line is unknown."""
    return f"line {event.loc.line}" if event.loc else f"event {event.seq}"


def shared(trace: Trace, first: Event, second: Event) -> str:
    """Several copies count on one semaphore, and the wait was not for all of them."""
    if not first.thread.is_agent or second.thread.is_agent:
        return ""
    columns = trace.columns
    told = columns.of_thread(first.thread.number)
    told = told[np.isin(columns.kind[told], (Kind.SIGNAL, Kind.ARRIVE))][:1]
    if not len(told):
        return ""  # it signals nobody
    mine = columns.of_thread(second.thread.number)
    waits = mine[(columns.kind[mine] == Kind.WAIT) & (mine < second.seq)]
    at = columns.object[waits], columns.region[waits]
    same = (at[0] == columns.object[told]) & (at[1] == columns.region[told])
    waits = waits[same]
    if not len(waits) or waits[-1] < int(told[0]):
        return ""
    wait = trace.events[int(waits[-1])]
    name = wait.buffer.name if wait.buffer else "?"
    part = wait.region.text if wait.region is not None else ""
    return (
        f"the wait at {line(wait)} counts at `{name}`{part}, which more "
        "than one copy signals, and does not tell which of them is over: give each copy "
        f"its own, or wait for all of them before {line(second)}"
    )


def refilled(trace: Trace, copy: Event, read: Event) -> str:
    """A copy that starts before the reader is done with what an earlier one brought."""
    if copy.kind is not Kind.WRITE or read.kind is not Kind.READ:
        return ""
    if not _is_refill(trace, copy, read):
        return ""
    issue = int(proxies(trace).issue[copy.thread.number])
    start, reader = line(copy), read.thread
    user = trace.threads[reader.parent] if reader.is_agent else reader
    if issue >= 0 and int(trace.columns.thread[issue]) != user.number:
        signal = f"a semaphore that {user.name} signals"
        if copy.launch.backend == "mosaic_gpu":
            signal = f"a barrier at which {user.name} arrives"
        return f"wait before {start} for {signal} after {line(read)}"
    if reader.is_agent:
        return f"start the copy of {start} when the read at {line(read)} is over"
    return f"start the copy of {start} after the read at {line(read)}"


def _is_refill(trace: Trace, copy: Event, read: Event) -> bool:
    """Whether the reader has data of an earlier write, not yet read at this line."""
    columns, rules = trace.columns, proxies(trace)
    issue = int(rules.issue[copy.thread.number])
    same = np.flatnonzero(columns.object[: read.seq] == columns.object[read.seq])
    same = same[_overlaps(trace, same, read)]
    writes = same[np.isin(columns.kind[same], (Kind.WRITE, Kind.UPDATE))]
    writes = writes[columns.thread[writes] != copy.thread.number]
    writes = writes[accesses.started(trace, writes) < issue]
    reads = np.full(len(writes), read.seq)
    writes = writes[rules.standing(writes, reads) != Standing.UNORDERED]
    if not len(writes):
        return False
    consumed = same[(same > writes[-1]) & (same < issue)]
    consumed = consumed[columns.kind[consumed] == Kind.READ]
    return read.loc not in [trace.events[seq].loc for seq in consumed.tolist()]


def _overlaps(trace: Trace, events: np.ndarray, read: Event) -> np.ndarray:
    """Which events touch an element that a read touches."""
    columns = trace.columns
    assert read.buffer is not None, "a read has a buffer"
    own = int(columns.region[read.seq])
    at = columns.region[events]
    regions = np.unique(np.append(at[at >= 0], own))
    cells = Cells(trace).of(read.buffer.shape, regions)
    mine = cells[int(np.searchsorted(regions, own))]
    hit = np.array([np.isin(mine, other).any() for other in cells], bool)
    return (at >= 0) & hit[np.minimum(np.searchsorted(regions, at), len(hit) - 1)]
