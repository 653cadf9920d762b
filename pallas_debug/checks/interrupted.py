"""PD903 interrupted: the recording was stopped by the user.

## What it does

Says which launch ended early, and after how many events.

## Why is this bad?

What follows is not in the trace, so no check has looked at it, and outputs are unfinished.

## Example

Ctrl-C while a cell records: what was recorded until then is kept.

## Use instead

Smaller shapes, or `blocks=` to run only the grid points that matter.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace.trace import Trace


@check("PD903", "interrupted", severity=Severity.WARNING)
def interrupted(trace: Trace) -> Iterator[Finding]:
    """Launches with the outcome `interrupted`."""
    for launch in trace.launches:
        if launch.outcome.kind == "interrupted":
            count = len(launch.events)
            yield Finding(
                message=f"the recording of {launch.name} was stopped: "
                f"{launch.outcome.message} after {count:,} events; "
                "what follows is unknown",
                hint="run it again, or record fewer grid points with `blocks=`",
                loc=launch.loc,
                launch=launch.number,
                events=(launch.last_event - 1,) if count else (),
            )
