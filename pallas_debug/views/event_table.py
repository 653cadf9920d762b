"""The events as a flat table: CSV, Parquet and Arrow files.

One row for each event, its numbers joined with names, so that other tools need no side
table. Parquet and Arrow need pyarrow.
"""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np

from pallas_debug import errors
from pallas_debug.trace import Kind, Trace, query
from pallas_debug.views.view import view as exported


def event_table(trace: Trace) -> dict[str, Any]:
    """Columns by name: arrays of integers and lists of texts, one entry per event."""
    columns = trace.columns
    kinds = [Kind(number).name.lower() for number in range(1, max(Kind) + 1)]
    other = np.isin(columns.kind, query.WITHOUT_BUFFER)
    numbers = np.where(other, -1, columns.object)
    names = [row.name for row in trace.buffer_rows]
    spaces = [row.space for row in trace.buffer_rows]
    threads = [thread.name for thread in trace.threads]
    regions: dict[int, str] = {-1: ""}
    for number in np.unique(columns.region[columns.region >= 0]).tolist():
        regions[number] = trace.region(number).text
    return {
        "event": np.arange(len(columns)),
        "launch": columns.launch,
        "step": columns.step,
        "kind": [kinds[kind - 1] for kind in columns.kind.tolist()],
        "thread": columns.thread,
        "thread_name": [threads[thread] for thread in columns.thread.tolist()],
        "block": columns.block,
        "clock": columns.clock,
        "buffer": numbers,
        "buffer_name": [names[n] if n >= 0 else "" for n in numbers.tolist()],
        "space": [spaces[n] if n >= 0 else "" for n in numbers.tolist()],
        "region": [regions[number] for number in columns.region.tolist()],
        "aux": columns.aux,
        "place": _places(trace),
    }


def _places(trace: Trace) -> list[str]:
    """The place of each event, looked up once for each instruction."""
    columns = trace.columns
    span = int(columns.instr.max(initial=0)) + 1
    sites = columns.launch.astype(np.int64) * span + columns.instr
    _, first, of = np.unique(sites, return_index=True, return_inverse=True)
    places = [trace.events[seq].place for seq in first.tolist()]
    return [places[site] for site in of.tolist()]


@exported("csv", suffix=".csv")
def csv_text(trace: Trace, report: Any) -> str:
    """The table as CSV with a head, as RFC 4180 has it."""
    table = event_table(trace)
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(table)
    lists = [c.tolist() if isinstance(c, np.ndarray) else c for c in table.values()]
    writer.writerows(zip(*lists, strict=True))
    return out.getvalue()


@exported("arrow", suffix=".arrow")
def arrow(trace: Trace, report: Any) -> bytes:
    """The table as an Arrow IPC file."""
    pa = _pyarrow()
    sink = pa.BufferOutputStream()
    table = pa.table(event_table(trace))
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


@exported("parquet", suffix=".parquet")
def parquet(trace: Trace, report: Any) -> bytes:
    """The table as a Parquet file."""
    pa = _pyarrow()
    import pyarrow.parquet as pq  # pyright: ignore

    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(event_table(trace)), sink)
    return sink.getvalue().to_pybytes()


def _pyarrow() -> Any:
    try:
        import pyarrow  # pyright: ignore
    except ImportError:
        raise errors.NotInstalled(
            package="pyarrow", purpose="Parquet and Arrow files", extra="export"
        ) from None
    return pyarrow
