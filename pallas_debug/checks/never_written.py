"""PD103 never-written: elements of an output that no grid point writes.

## What it does

At the end of a launch: which elements of each output nothing has written. Blocks that no
grid point visits count, and so do elements of a block that is written back without
having been filled. Outputs that share an input's memory start with its values and are
not looked at, nor are launches that ended early or ran a part of the grid.

It is a warning where the end of some dimension is missing, and integers that the caller
gave decide how far the kernel writes (by an index, a branch, the size of the grid): rows
past a length or past the last group are often left unset on purpose.

## Why is this bad?

The caller gets whatever the allocator handed out: zeros in a test, a recycled input in
production. `interpret=True` fills with NaN or zeros.

## Example

```python
o_ref[4:12] = x_ref[4:12] * y_ref[4:12]  # the other elements of o_ref are not written
```

## Use instead

```python
o_ref[...] = jnp.zeros_like(o_ref)
o_ref[4:12] = x_ref[4:12] * y_ref[4:12]
```

Or give the output an input to start from, with `input_output_aliases`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pallas_debug.checks import accesses, decided, stored
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace import dtypes, fold
from pallas_debug.trace.regions import Region
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.tables import RecordedLaunch
from pallas_debug.trace.trace import Trace

WRITE_BACK = frozenset({"window.flush", "window.output", "window.fetch"})
WRITES = (int(Kind.WRITE), int(Kind.UPDATE))


@check("PD103", "never-written")
def never_written(trace: Trace) -> Iterator[Finding]:
    """Outputs with elements that were never written, one finding for each."""
    if not len(trace):
        return
    roots = fold.roots(trace)
    columns = trace.columns
    writes = np.flatnonzero(np.isin(columns.kind, WRITES))
    owners = roots[columns.object[writes]]
    windows = _Windows(trace, writes)
    for launch in trace.launches:
        if launch.outcome.kind != "finished" or not _is_whole(trace, launch):
            continue
        for number in dict.fromkeys(launch.outputs):
            row = trace.buffer_rows[number]
            root = trace.buffer_rows[int(roots[number])]
            if root.initial >= 0 or dtypes.is_sync(row.dtype) or 0 in row.shape:
                continue
            mine = writes[owners == roots[number]]
            mask = windows.written(number, mine)
            if not mask.all():
                yield _finding(trace, launch, number, (mine, mask))


def _is_whole(trace: Trace, launch: RecordedLaunch) -> bool:
    """Whether every grid point ran."""
    part = slice(launch.first_event, launch.last_event)
    ran = np.unique(trace.columns.block[part])
    return len(ran[ran >= 0]) >= launch.blocks


class _Windows:
    """Which elements of arrays are written, looking through windows written back."""

    def __init__(self, trace: Trace, writes: np.ndarray) -> None:
        self.trace = trace
        columns = trace.columns
        pairs = accesses.pairs(trace, writes)
        self.writes = writes[np.argsort(columns.object[writes], kind="stable")]
        self.objects = columns.object[self.writes]
        self.filled: dict[tuple[tuple[int, ...], bytes], np.ndarray] = {}
        self.write_back = _by_instr(trace)
        self.is_window = np.array([r.role == "window" for r in trace.buffer_rows], bool)
        # Windows that one write has filled, as nearly all are.
        self.is_full = np.zeros(len(trace.buffer_rows), bool)
        self.is_full[columns.object[writes[pairs.covers[pairs.of]]]] = True

    def written(self, number: int, events: np.ndarray) -> np.ndarray:
        """The elements of an array that any of the events wrote."""
        trace, columns = self.trace, self.trace.columns
        partial = self._from_partial(events)
        regions = np.unique(columns.region[events[~partial]])
        mask = stored.union(trace, trace.buffer_rows[number].shape, regions)
        seen: set[tuple[int, int]] = set()
        for seq in events[partial].tolist():
            region, part = int(columns.region[seq]), self._part(seq)
            if (region, id(part)) not in seen:
                seen.add((region, id(part)))
                _add(mask, trace.region(region), part)
        return mask

    def _from_partial(self, events: np.ndarray) -> np.ndarray:
        """Which writes bring back a window that no single write has filled."""
        columns = self.trace.columns
        instrs = np.minimum(columns.instr[events], self.write_back.shape[1] - 1)
        back = self.write_back[columns.launch[events], instrs]
        before = np.maximum(events - 1, 0)
        back &= columns.kind[before] == Kind.READ
        windows = np.where(back, columns.object[before], 0)
        return back & self.is_window[windows] & ~self.is_full[windows]

    def _part(self, seq: int) -> np.ndarray:
        """What the window behind a write-back had been given."""
        columns = self.trace.columns
        window = int(columns.object[seq - 1])
        row = self.trace.buffer_rows[window]
        first, last = np.searchsorted(self.objects, (window, window + 1))
        mine = self.writes[first:last]
        regions = np.unique(columns.region[mine[mine < seq]])
        key = (row.shape, regions.tobytes())
        if key not in self.filled:
            self.filled[key] = stored.union(self.trace, row.shape, regions)
        return self.filled[key]


def _by_instr(trace: Trace) -> np.ndarray:
    """Table `(launch, instr)` → whether the instruction writes windows back."""
    longest = max((len(one.kernel.tape) for one in trace.launches), default=0)
    table = np.zeros((len(trace.launches), longest + 1), bool)
    for launch in trace.launches:
        for position, instr in enumerate(launch.kernel.tape):
            table[launch.number, position] = instr.op in WRITE_BACK
    return table


def _add(mask: np.ndarray, region: Region, part: np.ndarray) -> None:
    """Adds a written-back window of which only `part` was filled."""
    size = int(np.prod(region.size, dtype=np.int64))
    if region.elements is not None or part.size != size:
        fold.put(mask, region, np.True_)
        return
    target, source = region.index(mask.shape)
    mask[target] |= part.reshape(region.size)[source]


def _finding(
    trace: Trace,
    launch: RecordedLaunch,
    number: int,
    found: tuple[np.ndarray, np.ndarray],
) -> Finding:
    writes, mask = found
    buffer = trace.buffers[number]
    missing = np.flatnonzero(~mask.reshape(-1))
    spans = stored.runs(missing, buffer.shape)
    box = stored.runs_text(spans)
    total = f"{len(missing):,} of {mask.size:,} elements"
    what = f"`{buffer.name}`{box} is never written: {total}"
    hint = f"write all of `{buffer.name}`, or zeros first; check that the grid and the "
    hint += "index map reach every block"
    name = ""
    if _is_end(~mask):
        own = _into_windows(trace, launch, buffer.name)
        name = decided.deciding(trace, launch, np.concatenate([writes, own]))
    severity = Severity.WARNING if name else None
    if name:
        what += f"; {name} decides how far it is written"
        hint = f"if somebody looks there, {hint}"
    details = {"elements": spans, "missing": len(missing), "array": number}
    if not len(writes):
        return Finding(
            message=what,
            hint=hint,
            loc=launch.loc,
            launch=launch.number,
            buffer=buffer.name,
            details=details,
        )
    first = np.array([_body_write(trace, int(writes[0]))], np.int64)
    return accesses.finding_at(
        trace, first, what, hint=hint, severity=severity, details=details
    )


def _is_end(missing: np.ndarray) -> bool:
    """Whether along some dimension nothing but missing ones follow a missing element."""
    steps = [
        np.diff(missing.astype(np.int8), axis=axis) for axis in range(missing.ndim)
    ]
    return any((step >= 0).all() and (step > 0).any() for step in steps)


def _into_windows(trace: Trace, launch: RecordedLaunch, name: str) -> np.ndarray:
    """The kernel's own writes into the blocks of an output."""
    columns = trace.columns
    mine = np.array(
        [
            row.role == "window" and row.launch == launch.number and row.name == name
            for row in trace.buffer_rows
        ],
        bool,
    )
    writes = np.flatnonzero(np.isin(columns.kind, WRITES))
    return writes[mine[columns.object[writes]]]


def _body_write(trace: Trace, seq: int) -> int:
    """The kernel's own write behind a write-back, or the event itself."""
    if accesses.op_of(trace, seq) not in WRITE_BACK:
        return seq
    columns = trace.columns
    if seq == 0 or int(columns.kind[seq - 1]) != Kind.READ:
        return seq
    window = int(columns.object[seq - 1])
    own = (columns.object[:seq] == window) & np.isin(columns.kind[:seq], WRITES)
    events = np.flatnonzero(own)
    return int(events[0]) if len(events) else seq
