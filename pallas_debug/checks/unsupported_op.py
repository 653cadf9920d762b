"""PD901 unsupported-op: the recording stopped at, or skipped, an op without a rule.

## What it does

Names each op that the machine has no rule for, with its line.

## Why is this bad?

Behind a stop nothing is known. Behind a skipped op its results are unset, and whatever
was computed from them is wrong.

## Example

```python
plgpu.inline_mgpu(...)  # code for the compiler, which no interpreter can run
```

## Use instead

Add a rule with `@pallas_debug.extend.rule(op)`, or leave the op out while debugging.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pallas_debug import errors
from pallas_debug.checks import accesses
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.trace import Trace


@check("PD901", "unsupported-op", severity=Severity.WARNING)
def unsupported_op(trace: Trace) -> Iterator[Finding]:
    """Skipped ops by line, then launches that stopped at one."""
    stubs = np.flatnonzero(trace.columns.kind == Kind.STUB)
    for events in accesses.by_line(trace, stubs):
        op = accesses.op_of(trace, int(events[0]))
        yield accesses.finding_at(
            trace,
            events,
            f"`{op}` was skipped, its results are unset{accesses.times(trace, events)}",
            hint=errors.UnsupportedOp.hint.format(op=op),
        )
    for launch in trace.launches:
        if launch.outcome.kind != "unsupported":
            continue
        events = launch.events
        last = trace.events[events[-1]] if len(events) else None
        yield Finding(
            message=f"the recording of {launch.name} stopped: {launch.outcome.message}",
            hint='trace with unsupported="stub" to skip the op',
            severity=Severity.ERROR,
            loc=last.loc if last else launch.loc,
            launch=launch.number,
            block=last.block if last else None,
            threads=(last.thread.number,) if last else (),
            events=(last.seq,) if last else (),
        )
