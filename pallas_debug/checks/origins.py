"""Where a bad value in an output comes from: a walk back through the trace.

From the write that brought it to the output over the reads that fed the write, to the
write that brought it into the memory read, and so on: exact through memory, by
instruction through registers. Ends at arithmetic, at memory that nobody has set, or at
an input.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.checks import accesses, stored
from pallas_debug.checks.stored import READS, Bad
from pallas_debug.checks.tapeflow import tapeflow
from pallas_debug.trace import fold
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.trace import Trace

DEPTH = 64  # links of a path
READS_TRIED = 48  # for each write on the path
OUTPUTS_TRIED = 8  # lines and output buffers that are followed
GRID, PAD, SPAWN, STUB = map(int, (Kind.GRID, Kind.PAD, Kind.SPAWN, Kind.STUB))


@dataclass(frozen=True, kw_only=True, eq=False)
class Unset:
    """A read that touched elements which nothing had set; `padding`: a block's edge."""

    read: int
    elements: np.ndarray
    padding: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class Origin:
    """How a bad value came to an output.

    Attributes:
      kind: `arithmetic | unset | outside | skipped | input | unknown`; outside: of a
        buffer, skipped: an op without a rule, whose results are unset.
      output: The event that wrote it to the output; `elements`: which ones there.
      path: Events from the origin to `output`, oldest first.
      unset: The guilty reads, where memory was unset.
    """

    kind: str
    output: int
    elements: np.ndarray
    path: tuple[int, ...]
    unset: tuple[Unset, ...] = ()

    @property
    def write(self) -> int:
        """The first write of a bad value on the path."""
        return self.path[0]


def is_nan(value: np.ndarray) -> np.ndarray:
    """Which elements are NaN."""
    return np.isnan(value)


def is_infinite(value: np.ndarray) -> np.ndarray:
    """Which elements are infinite."""
    return np.isinf(value)


BAD: dict[str, Bad] = {"NaN": is_nan, "infinity": is_infinite}


def origins(trace: Trace, name: str) -> tuple[Origin, ...]:
    """The origins of the bad values of an output, one for each line that wrote any."""
    kept = trace.caches.setdefault("origins", {})
    if name not in kept:
        kept[name] = tuple(_origins(trace, name))
    return kept[name]


def _origins(trace: Trace, name: str) -> Iterator[Origin]:
    outputs = {number for launch in trace.launches for number in launch.outputs}
    events = stored.bad_writes(trace, BAD[name], name)
    events = events[np.isin(trace.columns.object[events], list(outputs))]
    tried: dict[Any, int] = {}
    for seq in events.tolist():
        columns = trace.columns
        key = tuple(
            int(getattr(columns, n)[seq]) for n in ("launch", "instr", "object")
        )
        if tried.get(key, 0) >= OUTPUTS_TRIED:
            continue
        elements = stored.bad_elements(trace, seq, BAD[name])
        if len(elements):
            tried[key] = tried.get(key, 0) + 1
            yield _Walk(trace, name).back(seq, elements)


class _Walk:
    """One way back from an output."""

    def __init__(self, trace: Trace, name: str) -> None:
        self.trace = trace
        self.name = name
        self.bad = BAD[name]
        self.roots = fold.roots(trace)

    def back(self, seq: int, elements: np.ndarray) -> Origin:
        path, wanted, at = [seq], elements, seq
        kind, unset = "unknown", ()
        for _ in range(DEPTH):
            unset, carried = self._causes(at, wanted)
            if carried is None:
                kind = "unset" if unset else self._ends(at, wanted)
                break
            read, wanted = carried
            path.append(read)
            before = self._writer(read, wanted)
            if before is None:
                kind = "input"
                break
            path.append(before)
            at = before
        return Origin(
            kind=kind,
            output=seq,
            elements=elements,
            path=tuple(reversed(path)),
            unset=unset if kind == "unset" else (),
        )

    def _causes(
        self, seq: int, wanted: np.ndarray
    ) -> tuple[tuple[Unset, ...], tuple[int, np.ndarray] | None]:
        """Unset reads behind a write, and the first read of a bad value with which."""
        unset: list[Unset] = []
        for read, elements in feeding(self.trace, seq, wanted):
            number = int(self.trace.columns.object[read])
            has_bad = stored.is_float(self.trace.buffer_rows[number].dtype)
            if not has_bad and not is_reinterpreted(self.trace, read):
                continue
            memory = fold.memory(self.trace, number, read)
            known = memory.initialized.reshape(-1)[elements]
            values = memory.values.reshape(-1)[elements]
            bad = elements[self.bad(values) & known] if has_bad else elements[:0]
            if len(bad):
                return (), (read, bad)
            if self.name == "NaN" and not known.all():
                missing = elements[~known]
                padding = is_padding(self.trace, number, read, missing)
                unset.append(Unset(read=read, elements=missing, padding=padding))
        return tuple(unset), None

    def _ends(self, seq: int, wanted: np.ndarray) -> str:
        """What gave a bad value where no memory had one."""
        columns = self.trace.columns
        stubs = (columns.kind == STUB) & (columns.thread == columns.thread[seq])
        if self.name == "NaN" and stubs[:seq].any():
            return "skipped"
        for read, _ in feeding(self.trace, seq, wanted):
            row = self.trace.buffer_rows[int(self.trace.columns.object[read])]
            region = self.trace.region(int(self.trace.columns.region[read]))
            if self.name == "NaN" and not region.is_inside(row.shape):
                return "outside"
        return "arithmetic"

    def _writer(self, read: int, wanted: np.ndarray) -> int | None:
        """The write by which a bad value came to the elements of a read."""
        columns = self.trace.columns
        root = int(self.roots[columns.object[read]])
        writes = stored.bad_writes(self.trace, self.bad, self.name)
        writes = writes[: np.searchsorted(writes, read)]
        writes = writes[self.roots[columns.object[writes]] == root]
        for seq in writes.tolist():
            hit = stored.bad_elements(self.trace, seq, self.bad)
            if np.isin(hit, wanted).any():
                return seq
        return None


