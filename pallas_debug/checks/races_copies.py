"""What races need: whether a wait was for several copies, or a slot is refilled.

The words are those of `races_words.py`; this module compares events only, and says
the pieces of advice that look at what else the threads did.
"""

from __future__ import annotations

import numpy as np

from pallas_debug.checks import accesses, places, semaphores, stored
from pallas_debug.checks.races_barriers import given_back, uncovered
from pallas_debug.checks.races_cells import Cells
from pallas_debug.checks.uninitialized_read import unset_reads
from pallas_debug.trace.events import Event
from pallas_debug.trace.proxies import Standing, proxies
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.trace import Trace


def line(event: Event, main: Event) -> str:
    """`line 31` in a finding about another event; its number where that is unknown."""
    return places.line(event.loc, main.loc) if event.loc else f"event {event.seq}"


def main_of(one: Event, other: Event) -> Event:
    """Of a pair, the access where the finding is: the program's, or the later one."""
    first, second = sorted((one, other), key=lambda event: event.seq)
    by_agent = second.thread.is_agent and not first.thread.is_agent
    return first if by_agent else second


def shared(trace: Trace, first: Event, second: Event) -> str:
    """Several copies count on one semaphore, and the wait was not for all of them."""
    at = int(accesses.started(trace, np.array([second.seq]))[0])
    if (
        not first.thread.is_agent
        or trace.threads[int(trace.columns.thread[at])].is_agent
    ):
        return ""
    told, waits = said_over(trace, first), awaited(trace, first)
    mine = trace.columns.thread[waits] == trace.columns.thread[at]
    waits = waits[mine & (waits < at)]
    if not len(waits) or waits[-1] < told:
        return ""
    wait, main = trace.events[int(waits[-1])], main_of(first, second)
    return (
        f"the wait at {line(wait, main)} counts at {semaphores.name_at(wait)}, which more "
        "than one copy signals, and does not tell which of them is over: give each copy "
        f"its own, or wait for all of them before {line(second, main)}"
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
    main = main_of(copy, read)
    start, done, reader = line(copy, main), line(read, main), read.thread
    user = trace.threads[accesses.starter(trace, read.seq).thread]
    filler = int(trace.columns.thread[issue]) if issue >= 0 else user.number
    if filler != user.number:
        signal, late = f"a semaphore that {user.name} signals", ""
        if copy.launch.backend == "mosaic_gpu":
            at = user.number, read.seq, filler
            signal = f"{given_back(trace, *at)} {user.name} arrives"
            late = uncovered(trace, *at, main)
        return f"wait before {start} for {signal} after {done}{late}"
    if reader.is_agent:
        return f"start the copy of {start} when the read at {done} is over"
    return f"start the copy of {start} after the read at {done}"


def overtaken(trace: Trace, first: Event, second: Event) -> str:
    """A copy into memory in which an earlier copy's data wait for another thread."""
    if {first.kind, second.kind} != {Kind.WRITE} or not second.thread.is_agent:
        return ""
    if first.launch.backend != "mosaic_gpu":
        return ""
    issuer = int(trace.columns.thread[proxies(trace).issue[second.thread.number]])
    waits = awaited(trace, first)
    threads = trace.columns.thread[waits]
    if not len(waits) or issuer in threads:
        return ""
    wait = trace.events[int(waits[0])]
    at, main = (wait.thread.number, wait.seq, issuer), main_of(first, second)
    return (
        f"wait before {line(second, main)} for {given_back(trace, *at)} {wait.thread.name} "
        f"arrives when it is done with what it waited for at {line(wait, main)}"
        f"{uncovered(trace, *at, main)}"
    )


def awaited(trace: Trace, copy: Event) -> np.ndarray:
    """Every wait where a copy arrives or signals."""
    columns, told = trace.columns, said_over(trace, copy)
    if told < 0:
        return np.zeros(0, np.int64)
    same = (columns.kind == Kind.WAIT) & (columns.object == columns.object[told])
    return np.flatnonzero(same & (columns.region == columns.region[told]))


def said_over(trace: Trace, copy: Event) -> int:
    """The event by which a copy says that it is over, or -1."""
    columns = trace.columns
    events = columns.of_thread(copy.thread.number)
    events = events[np.isin(columns.kind[events], (Kind.SIGNAL, Kind.ARRIVE))]
    return int(events[0]) if len(events) else -1


def is_too_early(trace: Trace, read: Event, write: Event) -> bool:
    """Whether a read finds elements unset that the write brings."""
    missing = unset_reads(trace).get(read.seq)
    if missing is None or write.kind is Kind.READ:
        return False
    return bool(np.isin(missing, stored.touched(trace, write.seq)[0]).any())


def too_soon(trace: Trace, write: Event, read: Event) -> int:
    """Which store should wait for a read, as a later read needs this one; or -1.

    The read has data of its own if as many earlier stores of that line come before it
    as there were reads; the first store after these is to wait.
    """
    if write.kind is not Kind.WRITE or read.kind is not Kind.READ:
        return -1
    if write.seq > read.seq or write.thread.is_agent or read.thread.is_agent:
        return -1
    reads, writes = alike(trace, read, read), alike(trace, write, read)
    standing = proxies(trace).standing(writes, np.full(len(writes), read.seq))
    count = int((standing != Standing.UNORDERED).sum())
    return int([*writes, write.seq][count]) if count == len(reads) + 1 else -1


def alike(trace: Trace, event: Event, read: Event) -> np.ndarray:
    """What a thread did before by the same line to elements that a read touches."""
    columns = trace.columns
    events = columns.of_thread(event.thread.number)
    events = events[(events < event.seq) & (columns.kind[events] == event.kind)]
    events = events[columns.object[events] == columns.object[event.seq]]
    at_line = [trace.events[seq].loc == event.loc for seq in events.tolist()]
    events = events[np.array(at_line, bool)]
    return events[overlaps(trace, events, read)]


def has_come(trace: Trace, copy: Event, reader: int, before: int) -> bool:
    """Whether a reader had waited for a copy, of those at one barrier."""
    waited, number = _in_line(trace, copy, reader, before)
    return 0 < number <= waited


def _in_line(trace: Trace, copy: Event, reader: int, before: int) -> tuple[int, int]:
    """How often a reader had waited where a copy arrives, and the copy's number there.

    The first wait is for the first copy, and so on; copies that complete a phase
    together have one number. Zeros where a thread's arrival is part of the phase.
    """
    columns, told = trace.columns, said_over(trace, copy)
    if told < 0:
        return 0, 0
    waits = awaited(trace, copy)
    waited = int(((columns.thread[waits] == reader) & (waits < before)).sum())
    same = (columns.kind == Kind.ARRIVE) & (columns.object == columns.object[told])
    same &= columns.region == columns.region[told]
    issue = proxies(trace).issue
    issued = issue[np.unique(columns.thread[same])]
    together = trace.buffer_rows[int(columns.object[told])].arrivals
    if together < 1 or (together > 1 and (issued < 0).any()):
        return 0, 0
    own = int(((issued >= 0) & (issued <= issue[copy.thread.number])).sum())
    return waited, -(-own // together)


def _is_ahead(trace: Trace, copy: Event, read: Event) -> bool:
    """Whether another thread's copy is for a later read than this one."""
    user = accesses.starter(trace, read.seq)
    issue = int(proxies(trace).issue[copy.thread.number])
    if issue < 0 or int(trace.columns.thread[issue]) == user.thread:
        return False
    waited, number = _in_line(trace, copy, user.thread, user.event)
    return 0 < waited < number and _is_again(trace, copy)


def _is_again(trace: Trace, copy: Event) -> bool:
    """Whether a copy before this one arrives at its barrier and fills the same memory."""
    columns, told = trace.columns, said_over(trace, copy)
    issue = proxies(trace).issue
    same = (columns.kind == Kind.ARRIVE) & (columns.object == columns.object[told])
    same &= columns.region == columns.region[told]
    threads = np.unique(columns.thread[same])
    threads = threads[issue[threads] < issue[copy.thread.number]]
    writes = (columns.kind == Kind.WRITE) & np.isin(columns.thread, threads)
    writes &= columns.object == columns.object[copy.seq]
    return bool(overlaps(trace, np.flatnonzero(writes), copy).any())


def _is_refill(trace: Trace, copy: Event, read: Event) -> bool:
    """Whether the reader has data of an earlier write, not yet read at this line."""
    columns, rules = trace.columns, proxies(trace)
    issue = int(rules.issue[copy.thread.number])
    same = np.flatnonzero(columns.object[: read.seq] == columns.object[read.seq])
    same = same[overlaps(trace, same, read)]
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


def overlaps(trace: Trace, events: np.ndarray, read: Event) -> np.ndarray:
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


def arrives_early(trace: Trace, agent: Event) -> Event | None:
    """Where the thread of a product tells others to go on before it has waited for it."""
    columns, over = trace.columns, joined(trace, agent)
    mine = columns.of_thread(accesses.starter(trace, agent.seq).thread)
    mine = mine[mine > int(proxies(trace).issue[agent.thread.number])]
    if over:
        mine = mine[mine < over.seq]
    told = mine[np.isin(columns.kind[mine], (Kind.ARRIVE, Kind.SIGNAL))]
    return trace.events[int(told[0])] if len(told) else None


def joined(trace: Trace, agent: Event) -> Event | None:
    """The event by which the thread that started an agent knows that it is over."""
    columns = trace.columns
    events = columns.kind == Kind.JOIN
    events &= columns.object == agent.thread.number
    if agent.kind is not Kind.READ:
        events &= columns.aux == 0  # not only its reads
    found = np.flatnonzero(events)
    return trace.events[int(found[0])] if len(found) else None


def issuer(agent: Event) -> str:
    """Op of the instruction that started an agent."""
    tape, number = agent.launch.kernel.tape, agent.thread.row.instr
    return tape[number].op if 0 <= number < len(tape) else ""


def signalled(trace: Trace, agent: Event) -> str:
    """Name of the barrier that an agent arrives at, or empty."""
    columns = trace.columns
    events = columns.of_thread(agent.thread.number)
    events = events[np.isin(columns.kind[events], (Kind.ARRIVE, Kind.LAND))]
    return trace.buffer_rows[columns.object[events[0]]].name if len(events) else ""
