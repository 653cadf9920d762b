"""Who signals what a thread waits for: lines that did so, and lines that could.

Facts for PD210; what they mean is said there and in `deadlock_graph.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.checks import accesses, outside_barriers, places
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.tables import RecordedLaunch
from pallas_debug.trace.trace import Trace

SIGNALS = ("arrive", "signal", "copy_gmem_to_smem", "dma_start", "commit")


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


class Sources:
    """Lines that signal what is waited for, looked up once for each wait and object."""

    def __init__(self, trace: Trace, launch: RecordedLaunch) -> None:
        self._trace, self._launch = trace, launch
        self._known: dict[tuple[int, int, int], tuple[dict[str, Any], ...]] = {}

    def of(self, wait: Wait) -> tuple[dict[str, Any], ...]:
        """Those that did so, then those that could."""
        key = (wait.number, wait.element, wait.instr)
        if wait.number >= 0 and key not in self._known:
            self._known[key] = _sources(self._trace, self._launch, wait)
        return self._known.get(key, ())


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
        thread, instr, _ = accesses.starter(trace, seq)
        entry = _entry(found, launch.kernel, instr)
        if int(columns.object[seq]) != wait.number:
            continue
        element = trace.regions[int(columns.region[seq])][1]
        if element != wait.element:
            row = trace.buffer_rows[wait.number]
            entry["others"] |= {outside_barriers.subscript(row, element)}
            continue
        entry["seen"] += 1
        if thread not in entry["threads"]:
            entry["threads"] += (thread,)
    for instr in _static_sources(launch.kernel, wait.instr):
        _entry(found, launch.kernel, instr)
    for entry in found.values():
        entry["others"] = tuple(sorted(entry["others"]))
    return tuple(found.values())


def _entry(found: dict[Any, Any], kernel: ir.Kernel, instr: int) -> dict[str, Any]:
    loc = kernel.loc_of(instr)
    key = (loc.file, loc.line) if loc else instr
    op = kernel.tape[instr].op if 0 <= instr < len(kernel.tape) else ""
    new = {
        "loc": loc,
        "instr": instr,
        "op": op,
        "seen": 0,
        "threads": (),
        "others": set(),
    }
    return found.setdefault(key, new)


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


def signalled(sources: tuple[dict[str, Any], ...], home: ir.Loc | None) -> str:
    """Who could have signalled, in a few words."""
    if not sources:
        return "; nothing in the kernel signals it"
    parts = []
    for source in sources[:3]:
        loc = source["loc"]
        line = places.line(loc, home) if loc else f"#{source['instr']}"
        parts.append(f"{line} ({_times(source)})")
    more = ", …" if len(sources) > 3 else ""
    return f"; signalled by {', '.join(parts)}{more}"


def _times(source: dict[str, Any]) -> str:
    """How often a line signalled, or which other elements it did."""
    if source["seen"]:
        return "once" if source["seen"] == 1 else f"{source['seen']} times"
    others = source["others"]
    if not others:
        return "never executed"
    return f"only {', '.join(others[:3])}{', …' if len(others) > 3 else ''}"
