"""PD105 aliased-read: an input is read after the output that shares its memory was written.

## What it does

For `input_output_aliases`: reads through the input's reference that touch elements which
were written before through the output's.

## Why is this bad?

On a device both names are one piece of memory, so that the read gives the new value, or
the old one where a pipeline fetched it early. `interpret=True` keeps two arrays and gives
the old value always.

## Example

```python
o_ref[i] = x_ref[i] + 1   # input_output_aliases={0: 0}
total = x_ref[...].sum()  # old or new?
```

## Use instead

```python
total = x_ref[...].sum()
o_ref[i] = x_ref[i] + 1
```

Read everything first, or read through `o_ref` if the new value is meant.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pallas_debug.checks import accesses
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace import fold
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.trace import Trace

SEARCHED = 256  # writes that are looked at for the one that a read comes behind
READ, WRITE, UPDATE = map(int, (Kind.READ, Kind.WRITE, Kind.UPDATE))


@check("PD105", "aliased-read", severity=Severity.WARNING)
def aliased_read(trace: Trace) -> Iterator[Finding]:
    """Reads of an input behind its output's writes, one finding for each line."""
    late: list[int] = []
    for number, row in enumerate(trace.buffer_rows):
        if row.role == "output" and row.alias >= 0:
            late += _late(trace, row.alias, number)
    if not late:
        return
    for events in accesses.by_line(trace, np.array(sorted(late), np.int64)):
        first = trace.events[int(events[0])]
        assert first.buffer is not None, "a read has a buffer"
        number = next(
            number
            for number, row in enumerate(trace.buffer_rows)
            if row.role == "output" and row.alias == first.buffer.number
        )
        output, write = trace.buffer_rows[number].name, _write(trace, number, first.seq)
        region = first.region.text if first.region else ""
        yield accesses.finding_at(
            trace,
            events,
            f"reads `{first.buffer.name}`{region} after `{output}`, which has the same "
            f"memory, was written there{accesses.times(trace, events)}",
            hint=f"read before the write, or read `{output}` if the new value is meant",
            other=trace.events[write].loc if write >= 0 else None,
            details={"output": output, "write": write},
        )


def _late(trace: Trace, source: int, output: int) -> list[int]:
    """Reads of `source` that touch what was written to `output` before."""
    columns = trace.columns
    writes = (columns.object == output) & np.isin(columns.kind, (WRITE, UPDATE))
    reads = (columns.object == source) & (columns.kind == READ)
    if not writes.any() or not reads.any():
        return []
    first = int(np.argmax(writes))
    events = np.flatnonzero(writes | reads)
    events = events[np.searchsorted(events, first) :]
    written = np.zeros(trace.buffer_rows[output].shape, bool)
    late: list[int] = []
    put: set[int] = set()
    hits: set[int] = set()  # regions known to be touched: it stays so
    regions, objects = columns.region[events].tolist(), columns.object[events].tolist()
    for seq, region, number in zip(events.tolist(), regions, objects, strict=True):
        if number == output:
            if region not in put:
                put.add(region)
                fold.put(written, trace.region(region), np.True_)
        elif region in hits or _touches(trace, region, written):
            hits.add(region)
            late.append(seq)
    return late


def _write(trace: Trace, output: int, read: int) -> int:
    """The last write before a read that touches what it reads, -1 if far before."""
    columns = trace.columns
    mine = (columns.object[:read] == output) & np.isin(
        columns.kind[:read], (WRITE, UPDATE)
    )
    for seq in np.flatnonzero(mine)[: -SEARCHED - 1 : -1].tolist():
        written = np.zeros(trace.buffer_rows[output].shape, bool)
        fold.put(written, trace.region(int(columns.region[seq])), np.True_)
        if _touches(trace, int(columns.region[read]), written):
            return seq
    return -1


def _touches(trace: Trace, region: int, written: np.ndarray) -> bool:
    """Whether any element of a region has been written."""
    where = trace.region(region)
    if where.elements is None and where.mask is None:
        target, _ = where.index(written.shape)
        return bool(written[target].any())
    return bool(written.reshape(-1)[where.flat(written.shape)].any())
