"""Evidence that what a kernel should not have read decides nothing.

Unset memory and what lies outside an array read as NaN here. A launch whose outputs are
floats and hold no NaN has dropped what it read, as a mask or a later overwrite does.
This is one run's evidence and no proof: a maximum or a comparison drops NaN, too.
"""

from __future__ import annotations

import numpy as np

from pallas_debug.trace import fold
from pallas_debug.trace.trace import Trace

FLOATS = ("float", "bfloat")
SAID = "; no NaN of it is in the outputs"


def is_dropped(trace: Trace, seq: int) -> bool:
    """Whether NaN read at an event can be seen to reach no output of its launch."""
    row = trace.buffer_rows[int(trace.columns.object[seq])]
    if not row.dtype.startswith(FLOATS):
        return False
    return _is_clean(trace, int(trace.columns.launch[seq]))


def _is_clean(trace: Trace, launch: int) -> bool:
    kept: dict[int, bool] = trace.caches.setdefault("clean outputs", {})
    if launch not in kept:
        kept[launch] = _judge(trace, launch)
    return kept[launch]


def _judge(trace: Trace, launch: int) -> bool:
    record = trace.launches[launch]
    if record.outcome.kind != "finished":
        return False
    outputs = [
        number
        for number, row in enumerate(trace.buffer_rows)
        if row.launch == launch and row.role == "output"
    ]
    return bool(outputs) and all(
        _has_no_nan(trace, number, record.last_event) for number in outputs
    )


def _has_no_nan(trace: Trace, number: int, end: int) -> bool:
    if not trace.buffer_rows[number].dtype.startswith(FLOATS):
        return False
    held = fold.memory(trace, number, end)
    known = fold.recorded(trace, number, end)
    written = held.initialized & known
    values = held.values.astype(np.float32)
    return bool(written.any()) and not np.isnan(values[written]).any()
