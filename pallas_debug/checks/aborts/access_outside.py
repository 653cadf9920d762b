"""PD317 access-outside: an access out of bounds that GPU interpret mode stops at.

## What it does

Finds reads and writes outside of their buffer (PD101) of a kernel that is asked to run in
JAX's GPU interpret mode, and says what JAX makes of them. A negative integer in a read is
not among them: JAX counts from the end (PD332). Nor is a copy into shared memory from JAX
0.11.2 on: the rest is filled with zeros (PD333).

## Why is this bad?

JAX 0.10.2 to 0.12.0.1 stops in the middle of the run: `IndexError: Out-of-bounds read of
…`, for writes `ValueError: Out-of-bounds swap of …` or, in old versions and for negative
indices, an `AssertionError` without a text; the line of the kernel is not in it.

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
from typing import NamedTuple

import numpy as np

from pallas_debug import ir
from pallas_debug.checks import accesses
from pallas_debug.checks.aborts import versions
from pallas_debug.checks.aborts.refusal import asked_of_gpu, kernels, refusal
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.ir import flow
from pallas_debug.trace.schema import Kind, RegionKind
from pallas_debug.trace.tables import RecordedLaunch
from pallas_debug.trace.trace import Trace

READ = "IndexError: Out-of-bounds read of …"
WRITE = "ValueError: Out-of-bounds swap of …"
COPY_OUT = "IndexError: Out-of-bounds copy from …"
BROADCAST = "ValueError: could not broadcast input array from shape …"
WITHOUT_TEXT = "AssertionError: "
PLAIN = ("state.get", "state.set", "state.swap")
NEW = (0, 11, 2)
HINT = "mask the access, or keep the index within the shape"


class Outside(NamedTuple):
    """An access that leaves its buffer: spans are (start, size, stride)."""

    launch: RecordedLaunch
    kernel: ir.Kernel
    seq: int
    position: int
    spans: tuple[tuple[int, int, int], ...]
    shape: tuple[int, ...]

    @property
    def instr(self) -> ir.Instr:
        return self.kernel.tape[self.position]

    @property
    def negative(self) -> list[int]:
        """Dimensions that begin before the start."""
        return [d for d, (start, _, _) in enumerate(self.spans) if start < 0]

    @property
    def past(self) -> list[int]:
        """Dimensions that go on after the end."""
        return [
            d
            for d, (start, size, stride) in enumerate(self.spans)
            if size > 0 and start + (size - 1) * stride >= self.shape[d]
        ]

    @property
    def is_counted_from_the_end(self) -> bool:
        """Whether all that is wrong are negative integers, which NumPy takes."""
        if not self.instr.accesses:
            return False
        steps = self.instr.accesses[0].steps
        if self.past or len(steps) != 1 or not isinstance(steps[0], ir.Index):
            return False
        dims = steps[0].dims
        return all(isinstance(dims[d], ir.At) for d in self.negative)


@check("PD317", "access-outside")
def access_outside(trace: Trace) -> Iterator[Finding]:
    """Accesses out of bounds that JAX refuses, one finding for each line."""
    seen: set[tuple[int, int]] = set()
    for one in outside(trace, "PD317"):
        key = id(one.kernel), one.position
        raises = "" if key in seen else _raises(one)
        if raises:
            seen.add(key)
            row = trace.buffer_rows[int(trace.columns.object[one.seq])]
            region = trace.region(int(trace.columns.region[one.seq])).text
            yield refusal(
                one.launch,
                f"`{row.name}`{region} is outside of shape {row.shape}",
                raises,
                HINT,
                loc=one.kernel.loc_of(one.position),
                events=(one.seq,),
                buffer=row.name,
            )


def outside(trace: Trace, code: str) -> Iterator[Outside]:
    """Reads and writes of boxes that leave their buffer."""
    columns = trace.columns
    for launch, kernel in kernels(trace, code, asked_of_gpu):
        numbers = [other.number for other in trace.launches if other.kernel is kernel]
        mine = np.isin(columns.launch, numbers) & (columns.region >= 0)
        events = np.flatnonzero(mine & np.isin(columns.kind, (Kind.READ, Kind.WRITE)))
        pairs = accesses.pairs(trace, events)
        for seq in events[~pairs.inside[pairs.of]].tolist():
            number = int(columns.region[seq])
            if trace.regions.kind[number] == RegionKind.BOX:
                yield Outside(
                    launch,
                    kernel,
                    seq,
                    int(columns.instr[seq]),
                    tuple(trace.region(number).spans),
                    trace.buffer_rows[int(columns.object[seq])].shape,
                )


def _raises(one: Outside) -> str:
    """What JAX raises for an access out of bounds; empty if it takes it."""
    op, kernel = one.instr.op, one.kernel
    if op not in PLAIN:
        return _copied(one) if op == "gpu.tma_read" else ""
    if op == "state.get":
        is_filled = kernel.facts.get("out_of_bounds_reads") == "uninitialized"
        return "" if is_filled or one.is_counted_from_the_end else READ
    if one.is_counted_from_the_end:
        return WITHOUT_TEXT
    is_partly_inside = all(
        start < size for (start, _, _), size in zip(one.spans, one.shape, strict=True)
    )
    is_old = not versions.within(kernel, NEW)
    return WITHOUT_TEXT if is_old and is_partly_inside else WRITE


def _copied(one: Outside) -> str:
    """The same for the source of a copy."""
    if one.negative:
        return ""
    if versions.within(one.kernel, NEW):
        return COPY_OUT if copy_of(one) == "gpu.copy_smem_to_gmem" else ""
    return BROADCAST if versions.within(one.kernel, (0, 11, 0)) else READ


def copy_of(one: Outside) -> str:
    """The op that started the routine in which an access stands."""
    tape = one.kernel.tape
    entries = {e: i for e, i in flow.agent_entries(tape).items() if e <= one.position}
    return entries[max(entries)].op if entries else ""
