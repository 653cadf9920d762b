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
from pallas_debug.checks import deadlock_graph, places
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
        sources = _Sources(trace, launch)
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


class _Sources:
    """Lines that signal what is waited for, looked up once for each wait and object."""

    def __init__(self, trace: Trace, launch: RecordedLaunch) -> None:
        self._trace, self._launch = trace, launch
        self._known: dict[tuple[int, int], tuple[dict[str, Any], ...]] = {}

    def of(self, wait: Wait) -> tuple[dict[str, Any], ...]:
        """Those that did so, then those that could."""
        key = (wait.number, wait.instr)
        if wait.number >= 0 and key not in self._known:
            self._known[key] = _sources(self._trace, self._launch, wait)
        return self._known.get(key, ())


def _finding(
    trace: Trace,
    launch: RecordedLaunch,
    group: list[Wait],
    lines: _Sources,
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
        details |= {**progress, "sources": sources}
        message = f"{who.name} waits for {_words(trace, first, progress)}"
        message += _signalled(sources, home)
        circle = deadlock_graph.circle(graph, first.thread)
        details["circle"] = [edge["from"] for edge in circle]
        hint = deadlock_graph.advice(graph, first.thread)
        hint = hint or _hint(trace, first, sources, home)
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
    named = np.array([row.name == name for row in trace.buffer_rows], bool)
    part = slice(launch.first_event, launch.last_event)
    is_signal = np.isin(columns.kind[part], (Kind.ARRIVE, Kind.SIGNAL))
    events = launch.first_event + np.flatnonzero(is_signal)
    events = events[named[columns.object[events]]]
    own = columns.object[events] == wait.number
    # Of the same object in other blocks, one event for each instruction will do.
    _, others = np.unique(columns.instr[events[~own]], return_index=True)
    for seq in sorted([*events[own].tolist(), *events[~own][others].tolist()]):
        instr, thread = _origin(trace, seq)
        entry = _entry(found, launch.kernel, instr)
        is_own = int(columns.object[seq]) == wait.number
        entry["seen"] += is_own
        if is_own and thread not in entry["threads"]:
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
    for instr in kernel.tape:
        if instr.op == "pallas.on_device" and instr.ins[0] in waited:
            waited |= {ir.Reg(number) for number in instr.outs}
    for number, instr in enumerate(kernel.tape):
        if _is_of_agent(kernel, instr.scope):
            continue  # its registers have numbers of their own
        # An asynchronous operation signals a reference that it is given as a value.
        used = {*(access.ref for access in instr.accesses), *instr.ins}
        if any(word in instr.op for word in SIGNALS) and used & waited:
            yield number


def _is_of_agent(kernel: ir.Kernel, scope: int) -> bool:
    """Whether a scope lies in the routine of an asynchronous operation, not of a warp."""
    while 0 <= scope < len(kernel.scopes):
        found = kernel.scopes[scope]
        if found.kind == "agent":
            return found.name != "warp"
        scope = found.parent
    return False


def _signalled(sources: tuple[dict[str, Any], ...], home: ir.Loc | None) -> str:
    """Who could have signalled, in a few words."""
    if not sources:
        return "; nothing in the kernel signals it"
    parts = []
    for source in sources[:3]:
        loc = source["loc"]
        line = places.line(loc, home) if loc else f"#{source['instr']}"
        count = {0: "never executed", 1: "once"}.get(
            source["seen"], f"{source['seen']} times"
        )
        parts.append(f"{line} ({count})")
    more = ", …" if len(sources) > 3 else ""
    return f"; signalled by {', '.join(parts)}{more}"


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
