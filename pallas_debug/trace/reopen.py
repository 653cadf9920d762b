"""From a Trace back to a writer, as it was before the last launch: `close` undone.

For a recording that goes on. Numbers of regions, values and texts are given in the order
of their first use, so what the earlier events use is what there was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.trace.columns import Columns
from pallas_debug.trace.schema import COLUMNS, Kind, RegionKind
from pallas_debug.trace.trace import Trace
from pallas_debug.trace.writer import LaunchRecord, Writer


def until(trace: Trace, sources: Sequence[ir.Launch]) -> Writer:
    """A writer that holds what was recorded before a trace's last launch.

    Args:
      trace: With at least one launch.
      sources: What each launch executed.
    """
    made, last = Writer(), len(trace.launches) - 1
    columns = trace.columns.prefix(trace.launches[last].first_event)
    rows = [getattr(columns, one.name).astype(np.int32) for one in COLUMNS]
    made.log = bytearray(np.stack(rows, axis=1).tobytes())
    made.threads = [row for row in trace.thread_rows if row.launch < last]
    made.buffers = [row for row in trace.buffer_rows if row.launch < last]
    made.choices = [row for row in trace.choices if row[0] < last]
    made.texts = list(trace.texts[: _texts(columns)])
    regions = [tuple(trace.regions[i]) for i in range(_count(columns.region))]
    for row in regions:
        made.region(row)
    initial = [row.initial for row in trace.buffer_rows if row.launch < last]
    for number in range(_values(columns, regions, initial)):
        made.payload(trace.payloads[number])
    for earlier in trace.launches[:last]:
        chosen = sum(row[0] < earlier.number for row in trace.choices)
        record = LaunchRecord(sources[earlier.number], earlier.first_event, chosen)
        for name in ("last_event", "outcome", "outputs", "arguments", "steps"):
            setattr(record, name, getattr(earlier, name))
        made.launches.append(record)
    return made


def _count(column: np.ndarray) -> int:
    return 1 + int(column.max(initial=-1))


def _values(columns: Columns, regions: Sequence[Any], initial: Sequence[int]) -> int:
    special = [row[-1] for row in regions if row[0] != RegionKind.BOX]
    return max([_count(columns.payload), *(1 + n for n in (*special, *initial))])


def _texts(columns: Columns) -> int:
    said = columns.aux[columns.kind == Kind.PRINT]
    failed = -1 - columns.aux[columns.kind == Kind.ASSERT]
    return _count(np.concatenate([said, failed]))
