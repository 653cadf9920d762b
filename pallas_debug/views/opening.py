"""Where a view opens: at the first error, else on the first line of the first kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from pallas_debug.trace import Trace
from pallas_debug.trace.tables import RecordedLaunch

LAUNCH = "launch"  # the thread that gives a kernel its arguments


def opens_at(trace: Trace, report: Any = None) -> int:
    """The event after which it opens, -1 if nothing was recorded."""
    if report is not None and report.opens_at >= 0:
        return report.opens_at
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
    """The instructions whose line is the kernel's own, not that of the launch."""
    kernel, call = launch.kernel, launch.loc
    at = (call.file, call.line) if call else None
    return [
        number
        for number in range(len(kernel.tape))
        if (loc := kernel.loc_of(number)) and (loc.file, loc.line) != at
    ]
