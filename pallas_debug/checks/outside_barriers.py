"""Barriers and semaphores that an array does not have: facts for PD101 and others.

Nothing happens there: no arrival counts, no unit is kept, and no wait ends.
"""

from __future__ import annotations

import math

import numpy as np

from pallas_debug.trace.regions import element_of
from pallas_debug.trace.schema import BufferRow, Kind
from pallas_debug.trace.trace import Trace

VERBS = {
    Kind.ARRIVE: "arrives at",
    Kind.LAND: "arrives at",
    Kind.SIGNAL: "signals",
    Kind.BLOCK: "waits for",
}


def nowhere(trace: Trace) -> np.ndarray:
    """The events that arrive, signal or sleep at an element that does not exist."""
    kept: np.ndarray | None = trace.caches.get("nowhere")
    if kept is None:
        columns = trace.columns
        is_sync = np.isin(columns.kind, [*VERBS]) & (columns.object >= 0)
        events = np.flatnonzero(is_sync & (columns.region >= 0))
        sizes = np.array([math.prod(row.shape) for row in trace.buffer_rows], np.int64)
        numbers = elements(trace, events)
        outside = (numbers < 0) | (numbers >= sizes[columns.object[events]])
        kept = trace.caches["nowhere"] = events[outside]
    return kept


def elements(trace: Trace, events: np.ndarray) -> np.ndarray:
    """The number of the barrier or semaphore that each event is about."""
    regions, of = np.unique(trace.columns.region[events], return_inverse=True)
    return trace.regions.spans(regions, 1)[:, 0, 0][of]


def exists(row: BufferRow, element: int) -> bool:
    """Whether an array has an element of this number."""
    return 0 <= element < math.prod(row.shape)


def subscript(row: BufferRow, element: int) -> str:
    """How users write the index of an element, whether it exists or not."""
    if exists(row, element):
        return element_of(row.shape, element)
    return f"[{element}]" if len(row.shape) == 1 else "[outside]"


def said(row: BufferRow, element: int) -> str:
    """An element that does not exist, in words; of a plane its index is not known."""
    if len(row.shape) != 1:
        return f"an index outside `{row.name}`, whose shape is {row.shape}"
    many = "1 element" if row.shape[0] == 1 else f"{row.shape[0]} elements"
    return f"index {element} of `{row.name}`, which has {many}"


def hint(row: BufferRow, element: int) -> str:
    """What to do about it."""
    if len(row.shape) != 1:
        return f"keep the index of `{row.name}` within its shape"
    if element < 0:
        return f"keep the index of `{row.name}` from falling below 0"
    return f"keep the index of `{row.name}` below {row.shape[0]}, or make it larger"
