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
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.checks import deadlock_graph, outside_barriers, places
from pallas_debug.checks.check import check
from pallas_debug.checks.deadlock_sources import Sources, Wait, signalled
from pallas_debug.checks.finding import Finding
from pallas_debug.checks.semaphores import named
from pallas_debug.trace import dtypes
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.tables import RecordedLaunch
from pallas_debug.trace.trace import Trace

SHOWN = 100


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
            groups.setdefault((name, place, _exists(trace, wait)), []).append(wait)
        sources = Sources(trace, launch)
        graph = deadlock_graph.graph(trace, launch, waits, sources.of)
        for group in groups.values():
            yield _finding(trace, launch, group, sources, graph)


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
    trace: Trace,
    launch: RecordedLaunch,
    group: list[Wait],
    lines: Sources,
    graph: dict[str, Any],
) -> Finding:
    first, home = group[0], launch.kernel.loc_of(group[0].instr)
    who = trace.threads[first.thread]
    details: dict[str, Any] = {"graph": graph, "needed": first.needed}
    if first.number < 0:
        agent = trace.threads[first.element]
        message = f"{who.name} waits for {agent.name}, which does not end"
        hint = "see what that operation itself waits for"
    else:
        progress = _progress(trace, first)
        sources = lines.of(first)
        way = [edge["from"] for edge in deadlock_graph.circle(graph, first.thread)]
        details |= {**progress, "sources": sources, "circle": way}
        message = f"{who.name} waits for {_words(trace, first, progress)}"
        message += signalled(sources, home) if _exists(trace, first) else ""
        short = _short(trace, first, progress)
        hint = _elsewhere(trace, first, sources)
        hint = hint or deadlock_graph.advice(graph, first.thread, short)
        hint = hint or short or _hint(trace, first, sources, home)
    if len(group) > 1:
        message += f"; {len(group)} threads wait here"
    events = [wait.block_event for wait in group if wait.block_event >= 0]
    return Finding(
        message=message,
        hint=hint,
        loc=home,
        launch=launch.number,
        buffer=trace.buffer_rows[first.number].name if first.number >= 0 else "",
        block=who.block,
        threads=tuple(wait.thread for wait in group[:SHOWN]),
        events=tuple(events[:SHOWN]),
        count=len(group),
        details=details,
    )


def _exists(trace: Trace, wait: Wait) -> bool:
    """Whether what is waited for exists: an operation, or an element of an array."""
    rows = trace.buffer_rows
    return wait.number < 0 or outside_barriers.exists(rows[wait.number], wait.element)


def _matching(trace: Trace, wait: Wait, kind: Kind) -> np.ndarray:
    """Events of a kind on the same element of the same object, if there is one."""
    columns = trace.columns
    if not _exists(trace, wait):
        return np.zeros(0, np.int64)
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
    name = named(row, wait.element)
    if not _exists(trace, wait):
        what = "barrier" if "arrivals" in progress else "semaphore"
        return f"{what} {name}, which does not exist"
    if "units" in progress:
        seen = progress["units"]["seen"]
        unit = "unit" if wait.needed == 1 else "units"
        return f"{wait.needed} {unit} of semaphore {name}, which has {seen}"
    seen, needed = progress["arrivals"]["seen"], progress["arrivals"]["needed"]
    came = f"{seen} of {needed} arrivals came"
    return f"phase {wait.needed} of barrier {name}: {came}"


def _elsewhere(trace: Trace, wait: Wait, sources: tuple[dict[str, Any], ...]) -> str:
    """What to do where only other elements of an array were signalled."""
    row = trace.buffer_rows[wait.number]
    if not _exists(trace, wait):
        return outside_barriers.hint(row, wait.element)
    if any(s["seen"] for s in sources) or not any(s["others"] for s in sources):
        return ""
    return (
        f"signal {named(row, wait.element)}, or wait for an element that is signalled"
    )


def _short(trace: Trace, wait: Wait, progress: dict[str, Any]) -> str:
    """What to do if the barrier is made for more arrivals than there are."""
    seen, needed = progress.get("arrivals", {"seen": 0, "needed": 0}).values()
    if not 0 < seen < needed or progress["phases"]["seen"]:
        return ""
    others = "other thread" if needed - seen == 1 else f"other {needed - seen} threads"
    name = trace.buffer_rows[wait.number].name
    return (
        f"num_arrivals of `{name}` is {needed}, and {seen} "
        f"{'arrives' if seen == 1 else 'arrive'}: make it {seen}, or let the {others} arrive"
    )


def _hint(
    trace: Trace,
    wait: Wait,
    sources: tuple[dict[str, Any], ...],
    home: ir.Loc | None,
) -> str:
    row = trace.buffer_rows[wait.number]
    if not sources:
        return f"let a thread signal `{row.name}`, or do not wait for it"
    never = [source for source in sources if not source["seen"] and source["loc"]]
    if never and len(never) == len(sources):
        line = places.line(never[0]["loc"], home)
        return f"let the thread that signals at {line} get there before this wait"
    if dtypes.is_barrier(row.dtype):
        return (
            f"make num_arrivals of `{row.name}` ({row.arrivals}) the number of arrivals"
            " in each phase, or let the missing threads arrive"
        )
    return f"signal `{row.name}` as often as it is waited for, before the wait"
