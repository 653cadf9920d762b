"""PD903 interrupted: the recording was stopped by the user.

## What it does

Says which launch ended early, and after how many events. Where one thread went round a
loop all the time, the line is that loop's.

## Why is this bad?

What follows is not in the trace, so no check has looked at it, and outputs are unfinished.

## Example

Ctrl-C while a cell records: what was recorded until then is kept.

## Use instead

Smaller shapes, or `blocks=` to run only the grid points that matter. Of a loop that never
ends, look at the condition.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug.checks import cut_short
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace.trace import Trace

WAY = "run it again, or record fewer grid points with `blocks=`"


@check("PD903", "interrupted", severity=Severity.WARNING)
def interrupted(trace: Trace) -> Iterator[Finding]:
    """Launches with the outcome `interrupted`."""
    for launch in trace.launches:
        if launch.outcome.kind == "interrupted":
            yield cut_short.finding(trace, launch, "was stopped", WAY)
