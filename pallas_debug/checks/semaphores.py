"""What is left of semaphores, and which copies nobody waited for: facts for checks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pallas_debug.checks import accesses, outside_barriers
from pallas_debug.trace import dtypes, proxies
from pallas_debug.trace.events import Event
from pallas_debug.trace.schema import BufferRow, Kind
from pallas_debug.trace.tables import on_device
from pallas_debug.trace.trace import Trace

ON_CHIP = ("smem", "tmem", "regs")


class Left(NamedTuple):
    """A semaphore with units left at the end of a launch that finished."""

    name: str
    units: int
    given: int
    taken: int
    last_signal: int
    by_copies: bool


def whole(trace: Trace) -> np.ndarray:
    """Which launches finished and ran all of their grid."""
    columns = trace.columns
    found: list[bool] = []
    for launch in trace.launches:
        part = columns.block[launch.first_event : launch.last_event]
        blocks = len(np.unique(part[part >= 0]))
        finished = launch.outcome.kind == "finished"
        found.append(finished and blocks in (0, launch.blocks))
    return np.array(found, bool)


def left(trace: Trace) -> Iterator[Left]:
    """Semaphores of whole launches with units left; those of arguments may have some."""
    columns, rows = trace.columns, trace.buffer_rows
    judged = whole(trace)
    mine = np.array(
        [
            dtypes.is_sync(row.dtype)
            and not dtypes.is_barrier(row.dtype)
            and row.role not in ("input", "output", "scalar")
            and bool(judged[row.launch])
            for row in rows
        ],
        bool,
    )
    events = np.flatnonzero(np.isin(columns.kind, (Kind.SIGNAL, Kind.WAIT)))
    events = events[mine[columns.object[events]]]
    events = events[~np.isin(events, outside_barriers.nowhere(trace))]
    key = columns.object[events].astype(np.int64) * max(len(trace.regions), 1)
    key += columns.region[events]
    distinct, of = np.unique(key, return_inverse=True)
    signals = columns.kind[events] == Kind.SIGNAL
    amount = columns.aux[events].astype(np.int64)
    given, taken = np.zeros((2, len(distinct)), np.int64)
    np.add.at(given, of[signals], amount[signals])
    np.add.at(taken, of[~signals], amount[~signals])
    last = np.full(len(distinct), -1)
    last[of[signals]] = events[signals]
    for n in np.flatnonzero(given > taken).tolist():
        mine_too = events[signals & (of == n)]
        agents = [trace.threads[t].is_agent for t in columns.thread[mine_too].tolist()]
        yield Left(
            _owned(trace.events[int(last[n])]),
            int(given[n] - taken[n]),
            int(given[n]),
            int(taken[n]),
            int(last[n]),
            all(agents),
        )


def _owned(event: Event) -> str:
    """The same, and whose it is: a signal may come from another device."""
    device = event.buffer.row.device if event.buffer else -1
    return on_device(name_at(event), device, event.launch)


def times(trace: Trace, signals: np.ndarray) -> str:
    """Where and how often; of a semaphore of another device, that it was signalled so."""
    said = accesses.times(trace, signals)
    is_afar = bool(trace.events[int(signals[0])].owner)
    return said.replace("; ", "; signalled ", 1) if is_afar else said


def name_at(event: Event) -> str:
    """The barrier or semaphore of an event, by its name: `` `sems`[1, 0] ``."""
    element = event.region.start[0] if event.region and event.region.start else 0
    return named(event.buffer.row, element) if event.buffer else "?"


def named(row: BufferRow, element: int) -> str:
    """The same of a buffer and the number of its element."""
    return f"`{row.name}`{outside_barriers.subscript(row, element)}"


def unawaited(trace: Trace) -> np.ndarray:
    """The last accesses of agents to on-chip memory that no thread ever learns of.

    A DMA says by units of its semaphore that it is over, so that it is known by what
    is left of these.
    """
    columns, rows = trace.columns, trace.buffer_rows
    agents = np.array([thread.is_agent for thread in trace.threads], bool)
    dmas = np.array([thread.kind in ("dma", "agent") for thread in trace.threads], bool)
    private = np.array([row.space in ON_CHIP for row in rows], bool)
    kinds = (Kind.READ, Kind.WRITE, Kind.UPDATE)
    events = np.flatnonzero(np.isin(columns.kind, kinds))
    thread = columns.thread[events]
    keep = agents[thread] & ~dmas[thread] & private[columns.object[events]]
    ended = [launch.outcome.kind == "finished" for launch in trace.launches]
    events = events[keep & np.array(ended, bool)[columns.launch[events]]]
    last = np.full(len(agents), -1)
    last[columns.thread[events]] = events
    last = last[last >= 0]
    is_known = heard(trace)[columns.thread[last]] >= columns.clock[last]
    is_known |= _pipelined(trace, columns.thread[last], is_known)
    return np.sort(last[~is_known])


def heard(trace: Trace) -> np.ndarray:
    """The last tick of each thread that some thread of the program learns of, or -1."""
    agents = np.array([thread.is_agent for thread in trace.threads], bool)
    logs = trace.order.logs()
    learner = np.repeat(np.arange(len(agents)), np.diff(logs.first))
    mine = ~agents[learner]
    found = np.full(len(agents), -1)
    np.maximum.at(found, logs.other[mine], logs.tick[mine])
    return found


def _pipelined(trace: Trace, agents: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Operations of the matrix unit in front of a product of their block that is known.

    The unit keeps the order in which they were issued.
    """
    rules = proxies.proxies(trace)
    engine, issue = rules.engine[agents], rules.issue[agents]
    block = trace.columns.block[issue]
    result = np.zeros(len(agents), bool)
    last: dict[int, int] = {}
    for i in np.flatnonzero(known & (engine == proxies.Engine.PRODUCT)).tolist():
        last[int(block[i])] = max(last.get(int(block[i]), -1), int(issue[i]))
    in_unit = np.isin(engine, (proxies.Engine.PRODUCT, proxies.Engine.TENSOR_COPY))
    for i in np.flatnonzero(~known & in_unit).tolist():
        product = last.get(int(block[i]), -1)
        result[i] = product >= 0 and trace.order.before(int(issue[i]), product)
    return result
