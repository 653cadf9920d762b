"""Where a view opens: at the first finding, else on the first line of the first kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from pallas_debug.trace import Trace
from pallas_debug.trace.tables import RecordedLaunch

OF_BLOCKS = ("window.", "grid.")  # ops that stand at the specs of blocks
LAUNCH = "launch"  # the thread that gives a kernel its arguments


def opens_at(trace: Trace, report: Any = None) -> int:
    """The event after which it opens, -1 if nothing was recorded."""
    if report is not None and report.opens_at >= 0:
        return report.opens_at
    for one in report.warnings if report is not None else ():
        if one.events:
            return one.events[0]
    outside = [n for n, row in enumerate(trace.thread_rows) if row.kind == LAUNCH]
    inside = np.flatnonzero(~np.isin(trace.columns.thread, outside))
    if not len(inside):
        return len(trace) - 1
    first = int(inside[0])
    launch = trace.launches[int(trace.columns.launch[first])]
    mine = inside[: np.searchsorted(inside, launch.last_event)]
    own = np.isin(trace.columns.instr[mine], _instructions(launch))
    return int(mine[own.argmax()])  # the first one if no line is the kernel's own


def _instructions(launch: RecordedLaunch) -> list[int]:
    """The instructions whose line is the kernel's own, not that of the launch.

    Those that the user wrote, or else those that move blocks in and out.
    """
    call, lines = launch.loc, launch.kernel.at_lines()
    if call:
        lines.pop((call.file, call.line), None)
    found = [number for numbers in lines.values() for number in numbers]
    tape = launch.kernel.tape
    return [n for n in found if not tape[n].op.startswith(OF_BLOCKS)] or found
