"""PD101 out-of-bounds: an access outside its buffer.

## What it does

Compares what each read, write, atomic update and copy asked for with the shape of the
buffer: past the end, or before the beginning, in any dimension. Masked accesses count
only where the mask is true. The block of a grid point may overhang the end of its array
(the last block of a shape that does not divide evenly); it may not begin outside. A
read that only overhangs the end, and whose NaN is in no output, is a warning. The index
of an array of barriers or semaphores is held against its shape in the same way.

## Why is this bad?

JAX's interpreters clamp or wrap the index and return other data in silence; hardware
reads foreign memory or stops. A TMA copy is gentler: an overhang is filled with zeros on
the way in and dropped on the way out, on the device and in JAX 0.11.2 or later (earlier
interpreters raise). That is a warning where the kernel did not ask for it with
`oob_mode=`, and an error if the window begins outside: then nothing useful is copied.

## Example

```python
x = jnp.zeros((2, 128))
pl.BlockSpec((1, 128), lambda i: (i + 1, 0))  # grid (2,): the second block is past the end
```

## Use instead

```python
pl.BlockSpec((1, 128), lambda i: (i, 0))
```

For a shape that does not divide evenly, mask the access, or let the block overhang.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pallas_debug import ir
from pallas_debug.checks import accesses
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.checks.outside import outside
from pallas_debug.trace.trace import Trace


@check("PD101", "out-of-bounds")
def out_of_bounds(trace: Trace) -> Iterator[Finding]:
    """Accesses outside their buffer, one finding for each line and buffer."""
    faults = outside(trace)
    guilty: dict[Severity, list[int]] = {}
    for seq, fault in faults.items():
        guilty.setdefault(fault.severity, []).append(seq)
    for severity, seqs in guilty.items():
        for events in accesses.by_line(trace, np.array(seqs, np.int64)):
            fault = faults[int(events[0])]
            yield accesses.finding_at(
                trace,
                events,
                fault.what + accesses.times(trace, events),
                hint=fault.hint,
                severity=severity,
                loc=_map_loc(trace, int(events[0])),
                details=fault.details,
            )


def _map_loc(trace: Trace, seq: int) -> ir.Loc | None:
    """The line of the index map for a block that is written back; None otherwise."""
    instr = accesses.instr_of(trace, seq)
    if instr is None or not instr.op.startswith("window."):
        return None
    columns = trace.columns
    kernel = trace.launches[int(columns.launch[seq])].kernel
    name = trace.buffer_rows[int(columns.object[seq])].name
    for number, other in enumerate(kernel.tape):
        decl = other.params.get("decl")
        if other.op.startswith("window.") and getattr(decl, "name", "") == name:
            return kernel.loc_of(number)
    return None
