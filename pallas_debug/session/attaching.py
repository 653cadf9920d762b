"""Gives a trace from a file what is needed to execute its launches again.

The function is run and recorded once more. What it launches must be what was recorded:
kernels with the same fingerprint, on the same grids, with the same inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pallas_debug import errors, ir
from pallas_debug.trace import Trace
from pallas_debug.trace.tables import RecordedLaunch


def sources(
    trace: Trace,
    fn: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    options: Any,
) -> dict[int, ir.Launch]:
    """The launches of `fn(*args, **kwargs)`, one for each of the trace."""
    from pallas_debug.session.verbs import trace as record

    name = getattr(fn, "__name__", repr(fn))
    again = record(fn, *args, options=options, **kwargs)
    if len(again.launches) < len(trace.launches):
        reason = f"it launches {len(again.launches)}, not {len(trace.launches)} kernels"
        raise errors.OtherKernel(name=name, reason=reason)
    found: dict[int, ir.Launch] = {}
    for old, new in zip(trace.launches, again.launches, strict=False):
        reason = _difference(old, new) or _other_inputs(trace, old, again, new)
        if reason:
            raise errors.OtherKernel(name=name, reason=reason, loc=new.loc)
        assert new.source is not None
        found[old.number] = new.source
    return found


def _difference(old: RecordedLaunch, new: RecordedLaunch) -> str:
    """What sets two launches apart, empty if nothing does."""
    if old.kernel.fingerprint != new.kernel.fingerprint:
        return (
            f"launch {old.number} of `{old.name}` has the fingerprint "
            f"{old.kernel.fingerprint}, that of `{new.name}` has "
            f"{new.kernel.fingerprint}"
        )
    if old.grid != new.grid:
        return f"launch {old.number} has the grid {old.grid}, not {new.grid}"
    return ""


def _other_inputs(
    trace: Trace, old: RecordedLaunch, again: Trace, new: RecordedLaunch
) -> str:
    """Which argument of a launch differs, empty if none does."""
    for mine, its in zip(old.arguments, new.arguments, strict=True):
        row, other = trace.buffer_rows[mine], again.buffer_rows[its]
        if row.initial < 0 or other.initial < 0 or row.initial in trace.left_out:
            continue
        a, b = trace.payload(row.initial), again.payload(other.initial)
        if np.asarray(a).tobytes() != np.asarray(b).tobytes():
            return f"the argument `{row.name}` of launch {old.number} differs"
    return ""
