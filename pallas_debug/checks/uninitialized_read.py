"""PD102 uninitialized-read: memory is read that nothing has written.

## What it does

Follows each buffer from its allocation: which elements have been written, and reads that
touch others. The read is named, not the place where the value is used. Padding of a
block that overhangs its array is no finding here, nor is the write-back of an output.
Where nothing but a select looks at the value, as in a masked update, it is information;
where the value was NaN and no NaN is in the outputs, it is a warning.

## Why is this bad?

The value is whatever the memory held before: zeros on one run, an old tile on the next.
JAX's interpreters put NaN or a large integer there, which a maximum, a mask or an integer
operation may hide; `interpret=True` puts zeros.

## Example

```python
@pl.when(i > 0)
def _():
    acc_ref[...] = jnp.zeros_like(acc_ref)
acc_ref[...] += x_ref[...]  # at grid point 0 nobody has written acc_ref
```

## Use instead

```python
@pl.when(i == 0)
def _():
    acc_ref[...] = jnp.zeros_like(acc_ref)
acc_ref[...] += x_ref[...]
```
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from pallas_debug.checks import accesses, harmless, places, stored
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.checks.tapeflow import tapeflow
from pallas_debug.trace import dtypes, fold
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.trace import Trace

ALLOC, READ, WRITE, UPDATE, PAD = map(
    int, (Kind.ALLOC, Kind.READ, Kind.WRITE, Kind.UPDATE, Kind.PAD)
)
TOUCHING = (ALLOC, READ, WRITE, UPDATE, PAD)
PRODUCTS = frozenset({"gpu.tcgen05_multiply"})
WRITE_BACK = frozenset({"window.flush", "window.output"})


@check("PD102", "uninitialized-read")
def uninitialized_read(trace: Trace) -> Iterator[Finding]:
    """Reads of elements that were never written, one for each line and buffer."""
    missing = unset_reads(trace)
    if not missing:
        return
    for events in accesses.by_line(trace, np.array(sorted(missing), np.int64)):
        first = trace.events[int(events[0])]
        buffer, elements = first.buffer, missing[int(events[0])]
        assert buffer is not None, "a read has a buffer"
        runs = stored.runs(elements, buffer.shape)
        box = ", ".join(f"{low}:{high}" for low, high in map(_hull, runs))
        text = f"`{buffer.name}`[{box}]" if runs else f"`{buffer.name}`"
        what = f"reads {text}, {_count(elements, buffer)} never written"
        selected = is_only_selected(trace, int(events[0]))
        what += ", and selects among them" if selected else ""
        dropped = not selected and harmless.is_dropped(trace, int(events[0]))
        yield accesses.finding_at(
            trace,
            events,
            what + accesses.times(trace, events) + (harmless.SAID if dropped else ""),
            hint=advice(trace, int(events[0]), elements),
            severity=_severity(selected, dropped),
            details={"elements": runs, "missing": len(elements)},
        )


def unset_reads(trace: Trace) -> dict[int, np.ndarray]:
    """Reads of elements that were never written, and which these are."""
    kept: dict[int, np.ndarray] | None = trace.caches.get("unset reads")
    if kept is None:
        kept = trace.caches["unset reads"] = {
            seq: elements
            for root, events, covers in _candidates(trace)
            for seq, elements in _scan(trace, root, events, covers)
        }
    return kept


def advice(trace: Trace, seq: int, elements: np.ndarray) -> str:
    """What to do about a read of elements that nothing has written."""
    event = trace.events[seq]
    name = event.buffer.name if event.buffer else "?"
    copy = _copy_under_way(trace, seq, elements)
    if copy:
        return f"wait for {copy} before this line"
    if event.op in PRODUCTS and _is_sum(trace, seq):
        return f"begin `{name}` with `accumulate=False`, or write it before this line"
    launch = event.launch
    in_turn = launch.backend not in ("mosaic_gpu", "triton")
    if in_turn and math.prod(launch.grid) > 1 and _is_accumulated(trace, seq):
        return (
            f"write `{name}` first where its first use is, e.g. under "
            "`@pl.when(i == 0)`, `i` the `program_id` of the axis that accumulates"
        )
    return f"write `{name}` before this line"


def _copy_under_way(trace: Trace, seq: int, elements: np.ndarray) -> str:
    """`the copy of line 5`, started before a read is, that brings its elements later."""
    columns = trace.columns
    start = int(accesses.started(trace, np.array([seq]))[0])
    events = np.flatnonzero(columns.kind[seq:] == WRITE) + seq
    roots = fold.roots(trace)
    events = events[roots[columns.object[events]] == roots[columns.object[seq]]]
    events = events[columns.thread[events] != columns.thread[seq]]  # a product's own
    begun = accesses.started(trace, events)
    products = np.array([accesses.op_of(trace, n) in PRODUCTS for n in events.tolist()])
    for later in events[begun < np.where(products, start, seq)].tolist():
        if np.isin(stored.touched(trace, later)[0], elements).any():
            event = trace.events[later]
            what = "product" if event.op in PRODUCTS else "copy"
            at = places.line(event.loc, trace.events[seq].loc) if event.loc else ""
            return f"the {what} of {at or f'event {later}'}"
    return ""


def _is_sum(trace: Trace, seq: int) -> bool:
    """Whether a product writes what it reads, and so adds to it."""
    columns = trace.columns
    mine = columns.of_thread(int(columns.thread[seq]))
    mine = mine[columns.kind[mine] == WRITE]
    return bool((columns.object[mine] == columns.object[seq]).any())


def _is_accumulated(trace: Trace, seq: int) -> bool:
    """Whether what an event reads goes into what is written to the same memory."""
    columns = trace.columns
    if columns.kind[seq] == UPDATE:
        return True
    kernel = trace.launches[int(columns.launch[seq])].kernel
    roots, instr = fold.roots(trace), int(columns.instr[seq])
    writes = (columns.kind == WRITE) & (columns.launch == columns.launch[seq])
    events = np.flatnonzero(writes)
    events = events[roots[columns.object[events]] == roots[columns.object[seq]]]
    flow = tapeflow(trace.caches, kernel)
    return any(
        number == instr or instr in flow.sources(number)
        for number in np.unique(columns.instr[events]).tolist()
        if number < len(kernel.tape)
    )


def _severity(selected: bool, dropped: bool) -> Severity | None:
    if selected:
        return Severity.INFO
    return Severity.WARNING if dropped else None


def is_only_selected(trace: Trace, seq: int) -> bool:
    """Whether a mask decides what becomes of the value that an event read."""
    columns = trace.columns
    kernel = trace.launches[int(columns.launch[seq])].kernel
    instr = int(columns.instr[seq])
    if instr >= len(kernel.tape):
        return False
    return tapeflow(trace.caches, kernel).is_only_selected(instr)


def _candidates(trace: Trace) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Memories that may be read too early: number, events, whether each covers all."""
    columns = trace.columns
    open_rows = np.array(
        [
            row.initial < 0 and not dtypes.is_sync(row.dtype)
            for row in trace.buffer_rows
        ],
        bool,
    )
    events = np.flatnonzero(np.isin(columns.kind, TOUCHING))
    roots = fold.roots(trace)[columns.object[events]]
    keep = open_rows[roots]
    events, roots = events[keep], roots[keep]
    order = np.argsort(roots, kind="stable")
    events, roots = events[order], roots[order]
    touches = events[columns.region[events] >= 0]
    pairs = accesses.pairs(trace, touches)
    covers = np.zeros(len(events), bool)
    covers[columns.region[events] >= 0] = pairs.covers[pairs.of]
    kinds = columns.kind[events]
    covers &= kinds == WRITE
    cuts = np.flatnonzero(roots[1:] != roots[:-1]) + 1
    starts = np.concatenate([[0], cuts])
    if not len(roots):
        return
    early = _may_be_early(kinds, covers, starts)
    ends = np.concatenate([cuts, [len(roots)]])
    for start, end in zip(starts[early].tolist(), ends[early].tolist(), strict=True):
        part = slice(start, end)
        yield int(roots[start]), events[part], covers[part]


