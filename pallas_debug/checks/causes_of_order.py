"""Rules of causes that ask: would the order that a race's hint asks for end this, too?

`remedies.py` says which edges a hint asks for. A second race ends if they order all of
its pairs; a read of unset memory if they bring what is missing before it; an operation
is awaited if an edge leads from its last access to a thread of the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from pallas_debug.checks import (
    accesses,
    barrier_phase_missed,
    races,
    races_copies,
    semaphores,
    stored,
)
from pallas_debug.checks.finding import Finding
from pallas_debug.checks.races import Fault, Race
from pallas_debug.checks.remedies import Remedy, orders, remedy
from pallas_debug.checks.uninitialized_read import WRITE_BACK, unset_reads
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.trace import Trace

Link = tuple[int, int]  # numbers of an effect and of its cause
MOST_RACES = 40  # findings of races that are held against each other
MOST_COPIES = 64  # pairs of copies that are looked at one by one
CODES = {"PD201", "PD202", "PD203"}


class Known:
    """The findings of a trace, and what of it several rules ask for."""

    def __init__(self, trace: Trace, findings: Sequence[Finding]) -> None:
        self.trace = trace
        self.findings = findings

    def of(self, code: str) -> list[tuple[int, Finding]]:
        """The findings of a code, numbered."""
        return [(n, one) for n, one in enumerate(self.findings) if one.code == code]

    @cached_property
    def races(self) -> dict[int, list[Race]]:
        """The races behind each finding of one; the first is what its hint is about."""
        found: dict[int, list[Race]] = {}
        mine = [n for n, one in enumerate(self.findings) if one.code in CODES]
        if not 0 < len(mine) <= MOST_RACES:
            return found
        for race in races.races(self.trace):
            for number in mine:
                one = self.findings[number]
                if one.details.get("fault") != race.fault.value:
                    continue
                if {race.first, race.second} <= set(one.events):
                    found.setdefault(number, []).append(race)
        return found

    @cached_property
    def remedies(self) -> dict[int, Remedy]:
        """For each race whose hint says so: which accesses to put in order."""
        found = {n: remedy(self.trace, mine[0]) for n, mine in self.races.items()}
        return {n: edges for n, edges in found.items() if len(edges.first)}

    def is_write_back(self, seq: int) -> bool:
        """Whether an event reads a window in order to bring it back."""
        columns = self.trace.columns
        if seq < 0 or accesses.op_of(self.trace, seq) not in WRITE_BACK:
            return False
        is_read = int(columns.kind[seq]) == Kind.READ and seq + 1 < len(self.trace)
        return is_read and int(columns.kind[seq + 1]) == Kind.WRITE

    def agents(self, one: Finding) -> set[int]:
        """The threads behind the evidence of a finding."""
        return set(self.trace.columns.thread[list(one.events)].tolist())

    def group(self, one: Finding, events: np.ndarray) -> np.ndarray:
        """All events of a finding, out of those that its check had."""
        for group in accesses.by_line(self.trace, events):
            if one.events and one.events[0] in group:
                return group
        return events[:0]


def unordered_pairs(known: Known) -> Iterator[Link]:
    """Races all of whose pairs the remedy of another one would put in order."""
    for effect, mine in known.races.items():
        if any(race.is_parallel or race.fault is Fault.UNCOMMITTED for race in mine):
            continue
        pairs = np.concatenate([race.pairs for race in mine])
        for cause, edges in known.remedies.items():
            if cause != effect and _is_ordered(known, edges, pairs):
                yield effect, cause


def _is_ordered(known: Known, edges: Remedy, pairs: np.ndarray) -> bool:
    for part in (pairs[:1], pairs):  # one pair tells most of them
        a, b = part.T
        good = orders(known.trace, edges, a, b)
        left = np.flatnonzero(~good)
        good[left] = orders(known.trace, edges, b[left], a[left])
        if not good.all():
            return False
    return True


def commits(known: Known) -> Iterator[Link]:
    """Stores that the `commit_smem` after a later one of their thread commits, too."""
    thread = known.trace.columns.thread
    fenced = {
        n: mine
        for n, mine in known.races.items()
        if all(race.fault is Fault.UNCOMMITTED for race in mine)
    }
    for effect, mine in fenced.items():
        pairs = np.concatenate([race.pairs for race in mine])
        for cause, others in fenced.items():
            edges = others[0].pairs
            a, b = pairs[:, None, 0], pairs[:, None, 1]
            if cause == effect or len(pairs) * len(edges) > 1 << 16:
                continue
            stores, uses = edges[None, :, 0], edges[None, :, 1]
            good = (thread[a] == thread[stores]) & (a <= stores)
            good &= known.trace.order.before(uses, b) | (uses == b)
            if good.any(axis=1).all():
                yield effect, cause


def reads_of_unset_memory(known: Known) -> Iterator[Link]:
    """Reads that come too early because nothing orders them after the write."""
    columns = known.trace.columns
    mine = [race.pairs for some in known.races.values() for race in some]
    if not mine:
        return
    pairs = np.concatenate([*mine, *(pair[:, ::-1] for pair in mine)])
    pairs = pairs[np.isin(columns.kind[pairs[:, 0]], (Kind.WRITE, Kind.UPDATE))]
    missing = unset_reads(known.trace)
    for effect, one in known.of("PD102"):
        reads = known.group(one, np.array(sorted(missing), np.int64))
        early = pairs[np.isin(pairs[:, 1], reads)]
        if not np.isin(reads, early[:, 1]).all():
            continue
        for cause, edges in known.remedies.items():
            good = early[orders(known.trace, edges, *early.T)]
            if np.isin(reads, good[:, 1]).all() and _brings(known, good, missing):
                yield effect, cause


def _brings(known: Known, pairs: np.ndarray, missing: dict[int, np.ndarray]) -> bool:
    """Whether the first read would find all that it misses written."""
    read = int(pairs[:, 1].min())
    writes = np.unique(pairs[pairs[:, 1] == read, 0]).tolist()
    came = [stored.touched(known.trace, write)[0] for write in writes]
    return bool(np.isin(missing[read], np.concatenate(came)).all())


def unawaited_operations(known: Known) -> Iterator[Link]:
    """Operations in flight at the end of a scope or of the kernel, once waited for."""
    unawaited = semaphores.unawaited(known.trace) if known.of("PD221") else None
    for code in ("PD107", "PD221"):
        for effect, one in known.of(code):
            if "given" in one.details:
                continue
            events = np.array(one.events, np.int64)
            if code == "PD221" and unawaited is not None:
                events = known.group(one, unawaited)
            for cause, edges in _awaiting(known):
                if len(events) and _is_awaited(known, edges, events).all():
                    yield effect, cause


def _awaiting(known: Known) -> Iterator[tuple[int, Remedy]]:
    """The edges from operations to threads of the program, which wait for them."""
    agents = np.array([thread.is_agent for thread in known.trace.threads], bool)
    threads = known.trace.columns.thread
    for cause, edges in known.remedies.items():
        keep = agents[threads[edges.first]] & ~agents[threads[edges.then]]
        if keep.any():
            yield cause, Remedy(edges.first[keep], edges.then[keep])


def _is_awaited(known: Known, edges: Remedy, events: np.ndarray) -> np.ndarray:
    """Whether an edge starts at a later access of the same operation, or this one."""
    last = np.full(len(known.trace.thread_rows), -1, np.int64)
    threads = known.trace.columns.thread
    np.maximum.at(last, threads[edges.first], edges.first)
    return last[threads[events]] >= events


def unawaited_copies(known: Known) -> Iterator[Link]:
    """DMAs whose semaphore keeps units, once the wait for what they did takes these."""
    for effect, one in known.of("PD221"):
        if "given" not in one.details or one.count > len(one.events):
            continue
        signals = np.concatenate([_open(known, seq) for seq in one.events])
        for cause, edges in _awaiting(known):
            told = _told(known, edges)
            if len(signals) and np.isin(signals, told).all():
                yield effect, cause


def _open(known: Known, signal: int) -> np.ndarray:
    """The signals of a semaphore that no thread of the program has heard of."""
    columns = known.trace.columns
    same = (columns.kind == Kind.SIGNAL) & (columns.object == columns.object[signal])
    events = np.flatnonzero(same & (columns.region == columns.region[signal]))
    heard = semaphores.heard(known.trace)
    return events[heard[columns.thread[events]] < columns.clock[events]]


def _told(known: Known, edges: Remedy) -> np.ndarray:
    """The signals that say that the first accesses of edges are over."""
    columns, found = known.trace.columns, []
    for seq in np.unique(edges.first).tolist():
        own = columns.of_thread(int(columns.thread[seq]))
        own = own[(own > seq) & np.isin(columns.kind[own], (Kind.SIGNAL, Kind.ARRIVE))]
        found += own[:1].tolist()
    return np.array(found, np.int64)


def unobserved_barriers(known: Known) -> Iterator[Link]:
    """Barriers that nobody waits for, once their copies are waited for."""
    columns = known.trace.columns
    for effect, one in known.of("PD213"):
        barriers = np.unique(columns.object[list(one.events)])
        arrivals = np.flatnonzero(
            (columns.kind == Kind.ARRIVE) & np.isin(columns.object, barriers)
        )
        for cause, edges in _awaiting(known):
            if len(arrivals) and np.isin(arrivals, _told(known, edges)).all():
                yield effect, cause


def missed_phases(known: Known) -> Iterator[Link]:
    """Phases that end too early, once what ends them waits for the reader."""
    for effect, one in known.of("PD211"):
        waits, arrivals = barrier_phase_missed.unseen(known.trace)
        mine = np.isin(waits, known.group(one, np.unique(waits)))
        waits, arrivals = waits[mine], arrivals[mine]
        for cause, edges in known.remedies.items():
            good = orders(known.trace, edges, waits, arrivals)
            if len(waits) and np.isin(waits, waits[good]).all():
                yield effect, cause


def copies_into_one_slot(known: Known) -> Iterator[Link]:
    """Copies of which the later one should wait for the reader of the earlier one."""
    for effect, mine in known.races.items():
        pairs = np.concatenate([race.pairs for race in mine])
        if len(pairs) > MOST_COPIES or known.findings[effect].code != "PD202":
            continue
        for cause, edges in _of_refills(known):
            if all(_is_read_before(known, edges, a, b) for a, b in pairs.tolist()):
                yield effect, cause


def _of_refills(known: Known) -> Iterator[tuple[int, Remedy]]:
    """The edges from a reader to the copy that brings the next data."""
    agents = np.array([thread.is_agent for thread in known.trace.threads], bool)
    threads = known.trace.columns.thread
    for cause, edges in known.remedies.items():
        if not agents[threads[edges.first]].any() and agents[threads[edges.then]].all():
            yield cause, edges


def _is_read_before(known: Known, edges: Remedy, a: int, b: int) -> bool:
    """Whether the reader that copy `b` should wait for has waited for copy `a`."""
    copy, threads = known.trace.events[a], known.trace.columns.thread
    for read in edges.first[edges.then == b].tolist():
        if races_copies.has_come(known.trace, copy, int(threads[read]), read):
            return True
    return False


def barriers_for_nobody(known: Known) -> Iterator[Link]:
    """Barriers where a thread says that it is done, to who does not wait for it."""
    columns = known.trace.columns
    agents = np.array([thread.is_agent for thread in known.trace.threads], bool)
    for effect, one in known.of("PD213"):
        barriers = np.unique(columns.object[list(one.events)])
        same = (columns.kind == Kind.ARRIVE) & np.isin(columns.object, barriers)
        arrivals = np.flatnonzero(same)
        for cause, edges in known.remedies.items():
            if agents[columns.thread[edges.first]].any():
                continue
            first = np.full(len(known.trace.thread_rows), len(known.trace))
            np.minimum.at(first, columns.thread[edges.first], edges.first)
            if len(arrivals) and (first[columns.thread[arrivals]] < arrivals).all():
                yield effect, cause
