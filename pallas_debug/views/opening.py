"""Where a view opens: at the first error, else where the first kernel begins."""

from __future__ import annotations

from typing import Any

import numpy as np

from pallas_debug.trace import Trace

LAUNCH = "launch"  # the thread that gives a kernel its arguments


def opens_at(trace: Trace, report: Any = None) -> int:
    """The event after which it opens, -1 if nothing was recorded."""
    if report is not None and report.opens_at >= 0:
        return report.opens_at
    outside = [n for n, row in enumerate(trace.thread_rows) if row.kind == LAUNCH]
    inside = np.flatnonzero(~np.isin(trace.columns.thread, outside))
    return int(inside[0]) if len(inside) else len(trace) - 1
