"""Whose turn it is: which side of a race waits, by what the kernel does elsewhere.

The order in which this run came to the two accesses says nothing about that. A copy
out that its own thread waits for lacks no such wait; an operation that was started
before an access is not completed by what comes after it.
"""

from __future__ import annotations

import numpy as np

from pallas_debug.checks import accesses
from pallas_debug.checks.races import Race
from pallas_debug.checks.races_barriers import given_back, unawaited
from pallas_debug.checks.races_copies import (
    alike,
    is_too_early,
    issuer,
    joined,
    line,
    main_of,
    signalled,
)
from pallas_debug.trace.events import Event
from pallas_debug.trace.proxies import NEVER, Engine, Standing, proxies
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.trace import Trace

COMPLETING = {
    "gpu.async_store_tmem": "commit_tmem",
    "gpu.async_load_tmem": "wait_load_tmem",
}


def of_tensor_memory(trace: Trace, race: Race, first: Event, second: Event) -> str:
    """A load or store of tensor memory that its own thread has not completed."""
    if first.op not in COMPLETING:
        return ""
    start = int(accesses.started(trace, np.array([second.seq]))[0])
    own = int(trace.columns.thread[start]) == first.thread.number
    if own and start < first.seq:
        return ""  # it is the other one that is still under way
    completed = race.done != NEVER
    if not own and completed and not trace.order.before(first.seq, start):
        return ""  # what the kernel lacks is an order of the threads
    main = main_of(first, second)
    where = f"on {first.thread.name}, before {line(second, main)}"
    return f"call `plgpu.{COMPLETING[first.op]}()` after {line(first, main)} {where}"


def of_product(trace: Trace, agent: Event, other: Event) -> str:
    """An operation of the matrix unit, and the barrier that tells when it is over.

    What it writes is told by `tcgen05_commit_arrive`, where there is one; what it reads
    is given back at its own barrier.
    """
    main = main_of(agent, other)
    n = line(other, main)
    commit, own = _commit(trace, agent), signalled(trace, agent)
    if commit is None or (own and agent.kind is Kind.READ):
        if own:
            return f"before {n}, wait for barrier `{own}`, where {line(agent, main)} arrives"
        done = "a barrier that it, or `tcgen05_commit_arrive`, arrives at"
        return f"before {n}, wait for {done} when it is over"
    name = signalled(trace, commit)
    issue = int(proxies(trace).issue[commit.thread.number])
    where = line(trace.events[issue], main)
    if trace.columns.thread[issue] == other.thread.number and issue > other.seq:
        call = f"call the `tcgen05_commit_arrive` of {where}"
        return f"before {n}, {call} and wait for its barrier `{name}`"
    return f"before {n}, wait for barrier `{name}`, where {where} arrives"


def _commit(trace: Trace, agent: Event) -> Event | None:
    """The arrival of the first `tcgen05_commit_arrive` after an operation."""
    rules, columns = proxies(trace), trace.columns
    issue = int(rules.issue[agent.thread.number])
    same = columns.thread[rules.issue] == columns.thread[issue]
    later = same & (rules.issue > issue) & (rules.engine == Engine.ARRIVAL)
    for number in np.flatnonzero(later).tolist():
        events = columns.of_thread(number)
        events = events[columns.kind[events] == Kind.ARRIVE]
        if len(events):
            return trace.events[int(events[0])]
    return None


def of_copy_out(trace: Trace, race: Race, first: Event, second: Event) -> str:
    """A copy out that its thread waits for, and what another thread does there."""
    copy, other = (first, second) if first.thread.is_agent else (second, first)
    if not copy.thread.is_agent or other.thread.is_agent:
        return ""
    if "smem_to_gmem" not in issuer(copy) or signalled(trace, copy):
        return ""
    starter = accesses.starter(trace, copy.seq)
    thread, user = trace.threads[starter.thread], other.thread
    if thread.number == user.number or thread.row.block != user.row.block:
        return ""
    over = joined(trace, copy)
    if over is None:
        return ""
    main = main_of(first, second)
    m, n = line(copy, main), line(other, main)
    if copy.kind is Kind.READ and _is_for(trace, copy, other, over):
        barrier = given_back(trace, user.number, other.seq, thread.number)
        return f"wait before {m} for {barrier} {user.name} arrives after {n}"
    barrier = given_back(trace, thread.number, over.seq, user.number)
    return (
        f"wait before {n} for {barrier} {thread.name} arrives after {line(over, main)}"
    )


def _is_for(trace: Trace, copy: Event, store: Event, over: Event) -> bool:
    """Whether a copy is to bring out what a store puts there, not what was there before.

    A barrier that nobody waits for tells. Else a copy has data of its own if as many
    stores of that line come before it as it is copies.
    """
    if is_too_early(trace, copy, store):
        return True
    told = unawaited(trace, store.thread.number, store.seq)
    back = unawaited(trace, over.thread.number, over.seq)
    if bool(told) != bool(back):
        return bool(told)
    stores = np.append(alike(trace, store, copy), store.seq)
    standing = proxies(trace).standing(stores, np.full(len(stores), copy.seq))
    before = int((standing != Standing.UNORDERED).sum())
    return before < _number(trace, copy)


def _number(trace: Trace, copy: Event) -> int:
    """Which copy of its line and thread this is, counted from 1."""
    rules, columns = proxies(trace), trace.columns
    issue = int(rules.issue[copy.thread.number])
    starts = rules.issue[rules.issue >= 0]
    same = (columns.thread[starts] == columns.thread[issue]) & (starts <= issue)
    return int((same & (columns.instr[starts] == columns.instr[issue])).sum())
