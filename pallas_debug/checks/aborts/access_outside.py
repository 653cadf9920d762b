"""PD317 access-outside: an access past the end that GPU interpret mode stops at.

## What it does

Finds reads and writes past the end of their buffer (PD101) of a kernel that is asked to
run in JAX's GPU interpret mode, and says what JAX makes of them. What begins before the
start is not among them: JAX counts from the end, as NumPy does. Nor is a copy into shared
memory from JAX 0.11.2 on: the rest is filled with zeros.

## Why is this bad?

JAX 0.10.2 to 0.12.0.1 stops in the middle of the run: `IndexError: Out-of-bounds read of
…`, for writes `ValueError: Out-of-bounds swap of …`; the line of the kernel is not in it.

## Example

```python
o_ref[...] = x_ref[pl.ds(i * 4, 4)]  # x_ref has 6 elements, i comes to 1
```

## Use instead

```python
o_ref[...] = x_ref[pl.ds(jnp.minimum(i * 4, 2), 4)]
```
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pallas_debug import ir
from pallas_debug.checks import accesses
from pallas_debug.checks.aborts import versions
from pallas_debug.checks.aborts.foreseen import severity
from pallas_debug.checks.aborts.refusal import kernels, refusal
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.trace.schema import Kind, RegionKind
from pallas_debug.trace.trace import Trace

READ = "IndexError: Out-of-bounds read of …"
WRITE = "ValueError: Out-of-bounds swap of …"
COPY_OUT = "IndexError: Out-of-bounds copy from …"
BROADCAST = "ValueError: could not broadcast input array from shape …"
PLAIN = {"state.get": READ, "state.set": WRITE, "state.swap": WRITE}
HINT = "mask the access, or keep the index within the shape"


@check("PD317", "access-outside")
def access_outside(trace: Trace) -> Iterator[Finding]:
    """Accesses past the end that JAX refuses, one finding for each line."""
    columns = trace.columns
    for launch, kernel in kernels(trace, "PD317"):
        numbers = [other.number for other in trace.launches if other.kernel is kernel]
        mine = np.isin(columns.launch, numbers) & (columns.region >= 0)
        events = np.flatnonzero(mine & np.isin(columns.kind, (Kind.READ, Kind.WRITE)))
        pairs = accesses.pairs(trace, events)
        suspects = events[~pairs.inside[pairs.of]]
        seen: set[int] = set()
        for seq in suspects.tolist():
            position = int(columns.instr[seq])
            raises = "" if position in seen else _raises(kernel, position)
            if raises and _is_past_the_end(trace, seq):
                seen.add(position)
                row = trace.buffer_rows[int(columns.object[seq])]
                region = trace.region(int(columns.region[seq])).text
                yield refusal(
                    launch,
                    f"`{row.name}`{region} is outside of shape {row.shape}",
                    raises,
                    HINT,
                    loc=kernel.loc_of(position),
                    severity=severity(kernel),
                    events=(seq,),
                    buffer=row.name,
                )


def _is_past_the_end(trace: Trace, seq: int) -> bool:
    """Whether an access begins at the start or later, and ends after the end."""
    columns = trace.columns
    number = int(columns.region[seq])
    if trace.regions.kind[number] != RegionKind.BOX:
        return False
    shape = trace.buffer_rows[int(columns.object[seq])].shape
    spans = list(zip(trace.region(number).spans, shape, strict=True))
    if any(start < 0 for (start, _, _), _ in spans):
        return False
    return any(
        size > 0 and start + (size - 1) * stride >= dim
        for (start, size, stride), dim in spans
    )


def _raises(kernel: ir.Kernel, position: int) -> str:
    """What JAX raises for an access past the end; empty if it takes it."""
    instr = kernel.tape[position]
    if instr.op in PLAIN:
        is_filled = kernel.facts.get("out_of_bounds_reads") == "uninitialized"
        return "" if is_filled and instr.op == "state.get" else PLAIN[instr.op]
    if instr.op != "gpu.tma_read":
        return ""
    starter = next(
        (i for i in kernel.tape[:position] if _starts_before(kernel, i, position)), None
    )
    if starter is None:
        return ""
    if versions.within(kernel, (0, 11, 2)):
        return COPY_OUT if starter.op == "gpu.copy_smem_to_gmem" else ""
    return BROADCAST if versions.within(kernel, (0, 11, 0)) else READ


def _starts_before(kernel: ir.Kernel, starter: ir.Instr, position: int) -> bool:
    """Whether an instruction starts the routine in which a position stands."""
    if not starter.op.startswith("gpu.copy_") or not starter.targets:
        return False
    first = starter.targets[0]
    return first <= position and all(
        instr.op != "ir.return" for instr in kernel.tape[first:position]
    )
