"""PD904 values-dropped: from some event on, values were not recorded any more.

## What it does

Names the first access whose value was not kept although earlier ones were.

## Why is this bad?

Nothing is wrong with the kernel. But memory shown after this event has gaps, and checks
of values see less. Which accesses there were, and in which order, is still complete.

## Example

```python
pldb.trace(fn, x, options=pldb.Options(max_value_bytes=1 << 20))
```

## Use instead

A higher `max_value_bytes`, smaller shapes, or `blocks=` to run fewer grid points.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.trace import Trace

VALUED = (Kind.READ, Kind.WRITE, Kind.UPDATE)


@check("PD904", "values-dropped", severity=Severity.INFO)
def values_dropped(trace: Trace) -> Iterator[Finding]:
    """The first event of a kind that lost its value."""
    columns = trace.columns
    asked = _asked_for(trace)
    lost: list[np.ndarray] = []
    for kind in VALUED:
        events = np.flatnonzero(columns.kind == kind)
        has = columns.payload[events] >= 0
        if (has.any() or kind in asked) and not has.all():
            lost.append(events[~has])
    if not lost:
        return
    events = np.sort(np.concatenate(lost))
    first = trace.events[int(events[0])]
    yield Finding(
        message=f"from event {first.seq:,} on, {len(events):,} values were not recorded",
        hint="raise `max_value_bytes`, or record fewer grid points with `blocks=`",
        loc=first.loc,
        launch=first.launch.number,
        block=first.block,
        events=(first.seq,),
        count=len(events),
    )


def _asked_for(trace: Trace) -> tuple[Kind, ...]:
    """The kinds whose values were to be recorded, as far as the recording says."""
    options = trace.meta.get("options")
    values = options.get("values") if isinstance(options, Mapping) else None
    return {"all": VALUED, "writes": (Kind.WRITE, Kind.UPDATE)}.get(str(values), ())
