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
    told, waits = _told(trace, first), _waits(trace, first)
    mine = trace.columns.thread[waits] == second.thread.number
    waits = waits[mine & (waits < second.seq)]
    if not len(waits) or waits[-1] < told:
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
    if not _is_ahead(trace, copy, read):
        if shared(trace, *sorted((copy, read), key=lambda event: event.seq)):
            return ""
        if not _is_refill(trace, copy, read):
            return ""
    issue = int(proxies(trace).issue[copy.thread.number])
    start, reader = line(copy), read.thread
    user = trace.threads[reader.parent] if reader.is_agent else reader
    if issue >= 0 and int(trace.columns.thread[issue]) != user.number:
        signal = f"a semaphore that {user.name} signals"
        if copy.launch.backend == "mosaic_gpu":
            signal = f"{_given_back(trace, user.number, read.seq)} {user.name} arrives"
        return f"wait before {start} for {signal} after {line(read)}"
    if reader.is_agent:
        return f"start the copy of {start} when the read at {line(read)} is over"
    return f"start the copy of {start} after the read at {line(read)}"


def overtaken(trace: Trace, first: Event, second: Event) -> str:
    """A copy into memory in which an earlier copy's data wait for another thread."""
    if {first.kind, second.kind} != {Kind.WRITE} or not second.thread.is_agent:
        return ""
    if first.launch.backend != "mosaic_gpu":
        return ""
    issuer = int(trace.columns.thread[proxies(trace).issue[second.thread.number]])
    waits = _waits(trace, first)
    threads = trace.columns.thread[waits]
    if not len(waits) or issuer in threads:
        return ""
    wait = trace.events[int(waits[0])]
    back = _given_back(trace, wait.thread.number, wait.seq)
    return (
        f"wait before {line(second)} for {back} {wait.thread.name} arrives when it is "
        f"done with what it waited for at {line(wait)}"
    )


def _waits(trace: Trace, copy: Event) -> np.ndarray:
    """Every wait where a copy arrives or signals."""
    columns, told = trace.columns, _told(trace, copy)
    if told < 0:
        return np.zeros(0, np.int64)
    same = (columns.kind == Kind.WAIT) & (columns.object == columns.object[told])
    return np.flatnonzero(same & (columns.region == columns.region[told]))


def _told(trace: Trace, copy: Event) -> int:
    """The event by which a copy says that it is over, or -1."""
    columns = trace.columns
    events = columns.of_thread(copy.thread.number)
    events = events[np.isin(columns.kind[events], (Kind.SIGNAL, Kind.ARRIVE))]
    return int(events[0]) if len(events) else -1


def _given_back(trace: Trace, thread: int, after: int) -> str:
    """`barrier `free`, at which`: where a thread arrives while nobody waits there."""
    columns = trace.columns
    awaited = columns.object[columns.kind == Kind.WAIT]
    events = columns.of_thread(thread)
    events = events[(columns.kind[events] == Kind.ARRIVE) & (events > after)]
    events = events[~np.isin(columns.object[events], awaited)]
    if not len(events):
        return "a barrier at which"
    return (
        f"barrier `{trace.buffer_rows[int(columns.object[events[0]])].name}`, at which"
    )


def has_come(trace: Trace, copy: Event, reader: int, before: int) -> bool:
    """Whether a reader had waited for a copy, of those at one barrier."""
    waited, number = _in_line(trace, copy, reader, before)
    return 0 < number <= waited


def _in_line(trace: Trace, copy: Event, reader: int, before: int) -> tuple[int, int]:
    """How often a reader had waited where a copy arrives, and the copy's number there.

    The first wait is for the first copy, and so on. Zeros where arrivals are counted.
    """
    columns, told = trace.columns, _told(trace, copy)
    if told < 0 or trace.buffer_rows[int(columns.object[told])].arrivals != 1:
        return 0, 0
    waits = _waits(trace, copy)
    waited = int(((columns.thread[waits] == reader) & (waits < before)).sum())
    same = (columns.kind == Kind.ARRIVE) & (columns.object == columns.object[told])
    same &= columns.region == columns.region[told]
    issue = proxies(trace).issue
    issued = issue[np.unique(columns.thread[same])]
    own = issue[copy.thread.number]
    return waited, int(((issued >= 0) & (issued <= own)).sum())


def _is_ahead(trace: Trace, copy: Event, read: Event) -> bool:
    """Whether another thread's copy is for a later read than this one."""
    if not copy.thread.is_agent or read.thread.is_agent:
        return False
    issue = int(proxies(trace).issue[copy.thread.number])
    if issue < 0 or int(trace.columns.thread[issue]) == read.thread.number:
        return False
    waited, number = _in_line(trace, copy, read.thread.number, read.seq)
    return 0 < waited < number


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
