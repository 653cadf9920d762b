"""Which recorded values go into a bundle, and how the viewer decodes small types."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from pallas_debug.accepted import whole
from pallas_debug.trace import Trace, dtypes, fold
from pallas_debug.trace.schema import RegionKind

# Elements of these types are decoded through a table, by their lowest bits.
SMALL_BITS = 8
PLAIN_SMALL = frozenset({"bool", "int8", "uint8"})


def left_out(trace: Trace, report: Any, values_bytes: int) -> frozenset[int]:
    """Numbers of the values that do not fit into a budget.

    What a region or a scalar needs is always kept. Then come the values of the buffers
    that findings are about, then all others, each time the smallest first.
    """
    values_bytes = whole("values_bytes", values_bytes, low=0)
    sizes = np.array([value.nbytes for value in trace.payloads], np.int64)
    if sizes.sum() <= values_bytes and not trace.left_out:
        return frozenset()
    rank = np.full(len(sizes), 2)
    rank[_of_buffers(trace, _suspects(trace, report))] = 1
    rank[_needed(trace)] = 0
    rank[list(trace.left_out)] = 3
    order = np.lexsort((sizes, rank))
    fits = np.cumsum(sizes[order]) <= values_bytes
    dropped = order[(~fits & (rank[order] > 0)) | (rank[order] == 3)]
    return frozenset(dropped.tolist())


def _needed(trace: Trace) -> np.ndarray:
    """Values that are masks and element numbers of regions, or scalar arguments."""
    ends = trace.regions.offsets[1:]
    special = trace.regions.kind != RegionKind.BOX
    scalars = [
        trace.buffer_rows[number].initial
        for launch in trace.launches
        for number in launch.arguments[: launch.kernel.num_scalars]
    ]
    found = [*trace.regions.data[ends[special] - 1].tolist(), *scalars]
    return np.unique(np.array([number for number in found if number >= 0], np.int64))


def _suspects(trace: Trace, report: Any) -> np.ndarray:
    """Memories that findings are about."""
    names: set[tuple[int, str]] = set()
    for one in report.findings if report else ():
        names.add((one.launch, one.buffer))
    rows = trace.buffer_rows
    found = [i for i, row in enumerate(rows) if (row.launch, row.name) in names]
    return np.unique(fold.roots(trace)[np.array(found, np.int64)])


def _of_buffers(trace: Trace, roots: np.ndarray) -> np.ndarray:
    """Values that some memories held."""
    root_of = fold.roots(trace)
    rows = trace.buffer_rows
    mine = np.flatnonzero(np.isin(root_of, roots))
    initial = [rows[number].initial for number in mine.tolist()]
    columns = trace.columns
    has = np.flatnonzero((columns.payload >= 0) & (columns.object >= 0))
    # An agent's number may look like a buffer's; such an event carries no value.
    about = np.isin(columns.object[has], mine)
    found = np.concatenate([columns.payload[has[about]].astype(np.int64), initial])
    return np.unique(found[found >= 0]).astype(np.int64)


def decode_tables(names: Iterable[str]) -> dict[str, list[Any]]:
    """The value of each bit pattern, for the types of at most eight bits among names.

    A pattern's index are the lowest bits of the byte that holds the element. NaN is
    None, infinities are words, because JSON has neither.
    """
    tables: dict[str, list[Any]] = {}
    for name in sorted(set(names)):
        if dtypes.is_sync(name) or name in PLAIN_SMALL or not dtypes.is_number(name):
            continue
        bits = dtypes.size_bytes(name, (8,))
        if bits > SMALL_BITS:
            continue
        patterns = np.arange(1 << bits, dtype=np.uint8).view(dtypes.numpy_dtype(name))
        tables[name] = [_number(float(value)) for value in patterns]
    return tables


def _number(value: float) -> Any:
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return int(value) if value.is_integer() and (value or _positive(value)) else value


def _positive(zero: float) -> bool:
    return math.copysign(1.0, zero) > 0
