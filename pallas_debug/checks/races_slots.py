"""A slot that one thread has filled again too early: by when it should have waited.

The words of PD202 for two copies into the same memory; `races_words.py` puts them
together. A wait is for the copy of the same number among those that signal there.
"""

from __future__ import annotations

import numpy as np

from pallas_debug.checks import accesses
from pallas_debug.checks.races_copies import awaited, line, main_of, overlaps, said_over
from pallas_debug.trace.events import Event
from pallas_debug.trace.proxies import proxies
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.trace import Trace

COPIES = frozenset({"dma", "tma"})


def in_use(trace: Trace, first: Event, second: Event) -> str:
    """The second copy overwrites what a read waits for, that comes after its start."""
    if not _is_one_thread(trace, first, second):
        return ""
    read = _read_between(trace, second, *_waits(trace, first, second))
    if read is None:
        return ""
    main = main_of(first, second)
    m, n, r = (line(event, main) for event in (first, second, read))
    what = "the one before it" if m == n else f"the copy of {m}"
    way = "when" if read.thread.is_agent else "after"
    over = " is over" if read.thread.is_agent else ""
    return f"start the copy of {n} {way} the read at {r} of what {what} brought{over}"


def next_one(trace: Trace, first: Event, second: Event) -> str:
    """`line 31 starts the next one, not only at line 40`: before what to wait; or empty."""
    if not _is_one_thread(trace, first, second):
        return ""
    main = main_of(first, second)
    n = line(second, main)
    said = f"{n} starts the next one" if line(first, main) == n else n
    wait, _ = _waits(trace, first, second)
    late = accesses.starter(trace, second.seq).event < wait < len(trace)
    return f"{said}, not only at {line(trace.events[wait], main)}" if late else said


def _is_one_thread(trace: Trace, first: Event, second: Event) -> bool:
    """Whether both are the writes of copies that one thread of the program started."""
    if not all(
        e.kind is Kind.WRITE and e.thread.kind in COPIES for e in (first, second)
    ):
        return False
    one, other = (accesses.starter(trace, event.seq) for event in (first, second))
    return one.thread == other.thread and 0 <= one.event < other.event


def _waits(trace: Trace, first: Event, second: Event) -> tuple[int, int]:
    return _wait(trace, first), _wait(trace, second)


def _wait(trace: Trace, copy: Event) -> int:
    """The event by which a copy's thread waits for it; the trace's end if it does not."""
    columns, told = trace.columns, said_over(trace, copy)
    if told < 0:
        return len(trace)
    thread, _, start = accesses.starter(trace, copy.seq)
    waits = awaited(trace, copy)
    waits = waits[columns.thread[waits] == thread]
    same = np.isin(columns.kind, (Kind.SIGNAL, Kind.ARRIVE))
    same &= columns.object == columns.object[told]
    same &= columns.region == columns.region[told]
    starts = proxies(trace).issue[np.unique(columns.thread[same])]
    number = int(((starts >= 0) & (starts <= start)).sum())
    return int(waits[number - 1]) if number <= len(waits) else len(trace)


def _read_between(trace: Trace, copy: Event, since: int, until: int) -> Event | None:
    """The first read of a copy's memory by its thread, from one wait to another."""
    columns = trace.columns
    thread, _, start = accesses.starter(trace, copy.seq)
    events = np.flatnonzero(
        (columns.kind == Kind.READ) & (columns.object == columns.object[copy.seq])
    )
    started = accesses.started(trace, events)
    events = events[(started > max(since, start)) & (started < until)]
    for seq in events[overlaps(trace, events, copy)].tolist():
        if accesses.starter(trace, seq).thread == thread:
            return trace.events[seq]
    return None
