"""The order that the hint of a race asks for, and which accesses it would put in order.

A remedy is a set of edges, each from one access of a pair to the other. Two accesses are
in order with it if the first is over by the source of an edge and the second builds on
its end. That is exact but for pairs whose direction the hint leaves open: these are left
out, so that a remedy never promises too much.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pallas_debug.checks import races_copies, races_words
from pallas_debug.checks.races import Fault, Race
from pallas_debug.checks.uninitialized_read import unset_reads
from pallas_debug.trace.proxies import NEVER, proxies
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.trace import Trace

MOST = 1 << 16  # edges times pairs that are held against each other
MOST_OF_BLOCKS = 1 << 22  # the same, within blocks
EARLY = 1024  # pairs of which each is asked whether a read came too early
REFILLS = 64  # pairs of which each is asked whether a slot was filled too early


class Remedy(NamedTuple):
    """Edges from what has to be over, `first`, to what builds on it, `then`."""

    first: np.ndarray
    then: np.ndarray


def remedy(trace: Trace, race: Race) -> Remedy:
    """What to put in order; no edges where the hint says something else."""
    a, b = race.pairs.T
    nothing = Remedy(a[:0], b[:0])
    if race.is_parallel or race.fault not in (Fault.READ_WRITE, Fault.WRITE_WRITE):
        return nothing
    first, second = trace.events[race.first], trace.events[race.second]
    if races_words.cannot_wait(trace, first, second):
        return nothing
    if races_words.are_alike(first, second):
        return nothing
    swapped = _swapped(trace, a, b)
    if _is_refilled(trace, race):
        if len(a) > REFILLS:
            return nothing
        reads = trace.columns.kind[a] == Kind.READ
        first, then = np.where(reads, a, b), np.where(reads, b, a)
        events = [trace.events[seq] for seq in (*first.tolist(), *then.tolist())]
        pairs = zip(events[len(a) :], events[: len(a)], strict=True)
        keep = np.array([bool(races_copies.refilled(trace, *p)) for p in pairs], bool)
    else:
        stores = _too_soon(trace, a, b)
        first = np.where(swapped | (stores >= 0), b, a)
        then = np.where(stores >= 0, stores, np.where(swapped, a, b))
        keep = _like(trace, first)
    return Remedy(first[keep], then[keep])


def _swapped(trace: Trace, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Pairs whose second access was meant to come first, as the hints take them.

    Because it is an operation's that was under way, or the first access reads what the
    second one brings, and finds it unset.
    """
    columns, rules = trace.columns, proxies(trace)
    agents = np.array([thread.is_agent for thread in trace.threads], bool)
    by_agent = agents[columns.thread[a]], agents[columns.thread[b]]
    issue = rules.issue[columns.thread[b]]
    later = (issue > a) & (columns.thread[np.maximum(issue, 0)] != columns.thread[a])
    under_way = by_agent[1] & ~by_agent[0] & ~later
    early = np.flatnonzero(np.isin(a, list(unset_reads(trace))))
    early = early[~by_agent[0][early] & ~by_agent[1][early]]
    for pair in early[:EARLY].tolist():
        read, write = trace.events[int(a[pair])], trace.events[int(b[pair])]
        under_way[pair] = races_copies.is_too_early(trace, read, write)
    return under_way


def _too_soon(trace: Trace, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """For pairs whose store fills a slot in use: the store to hold back; -1 elsewhere."""
    found = np.full(len(a), -1, np.int64)
    for pair in range(min(len(a), REFILLS)):
        one, other = trace.events[int(a[pair])], trace.events[int(b[pair])]
        found[pair] = races_copies.too_soon(trace, one, other)
        if found[pair] < 0 and one.kind is not Kind.READ:
            break
    return found


def _is_refilled(trace: Trace, race: Race) -> bool:
    """Whether the hint is to start a copy later, not to wait for it earlier."""
    first, second = trace.events[race.first], trace.events[race.second]
    if first.thread.is_agent:
        return bool(races_copies.refilled(trace, first, second))
    if second.thread.is_agent:
        return bool(races_copies.refilled(trace, second, first))
    return False


def _like(trace: Trace, events: np.ndarray) -> np.ndarray:
    """Which events are of the same source line as the first one."""
    columns = trace.columns
    kernel = trace.launches[int(columns.launch[events[0]])].kernel
    numbers, of = np.unique(columns.instr[events], return_inverse=True)
    locs = [kernel.loc_of(number) for number in numbers.tolist()]
    lines = [(loc.file, loc.line) if loc else number for number, loc in enumerate(locs)]
    return np.array([line == lines[int(of[0])] for line in lines], bool)[of]


def orders(trace: Trace, edges: Remedy, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of each pair, whether the edges would put it in order, `a` first."""
    order, rules, result = trace.order, proxies(trace), np.zeros(len(a), bool)
    pair, edge = _compared(trace, edges, a)
    done = rules.done(a)[pair]
    over = a[pair] == edges.first[edge]
    left = np.flatnonzero(~over & (done != NEVER))
    over[left] = order.before(done[left], edges.first[edge[left]])
    pair, edge = pair[over], edge[over]
    built = b[pair] == edges.then[edge]
    left = np.flatnonzero(~built)
    begun = rules.begun(b)[pair[left]]
    built[left] = order.before(edges.then[edge[left]], begun)
    result[pair[built]] = True
    return result


def _compared(
    trace: Trace, edges: Remedy, a: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Which pair is held against which edge: all, or those of one block if too many."""
    pairs, count = np.arange(len(a)), len(edges.first)
    if len(a) * count <= MOST:
        return np.repeat(pairs, count), np.tile(np.arange(count), len(a))
    block = trace.columns.block
    by_block = np.argsort(block[edges.first], kind="stable")
    blocks = block[edges.first][by_block]
    low = np.searchsorted(blocks, block[a])
    counts = np.searchsorted(blocks, block[a], side="right") - low
    if counts.sum() > MOST_OF_BLOCKS:
        return pairs[:0], pairs[:0]
    pair = np.repeat(pairs, counts)
    place = np.arange(len(pair)) - np.repeat(np.cumsum(counts) - counts, counts)
    return pair, by_block[np.repeat(low, counts) + place]
