"""PD901 unsupported-op: the recording stopped at, or skipped, an op without a rule.

## What it does

Names each op that the machine has no rule for, or not for this use of it, with its line.

## Why is this bad?

Behind a stop nothing is known. Behind a skipped op its results are unset, and whatever
was computed from them is wrong.

## Example

```python
plgpu.inline_mgpu(...)  # code for the compiler, which no interpreter can run
```

## Use instead

Add a rule with `@pallas_debug.extend.rule(op)`, or leave the op out while debugging.
Where only a use of the op is unknown, the hint names one that is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from pallas_debug import errors, ir
from pallas_debug.checks import accesses
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.tables import RecordedLaunch
from pallas_debug.trace.trace import Trace

WAY = "  try: "  # before the hint, in the message of an outcome


@check("PD901", "unsupported-op", severity=Severity.WARNING)
def unsupported_op(trace: Trace) -> Iterator[Finding]:
    """Skipped ops by line, then launches that stopped at one."""
    stubs = np.flatnonzero(trace.columns.kind == Kind.STUB)
    for events in accesses.by_line(trace, stubs):
        error = _skipped(accesses.instr_of(trace, int(events[0])))
        yield accesses.finding_at(
            trace,
            events,
            f"{error.message}; it was skipped, its results are unset"
            f"{accesses.times(trace, events)}",
            hint=error.next_step,
        )
    for launch in trace.launches:
        if launch.outcome.kind == "unsupported":
            yield _stopped(trace, launch)


def _skipped(instr: ir.Instr | None) -> errors.PallasDebugError:
    """What a launch would have stopped with."""
    op = instr.op if instr else ""
    form = instr.params.get("form") if instr else None
    if form is None:
        return errors.UnsupportedOp(op=op)
    op = op.removeprefix(ir.UNSUPPORTED)
    return errors.UnsupportedForm(op=op, form=form[0], way=form[1])


def _stopped(trace: Trace, launch: RecordedLaunch) -> Finding:
    """A launch that ended at an op without a rule, at the op's line."""
    message, *more = launch.outcome.message.splitlines()
    message = re.sub(r"^\[PD\d+\] ", "", message)
    hints = [line.removeprefix(WAY) for line in more if line.startswith(WAY)]
    found = re.search(r"`([\w.]+)`", message)
    op = found.group(1) if found else ""
    last = trace.events[launch.last_event - 1] if len(launch.events) else None
    after = last.column("instr") if last else 0
    tape = launch.kernel.tape
    stops = [number for number, instr in enumerate(tape) if _names(instr, op)]
    stops = [number for number in stops if number > after] or stops
    return Finding(
        message=f"the recording of {launch.name} stopped: {message}",
        hint=hints[0] if hints else errors.UnsupportedOp.hint.format(op=op),
        severity=Severity.ERROR,
        loc=launch.kernel.loc_of(stops[0]) if stops else launch.loc,
        launch=launch.number,
        block=last.block if last else None,
        threads=(last.thread.number,) if last else (),
        events=(last.seq,) if last else (),
    )


def _names(instr: ir.Instr, op: str) -> bool:
    """Whether an instruction is this op, a use of it, or a guard before it."""
    guarded = instr.params.get("op")
    return op in (instr.op, instr.op.removeprefix(ir.UNSUPPORTED), guarded)
