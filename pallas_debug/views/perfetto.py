"""The trace in the Trace Event Format, which Perfetto and Chrome's tracing open.

A process for each block, a track for each thread; one step of the machine is drawn as
one microsecond, since the recording knows no seconds. The format:
https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from pallas_debug.trace import Kind, Trace
from pallas_debug.views import bundle_tables
from pallas_debug.views.text import place
from pallas_debug.views.view import view as exported

SPANS = ("runs", "waits", "in flight")
# Kinds that a span already shows.
SILENT = (Kind.SPAWN, Kind.END, Kind.BLOCK, Kind.GRID)
OUTSIDE = 0  # process of what belongs to no block

Entry = dict[str, Any]


@exported("perfetto", suffix=".perfetto.json")
def perfetto(trace: Trace, report: Any) -> str:
    """Spans, events, ordering between threads, live memory and findings."""
    clock, tracks = _clock(trace), _tracks(trace)
    entries = [
        *_names(trace, tracks),
        *_spans(trace, clock, tracks),
        *_events(trace, clock, tracks),
        *_flows(trace, clock, tracks),
        *_memory(trace, clock),
        *_findings(trace, report, clock, tracks),
    ]
    other = {key: str(value) for key, value in trace.meta.items()}
    return json.dumps(
        {
            "traceEvents": entries,
            "displayTimeUnit": "ns",
            "otherData": other | {"time": "1 microsecond = 1 step of the machine"},
        },
        separators=(",", ":"),
    )


def _clock(trace: Trace) -> np.ndarray:
    """Step of each event, counted on over the launches; one more for the end."""
    begins = np.cumsum([0, *(launch.steps + 1 for launch in trace.launches)])
    steps = trace.columns.step.astype(np.int64) + begins[trace.columns.launch]
    return np.append(steps, begins[-1])


def _tracks(trace: Trace) -> list[Entry]:
    """Process and track of each thread: a number for its block, across launches."""
    before = np.cumsum([0, *(launch.blocks for launch in trace.launches)]).tolist()
    return [
        {
            "pid": before[row.launch] + row.block + 1 if row.block >= 0 else OUTSIDE,
            "tid": number,
        }
        for number, row in enumerate(trace.thread_rows)
    ]


def _names(trace: Trace, tracks: list[Entry]) -> Iterator[Entry]:
    named: set[int] = set()
    for thread in trace.threads:
        process = tracks[thread.number]["pid"]
        if process not in named:
            named.add(process)
            text = f"{thread.launch.name} {thread.block or ''}".strip()
            yield _name("process_name", process, 0, text)
        yield _name("thread_name", process, thread.number, thread.name)


def _name(what: str, process: int, thread: int, text: str) -> Entry:
    return {
        "ph": "M",
        "name": what,
        "pid": process,
        "tid": thread,
        "args": {"name": text},
    }


def _spans(trace: Trace, clock: np.ndarray, tracks: list[Entry]) -> Iterator[Entry]:
    table = dict(bundle_tables.spans(trace))
    columns = ("thread", "start", "end", "kind", "object")
    lists = [np.asarray(table[f"view.spans.{name}"]).tolist() for name in columns]
    for thread, start, end, kind, about in zip(*lists, strict=True):
        name = SPANS[kind]
        if kind == bundle_tables.WAITING and about >= 0:
            name = f"waits for {trace.buffer_rows[about].name}"
        yield {
            "ph": "X",
            "name": name,
            "cat": SPANS[kind],
            "ts": int(clock[start]),
            "dur": int(clock[end] - clock[start]),
            **tracks[thread],
        }


def _events(trace: Trace, clock: np.ndarray, tracks: list[Entry]) -> Iterator[Entry]:
    """Each event that no span shows, as an instant on its thread's track."""
    shown = ~np.isin(trace.columns.kind, SILENT)
    for seq in np.flatnonzero(shown).tolist():
        event = trace.events[seq]
        about: Entry = {"event": seq, "tick": event.clock}
        if event.loc:
            about["at"] = place(event.loc)
        yield {
            "ph": "i",
            "s": "t",
            "name": event.what,
            "cat": event.kind.name.lower(),
            "ts": int(clock[seq]),
            "args": about,
            **tracks[event.thread.number],
        }


def _flows(trace: Trace, clock: np.ndarray, tracks: list[Entry]) -> Iterator[Entry]:
    """What happens before what on another thread, as arrows."""
    threads = trace.columns.thread
    edges = zip(*(part.tolist() for part in trace.order.edges()[:2]), strict=True)
    for number, (source, target) in enumerate(edges):
        common = {"name": "happens before", "cat": "order", "id": number}
        for ph, seq in (("s", source), ("f", target)):
            end = {"bp": "e"} if ph == "f" else {}
            track = tracks[int(threads[seq])]
            yield {"ph": ph, "ts": int(clock[seq]), **end, **common, **track}


def _memory(trace: Trace, clock: np.ndarray) -> Iterator[Entry]:
    """Bytes alive in each memory space, as counters."""
    changes: list[tuple[int, str, int]] = []
    for buffer in trace.buffers:
        born = buffer.alloc if buffer.alloc >= 0 else buffer.launch.first_event
        changes.append((born, buffer.space, buffer.nbytes))
        if buffer.free >= 0:
            changes.append((buffer.free, buffer.space, -buffer.nbytes))
    alive: dict[str, int] = {}
    for seq, space, size in sorted(changes):
        alive[space] = alive.get(space, 0) + size
        yield {
            "ph": "C",
            "name": f"{space} bytes",
            "ts": int(clock[seq]),
            "pid": OUTSIDE,
            "args": {"bytes": alive[space]},
        }


def _findings(
    trace: Trace, report: Any, clock: np.ndarray, tracks: list[Entry]
) -> Iterator[Entry]:
    for one in report.findings:
        for seq in one.events[:1]:
            yield {
                "ph": "i",
                "s": "g",
                "name": f"{one.code} {one.name}",
                "cat": "finding",
                "ts": int(clock[seq]),
                "args": {"message": one.message, "hint": one.hint},
                **tracks[int(trace.columns.thread[seq])],
            }
