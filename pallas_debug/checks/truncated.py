"""PD902 truncated: a limit of the recording was reached.

## What it does

Says which launch ended early, and after how many events. Where one thread went round a
loop all the time, the line is that loop's.

## Why is this bad?

What follows is not in the trace, so no check has looked at it, and outputs are unfinished.

## Example

```python
pldb.trace(fn, x, options=pldb.Options(max_events=1000))
```

## Use instead

A higher `max_events` or `max_seconds`, smaller shapes, or `blocks=` to run only the grid
points that matter. No limit is high enough for a loop that never ends: look at its
condition.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug.checks import cut_short
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace.trace import Trace

WAY = "raise the limit, or record fewer grid points with `blocks=`"


@check("PD902", "truncated", severity=Severity.WARNING)
def truncated(trace: Trace) -> Iterator[Finding]:
    """Launches with the outcome `truncated`."""
    for launch in trace.launches:
        if launch.outcome.kind == "truncated":
            yield cut_short.finding(trace, launch, "reached a limit", WAY)
