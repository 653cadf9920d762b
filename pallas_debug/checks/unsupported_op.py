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

import re
from collections.abc import Iterator

import numpy as np

from pallas_debug import errors
from pallas_debug.checks import accesses
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.tables import RecordedLaunch
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
        if launch.outcome.kind == "unsupported":
            yield _stopped(trace, launch)


def _stopped(trace: Trace, launch: RecordedLaunch) -> Finding:
    """A launch that ended at an op without a rule, at the op's line."""
    message = launch.outcome.message.partition("\n")[0].removeprefix("[PD901] ")
    found = re.search(r"`([\w.]+)`", message)
    op = found.group(1) if found else ""
    last = trace.events[launch.last_event - 1] if len(launch.events) else None
    after = last.column("instr") if last else 0
    tape = launch.kernel.tape
    stops = [number for number, instr in enumerate(tape) if instr.op == op]
    stops = [number for number in stops if number > after] or stops
    return Finding(
        message=f"the recording of {launch.name} stopped: {message}",
        hint=errors.UnsupportedOp.hint.format(op=op),
        severity=Severity.ERROR,
        loc=launch.kernel.loc_of(stops[0]) if stops else launch.loc,
        launch=launch.number,
        block=last.block if last else None,
        threads=(last.thread.number,) if last else (),
        events=(last.seq,) if last else (),
    )