def feeding(
    trace: Trace, seq: int, wanted: np.ndarray
) -> Iterator[tuple[int, np.ndarray]]:
    """Reads that fed a write, oldest first, each with the elements that matter."""
    columns = trace.columns
    instr = accesses.instr_of(trace, seq)
    own = _same_step(trace, seq)
    if instr is None or instr.op.startswith("window."):
        flat, order = stored.touched(trace, seq)
        for read in own:
            source, positions = stored.touched(trace, read)
            part = np.isin(positions, order[np.isin(flat, wanted)])
            yield read, source[part]
        return
    thread = int(columns.thread[seq])
    found = [*operand_reads(trace, seq), *own]
    row = trace.thread_rows[thread]
    if len(found) == len(own) and row.parent >= 0 and row.instr >= 0:
        spawn = np.flatnonzero((columns.kind == SPAWN) & (columns.object == thread))
        if len(spawn):
            found += _sources(trace, row.parent, int(spawn[0]), row.instr)
    if len(found) > READS_TRIED:
        half = READS_TRIED // 2
        found = found[:half] + found[-half:]
    for read in found:
        yield read, stored.touched(trace, read)[0]


def operand_reads(trace: Trace, seq: int) -> list[int]:
    """Reads whose results reached the value operands of an event's instruction."""
    columns = trace.columns
    return _sources(trace, int(columns.thread[seq]), seq, int(columns.instr[seq]))


def _same_step(trace: Trace, seq: int) -> list[int]:
    """Reads by the same execution of the same instruction, before the write."""
    columns = trace.columns
    found: list[int] = []
    names = (columns.thread, columns.step, columns.launch)
    at = seq
    while at >= 0 and all(column[at] == column[seq] for column in names):
        kind = int(columns.kind[at])
        if kind in READS and (at != seq or kind == int(Kind.UPDATE)):
            found.append(at)
        at -= 1
    return found[::-1]


def _sources(trace: Trace, thread: int, seq: int, instr: int) -> list[int]:
    """Reads at this grid point whose results reach an instruction's values."""
    columns = trace.columns
    kernel = trace.launches[int(columns.launch[seq])].kernel
    if not 0 <= instr < len(kernel.tape):
        return []
    events = columns.of_thread(thread)
    events = events[: np.searchsorted(events, seq)]
    points = np.flatnonzero(columns.kind[events] == GRID)
    events = events[points[-1] :] if len(points) else events
    sources = tapeflow(trace.caches, kernel).sources(instr)
    keep = np.isin(columns.instr[events], sources)
    keep &= np.isin(columns.kind[events], READS)
    return events[keep].tolist()


def is_reinterpreted(trace: Trace, seq: int) -> bool:
    """Whether an event looks at the bytes of its buffer as another dtype."""
    instr = accesses.instr_of(trace, seq)
    steps = (
        [step for access in instr.accesses for step in access.steps] if instr else []
    )
    return any(isinstance(step, ir.Alias | ir.Bitcast) for step in steps)


def is_padding(trace: Trace, number: int, at: int, elements: np.ndarray) -> bool:
    """Whether these elements are unset because a block overhangs its array."""
    columns = trace.columns
    pads = np.flatnonzero((columns.kind[:at] == PAD) & (columns.object[:at] == number))
    for region in np.unique(columns.region[pads]).tolist():
        shape = trace.buffer_rows[number].shape
        if np.isin(trace.region(region).flat(shape), elements).any():
            return True
    return False
