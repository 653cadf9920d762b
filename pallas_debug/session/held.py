"""What memory holds at a cursor, also where the trace has no values of it.

A recording may leave values out. They are never shown as zeros: the launch is executed
again up to the change, and what even that does not know is told apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pallas_debug import errors
from pallas_debug.machine.memory import dtype_of, poison
from pallas_debug.session.replay import Replay
from pallas_debug.trace import Kind, Trace, fold


class Held(NamedTuple):
    """Contents of a buffer: values, which elements are set, and which are known."""

    values: np.ndarray
    initialized: np.ndarray
    known: np.ndarray


def held(trace: Trace, replay: Replay | None, buffer: int, at: int) -> Held:
    """Contents of a buffer at a cursor; without a replay only what was recorded."""
    values, initialized = fold.memory(trace, buffer, at=at)
    if all_recorded(trace):
        return Held(values, initialized, np.ones_like(initialized))
    known = fold.recorded(trace, buffer, at=at) | ~initialized
    if replay is None or known.all():
        return Held(values, initialized, known)
    again = _executed(trace, replay, buffer, at)
    if again is None or again.shape != values.shape:
        return Held(values, initialized, known)
    return Held(np.where(known, values, again), initialized, np.ones_like(known))


def read(trace: Trace, replay: Replay | None, buffer: int, at: int) -> np.ndarray:
    """The same as a kernel would read it: poison where it is unset or not known."""
    found = held(trace, replay, buffer, at)
    unset = poison(dtype_of(trace.buffer_rows[buffer].dtype))
    return np.where(found.initialized & found.known, found.values, unset)


def all_recorded(trace: Trace) -> bool:
    """Whether the trace has every value that was written."""
    found = trace.caches.get("all recorded")
    if found is None:
        columns = trace.columns
        changes = np.isin(columns.kind, (Kind.WRITE, Kind.UPDATE))
        found = not trace.left_out and bool((columns.payload[changes] >= 0).all())
        trace.caches["all recorded"] = found
    return found


def _changes(trace: Trace, buffer: int) -> np.ndarray:
    """Events that change a memory."""
    columns, roots = trace.columns, fold.roots(trace)
    found = np.flatnonzero(np.isin(columns.kind, fold.TOUCHING))
    return found[roots[columns.object[found]] == roots[buffer]]


def _executed(trace: Trace, replay: Replay, buffer: int, at: int) -> np.ndarray | None:
    """The contents after the last change before a cursor, from executing it again."""
    from pallas_debug.jaxlink.evaluate import flushing_denormals

    changes, columns = _changes(trace, buffer), trace.columns
    place = int(np.searchsorted(changes, at))
    if not place:
        return None
    last, following = int(changes[place - 1]), changes[place : place + 1].tolist()
    before, after = replay.steps(last)
    same = [e for e in following if columns.launch[e] == columns.launch[last]]
    if any(columns.step[e] == before for e in same):
        return None  # an instruction in the midst of its changes
    try:
        with flushing_denormals():
            memory = replay.timeline(int(columns.launch[last])).at(after).memory
    except (errors.NoSource, errors.OtherReplay):
        return None
    numbers = (buffer, int(fold.roots(trace)[buffer]))
    found = next((memory[n] for n in numbers if n in memory), None)
    return None if found is None else found.data