def _may_be_early(
    kinds: np.ndarray, covers: np.ndarray, starts: np.ndarray
) -> np.ndarray:
    """Of each memory, whether it is read before one write has set it whole.

    The events of one memory stand side by side, from its entry of `starts` on.
    """
    end = len(kinds)
    at = np.arange(end)
    reads = (kinds == READ) | (kinds == UPDATE)
    read = np.minimum.reduceat(np.where(reads, at, end), starts)
    whole = np.minimum.reduceat(np.where(covers, at, end), starts)
    born = np.maximum.reduceat(np.where(kinds == ALLOC, at, -1), starts)
    return (read < end) & ((whole == end) | (read < whole) | (born > whole))


def _scan(
    trace: Trace, root: int, events: np.ndarray, covers: np.ndarray
) -> Iterator[tuple[int, np.ndarray]]:
    """Yields reads of one memory with the flat numbers of their unset elements."""
    columns = trace.columns
    state = _Written(trace.buffer_rows[root].shape)
    lists = [getattr(columns, n)[events].tolist() for n in ("kind", "region", "object")]
    for seq, whole, kind, region, number in zip(
        events.tolist(), covers.tolist(), *lists, strict=True
    ):
        if kind == ALLOC:
            if trace.buffer_rows[number].alias < 0:
                state.clear()
            continue
        if kind in (READ, UPDATE) and not state.has(region):
            elements = state.missing(trace, region)
            if len(elements) and accesses.op_of(trace, seq) not in WRITE_BACK:
                yield seq, elements
            elif not len(elements):
                state.proven.add(region)
        if kind != READ:
            state.set(trace, region, whole)


class _Written:
    """Which elements of one memory have been set, with shortcuts for repetition."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.mask = np.zeros(shape, bool)
        self.full = False
        self.proven: set[int] = set()

    def clear(self) -> None:
        self.mask[...] = False
        self.full = False
        self.proven.clear()

    def has(self, region: int) -> bool:
        """Whether the region is known to be set, without looking."""
        return self.full or region in self.proven

    def missing(self, trace: Trace, region: int) -> np.ndarray:
        """Flat numbers of the region's elements that are not set."""
        where = trace.region(region)
        if where.elements is None and where.mask is None:
            target, _ = where.index(self.mask.shape)
            if self.mask[target].all():
                return np.zeros(0, np.int64)
        flat = where.flat(self.mask.shape)
        return flat[~self.mask.reshape(-1)[flat]]

    def set(self, trace: Trace, region: int, whole: bool) -> None:
        """Padding counts as set, too: it is not this check's business."""
        if self.has(region):
            return
        if whole:
            self.full = True
        else:
            fold.put(self.mask, trace.region(region), np.True_)
            self.proven.add(region)


def _count(elements: np.ndarray, buffer: Any) -> str:
    total = math.prod(buffer.shape)
    if len(elements) == total:
        return "all of it"
    noun = "element" if len(elements) == 1 else "elements"
    return f"{len(elements):,} {noun} of {total:,}"


def _hull(ranges: tuple[tuple[int, int], ...]) -> tuple[int, int]:
    return ranges[0][0], ranges[-1][1]
