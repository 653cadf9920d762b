"""PD501 assertion-failed: a `pl.debug_check` of the kernel did not hold.

## What it does

Names each `pl.debug_check` whose predicate was false, with its message, and says where
first and how often.

## Why is this bad?

The kernel says itself that something is wrong. The interpret modes of JAX (0.10.2 to
0.12.0.1: `interpret=True`, `InterpretParams`, `InterpretGPUParams`) let a failed check
pass without a word; only a device stops there. Here the kernel goes on, too, so that
what follows from the fault can be seen.

## Example

```python
def kernel(x_ref, o_ref):
    pl.debug_check(jnp.all(x_ref[...] > 0), "x must be positive")
    o_ref[...] = jnp.log(x_ref[...])
```

## Use instead

Step back from the event to what wrote the values; the check itself may be wrong, too.
Checks are made here whether or not `pl.enable_debug_checks()` is on; on a device they
are made only where it is.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pallas_debug.checks import accesses
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.trace import Trace


@check("PD501", "assertion-failed")
def assertion_failed(trace: Trace) -> Iterator[Finding]:
    """Failed assertions by line, with the message of the first."""
    columns = trace.columns
    failed = np.flatnonzero((columns.kind == Kind.ASSERT) & (columns.aux <= 0))
    for events in accesses.by_line(trace, failed):
        text = trace.events[int(events[0])].text
        said = f': "{text}"' if text else ""
        yield accesses.finding_at(
            trace,
            events,
            f"`pl.debug_check` failed{said}{accesses.times(trace, events)}",
            hint="look at what wrote the checked values; JAX's interpret modes pass "
            "over a failed check in silence",
        )
