"""What the memory checks share: boxes against shapes, and findings about accesses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from pallas_debug import ir
from pallas_debug.checks.finding import NOTHING, Finding, Severity
from pallas_debug.trace.proxies import proxies
from pallas_debug.trace.schema import Kind, RegionKind
from pallas_debug.trace.tables import on_device
from pallas_debug.trace.trace import Trace

SHOWN = 100


class Pairs(NamedTuple):
    """The distinct (buffer, region) pairs of some accesses.

    `of` gives each access its pair. `inside`: no part of the box lies outside the
    buffer. `covers`: the box is the whole buffer. Element sets are neither here.
    """

    buffer: np.ndarray
    region: np.ndarray
    of: np.ndarray
    inside: np.ndarray
    covers: np.ndarray


def pairs(trace: Trace, events: np.ndarray) -> Pairs:
    """The distinct (buffer, region) pairs of memory events, judged box by box."""
    columns = trace.columns
    key = columns.object[events].astype(np.int64) * max(len(trace.regions), 1)
    distinct, of = np.unique(key + columns.region[events], return_inverse=True)
    buffer, region = np.divmod(distinct, max(len(trace.regions), 1))
    inside = np.zeros(len(distinct), bool)
    covers = np.zeros(len(distinct), bool)
    kinds = trace.regions.kind[region]
    ranks = np.array([len(row.shape) for row in trace.buffer_rows], np.int64)
    for rank in np.unique(ranks[buffer]):
        mine = np.flatnonzero((ranks[buffer] == rank) & (kinds != RegionKind.ELEMENTS))
        if not len(mine):
            continue
        start, size, stride = np.moveaxis(trace.regions.spans(region[mine], rank), 2, 0)
        numbers, which = np.unique(buffer[mine], return_inverse=True)
        shapes = [trace.buffer_rows[number].shape for number in numbers]
        dims = np.array(shapes, np.int64).reshape(len(numbers), rank)[which]
        last = start + (size - 1) * stride
        empty = (size == 0).any(axis=1)
        inside[mine] = empty | ((start >= 0) & (last < dims)).all(axis=1)
        whole = (start <= 0) & (last >= dims - 1) & ((stride == 1) | (dims <= 1))
        covers[mine] = whole.all(axis=1) & (kinds[mine] == RegionKind.BOX)
    return Pairs(buffer, region, of, inside, covers)


def lifetimes(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """For each buffer the events of its birth and its end, -1 where there is none."""
    kept = trace.caches.get("lifetimes")
    if kept is None:
        kept = _event_of(trace, Kind.ALLOC), _event_of(trace, Kind.FREE)
        trace.caches["lifetimes"] = kept
    return kept


def _event_of(trace: Trace, kind: Kind) -> np.ndarray:
    found = np.full(len(trace.buffer_rows), -1, np.int64)
    events = np.flatnonzero(trace.columns.kind == kind)
    found[trace.columns.object[events]] = events
    return found


def started(trace: Trace, events: np.ndarray) -> np.ndarray:
    """The event that let each access go: an agent's start; itself in the program."""
    issue = proxies(trace).issue
    numbers, of = np.unique(trace.columns.thread[events], return_inverse=True)
    agents = [trace.threads[number].is_agent for number in numbers.tolist()]
    start = np.where(np.array(agents, bool), issue[numbers], -1)[of]
    return np.where(start >= 0, start, events)


class Starter(NamedTuple):
    """A thread of the program, and what it did: its instruction and event, or -1."""

    thread: int
    instr: int
    event: int


def starter(trace: Trace, seq: int) -> Starter:
    """Who in the program an event goes back to: who started its agent, or itself."""
    columns, rows = trace.columns, trace.thread_rows
    found = Starter(int(columns.thread[seq]), int(columns.instr[seq]), seq)
    while trace.threads[found.thread].is_agent and rows[found.thread].parent >= 0:
        row = rows[found.thread]
        instr = row.instr if row.instr >= 0 else found.instr
        found = Starter(row.parent, instr, int(proxies(trace).issue[found.thread]))
    return found


def op_of(trace: Trace, seq: int) -> str:
    """Op of an event's instruction."""
    instr = instr_of(trace, seq)
    return instr.op if instr else ""


def instr_of(trace: Trace, seq: int) -> ir.Instr | None:
    """An event's instruction; None where the tape does not have it."""
    columns = trace.columns
    tape = trace.launches[int(columns.launch[seq])].kernel.tape
    number = int(columns.instr[seq])
    return tape[number] if number < len(tape) else None


def by_line(trace: Trace, events: np.ndarray) -> Iterator[np.ndarray]:
    """Events in groups of one launch, source line and buffer name, each sorted."""
    columns = trace.columns
    groups: dict[Any, list[int]] = {}
    sites: dict[tuple[int, int], Any] = {}
    for seq in events.tolist():
        site = (int(columns.launch[seq]), int(columns.instr[seq]))
        if site not in sites:
            loc = trace.launches[site[0]].kernel.loc_of(site[1])
            sites[site] = (site[0], (loc.file, loc.line) if loc else site[1])
        number = int(columns.object[seq])
        name = trace.buffer_rows[number].name if number >= 0 else ""
        groups.setdefault((sites[site], name), []).append(seq)
    return (np.array(group, np.int64) for group in groups.values())


def finding_at(
    trace: Trace,
    events: np.ndarray,
    message: str,
    *,
    hint: str = "",
    severity: Severity | None = None,
    loc: ir.Loc | None = None,
    other: ir.Loc | None = None,
    details: Mapping[str, Any] = NOTHING,
) -> Finding:
    """A finding about accesses to one buffer; the first event says where."""
    seq = int(events[0])
    first = trace.events[seq]
    threads = dict.fromkeys(trace.columns.thread[events[:SHOWN]].tolist())
    buffer = first.buffer
    return Finding(
        message=message,
        hint=hint,
        severity=severity,
        loc=loc or first.loc,
        other=other,
        launch=first.launch.number,
        buffer=buffer.name if buffer else "",
        block=first.block,
        threads=tuple(threads),
        events=tuple(events[:SHOWN].tolist()),
        count=len(events),
        details=details,
    )


def times(trace: Trace, events: np.ndarray) -> str:
    """`; first in block (0, 3), 12 times in 4 blocks`, as far as it says something."""
    first = trace.events[int(events[0])]
    grid = (first.block or ())[len(first.launch.mesh) :]
    where = f"in block {grid}" if grid else ""
    where = on_device(where, first.thread.row.device, first.launch).strip()
    if len(events) == 1:
        return f"; {where}" if where else ""
    blocks = len(np.unique(trace.columns.block[events]))
    spread = f" {'in' if grid else 'on'} {blocks:,} {'blocks' if grid else 'devices'}"
    count = f"{len(events):,} times{spread if blocks > 1 else ''}"
    return f"; first {where}, {count}" if where else f"; {count}"
