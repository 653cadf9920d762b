"""PD210 deadlock: threads wait for something that nobody will do.

## What it does

For a launch that ended with waiting threads: who waits for what at which line, how many
arrivals or units came and how many are needed, which instructions of the kernel signal
the same barrier or semaphore, and who executed them.

## Why is this bad?

On the device, and in every mode of JAX, the kernel never returns.

## Example

```python
ready = plgpu.Barrier(num_arrivals=2)  # but only one warpgroup arrives
```

## Use instead

```python
ready = plgpu.Barrier(num_arrivals=1)
```

Every phase needs exactly `num_arrivals` arrivals, and every `semaphore_wait` as many
units as were signalled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace import dtypes
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.tables import RecordedLaunch
from pallas_debug.trace.trace import Trace

SIGNALS = ("arrive", "signal", "copy_gmem_to_smem", "dma_start", "commit")
SHOWN = 100


@dataclass(frozen=True, kw_only=True)
class Wait:
    """One thread that still waits: for `needed` of `number`[element], or for an agent.

    `number` is the buffer, -1 for an agent, whose thread `element` then is.
    """

    thread: int
    instr: int
    number: int
    element: int
    needed: int
    block_event: int


@check("PD210", "deadlock")
def deadlock(trace: Trace) -> Iterator[Finding]:
    """Waits that never ended, one finding for each line and object."""
    for launch in trace.launches:
        if launch.outcome.kind != "deadlock":
            continue
        waits = [_wait(trace, row) for row in launch.outcome.waiting]
        groups: dict[Any, list[Wait]] = {}
        for wait in waits:
            name = trace.buffer_rows[wait.number].name if wait.number >= 0 else ""
            loc = launch.kernel.loc_of(wait.instr)
            place = (loc.file, loc.line) if loc else wait.instr
            groups.setdefault((name, place), []).append(wait)
        for group in groups.values():
            yield _finding(trace, launch, group, waits)


def _wait(trace: Trace, row: tuple[int, int, int, int, int]) -> Wait:
    """A row of `Outcome.waiting` with the event at which the thread fell asleep."""
    thread, instr, number, element, needed = row
    events = trace.columns.of_thread(thread)
    blocked = events[trace.columns.kind[events] == Kind.BLOCK]
    return Wait(
        thread=thread,
        instr=instr,
        number=number,
        element=element,
        needed=needed,
        block_event=int(blocked[-1]) if len(blocked) else -1,
    )


def _finding(
    trace: Trace, launch: RecordedLaunch, group: list[Wait], waits: list[Wait]
) -> Finding:
    first = group[0]
    who = trace.threads[first.thread]
    details: dict[str, Any] = {"graph": _graph(trace, waits), "needed": first.needed}
    if first.number < 0:
        agent = trace.threads[first.element]
        message = f"{who.name} waits for {agent.name}, which does not end"
        hint = "see what that operation itself waits for"
    else:
        progress = _progress(trace, first)
        sources = _sources(trace, launch, first)
        details |= {**progress, "sources": sources}
        message = f"{who.name} waits for {_words(trace, first, progress)}"
        message += _signalled(sources)
        hint = _hint(trace, first, sources)
    if len(group) > 1:
        message += f"; {len(group)} threads wait here"
    events = [wait.block_event for wait in group if wait.block_event >= 0]
    return Finding(
        message=message,
        hint=hint,
        loc=launch.kernel.loc_of(first.instr),
        launch=launch.number,
        buffer=trace.buffer_rows[first.number].name if first.number >= 0 else "",
        block=who.block,
        threads=tuple(wait.thread for wait in group[:SHOWN]),
        events=tuple(events[:SHOWN]),
        count=len(group),
        details=details,
    )


def _matching(trace: Trace, wait: Wait, kind: Kind) -> np.ndarray:
    """Events of a kind on the same element of the same object."""
    columns = trace.columns
    events = np.flatnonzero((columns.kind == kind) & (columns.object == wait.number))
    regions = trace.regions
    same = [regions[int(columns.region[seq])][1] == wait.element for seq in events]
    return events[np.array(same, bool)]


def _progress(trace: Trace, wait: Wait) -> dict[str, Any]:
    """How far the object has come: phases and arrivals, or units."""
    columns, row = trace.columns, trace.buffer_rows[wait.number]
    if not dtypes.is_barrier(row.dtype):
        given = columns.aux[_matching(trace, wait, Kind.SIGNAL)].sum()
        taken = columns.aux[_matching(trace, wait, Kind.WAIT)].sum()
        return {"units": {"seen": int(given - taken), "needed": wait.needed}}
    phases = len(_matching(trace, wait, Kind.PHASE))
    arrivals = _matching(trace, wait, Kind.ARRIVE)
    seen = int((columns.aux[arrivals] == phases).sum())
    return {
        "phases": {"seen": phases, "needed": wait.needed},
        "arrivals": {"seen": seen, "needed": row.arrivals},
    }


def _words(trace: Trace, wait: Wait, progress: dict[str, Any]) -> str:
    row = trace.buffer_rows[wait.number]
    name = f"`{row.name}`" + (f"[{wait.element}]" if row.shape else "")
    if "units" in progress:
        seen = progress["units"]["seen"]
        unit = "unit" if wait.needed == 1 else "units"
        return f"{wait.needed} {unit} of semaphore {name}, which has {seen}"
    seen, needed = progress["arrivals"]["seen"], progress["arrivals"]["needed"]
    came = f"{seen} of {needed} arrivals came"
    return f"phase {wait.needed} of barrier {name}: {came}"


def _sources(
    trace: Trace, launch: RecordedLaunch, wait: Wait
) -> tuple[dict[str, Any], ...]:
    """Lines that signal the object: those that did so, then those that could."""
    columns, name = trace.columns, trace.buffer_rows[wait.number].name
    found: dict[Any, dict[str, Any]] = {}
    part = slice(launch.first_event, launch.last_event)
    kinds = columns.kind[part]
    events = launch.first_event + np.flatnonzero(
        np.isin(kinds, (Kind.ARRIVE, Kind.SIGNAL))
    )
    for seq in events.tolist():
        number = int(columns.object[seq])
        if trace.buffer_rows[number].name != name:
            continue
        instr, thread = _origin(trace, seq)
        entry = _entry(found, launch.kernel, instr)
        entry["seen"] += number == wait.number
        if number == wait.number and thread not in entry["threads"]:
            entry["threads"] += (thread,)
    for instr in _static_sources(launch.kernel, wait.instr):
        _entry(found, launch.kernel, instr)
    return tuple(found.values())


def _origin(trace: Trace, seq: int) -> tuple[int, int]:
    """Instruction and thread of the program that an event goes back to."""
    columns = trace.columns
    instr, thread = int(columns.instr[seq]), int(columns.thread[seq])
    while trace.threads[thread].is_agent and trace.thread_rows[thread].parent >= 0:
        row = trace.thread_rows[thread]
        instr = row.instr if row.instr >= 0 else instr
        thread = row.parent
    return instr, thread


def _entry(found: dict[Any, Any], kernel: ir.Kernel, instr: int) -> dict[str, Any]:
    loc = kernel.loc_of(instr)
    key = (loc.file, loc.line) if loc else instr
    op = kernel.tape[instr].op if 0 <= instr < len(kernel.tape) else ""
    return found.setdefault(
        key, {"loc": loc, "instr": instr, "op": op, "seen": 0, "threads": ()}
    )


def _static_sources(kernel: ir.Kernel, waiting: int) -> Iterator[int]:
    """Signalling instructions on the reference that the waiting instruction has."""
    if not 0 <= waiting < len(kernel.tape):
        return
    waited = {access.ref for access in kernel.tape[waiting].accesses}
    for number, instr in enumerate(kernel.tape):
        # An asynchronous operation signals a reference that it is given as a value.
        used = {*(access.ref for access in instr.accesses), *instr.ins}
        if any(word in instr.op for word in SIGNALS) and used & waited:
            yield number


def _signalled(sources: tuple[dict[str, Any], ...]) -> str:
    """Who could have signalled, in a few words."""
    if not sources:
        return "; nothing in the kernel signals it"
    parts = []
    for source in sources[:3]:
        line = f"line {source['loc'].line}" if source["loc"] else f"#{source['instr']}"
        count = {0: "never executed", 1: "once"}.get(
            source["seen"], f"{source['seen']} times"
        )
        parts.append(f"{line} ({count})")
    more = ", …" if len(sources) > 3 else ""
    return f"; signalled by {', '.join(parts)}{more}"


def _hint(trace: Trace, wait: Wait, sources: tuple[dict[str, Any], ...]) -> str:
    row = trace.buffer_rows[wait.number]
    never = [source for source in sources if not source["seen"] and source["loc"]]
    if never and len(never) == len(sources):
        line = never[0]["loc"].line
        return f"let the thread that signals at line {line} get there before this wait"
    if dtypes.is_barrier(row.dtype):
        return (
            f"make num_arrivals of `{row.name}` ({row.arrivals}) the number of arrivals"
            " in each phase, or let the missing threads arrive"
        )
    return f"signal `{row.name}` as often as it is waited for, before the wait"


def _graph(trace: Trace, waits: list[Wait]) -> tuple[dict[str, Any], ...]:
    """For each waiting thread: what it waits for, and the state of its companions."""
    waiting = {wait.thread: wait for wait in waits}
    companions: dict[Any, list[Any]] = {}
    for thread in trace.threads:
        key = (thread.row.launch, thread.row.block)
        if not thread.is_agent and thread.kind != "launch":
            companions.setdefault(key, []).append(thread)
    edges: list[dict[str, Any]] = []
    for wait in waits[:SHOWN]:
        row = trace.thread_rows[wait.thread]
        edges += (
            {
                "thread": wait.thread,
                "object": wait.number,
                "element": wait.element,
                "other": other.number,
                "state": "waits" if other.number in waiting else "ended",
            }
            for other in companions.get((row.launch, row.block), ())
            if other.number != wait.thread
        )
    return tuple(edges)
