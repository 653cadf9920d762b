"""Rules of causes that ask: was this index made of a number that no memory held?

A read outside a buffer, or of unset memory, gives the largest number of its dtype. What
is computed from that says nothing of the kernel. Told only where a zero in its place
would be right: along sums and products by constants, of registers with one definition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pallas_debug import ir
from pallas_debug.checks import accesses, outside
from pallas_debug.checks.causes_of_order import Known, Link
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.checks.sums_of_reads import sum_of_reads
from pallas_debug.checks.tapeflow import tapeflow
from pallas_debug.checks.uninitialized_read import unset_reads
from pallas_debug.trace import dtypes
from pallas_debug.trace.arithmetic import WRAP, Oddity, arithmetic
from pallas_debug.trace.proxies import proxies
from pallas_debug.trace.schema import Kind, RegionKind
from pallas_debug.trace.trace import Trace

EXACT = {
    "lax.add": lambda a, b: a + b,
    "lax.sub": lambda a, b: a - b,
    "lax.mul": lambda a, b: a * b,
}
MOST = 2000  # events of a finding of which each is asked for its index
BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}  # of tables of indices


class Index(NamedTuple):
    """What a view takes as index in one dimension, and how far one more moves it."""

    operand: ir.Operand
    step: int


Indices = Sequence[Sequence[Index]]  # of each dimension


class Place(NamedTuple):
    """Whose registers are looked at: before which event, by which instruction."""

    launch: int
    thread: int
    before: int
    instr: int


def made_up_indices(known: Known) -> Iterator[Link]:
    """Accesses outside at an index that was read outside or unset; its overflow, too."""
    made_up = _MadeUp(known)
    if not made_up.by:
        return
    for effect, one in known.of("PD101"):
        cause = common(map(made_up.behind, made_up.events(one)))
        if cause >= 0:
            yield effect, cause
    for effect, one in known.of("PD405"):
        cause = common(map(made_up.behind_wrap, _wraps(known, one)))
        if cause >= 0:
            yield effect, cause


def common(causes: Iterable[int]) -> int:
    """The one finding that they all are, or -1."""
    asked = iter(causes)
    first = next(asked, -1)
    return first if first >= 0 and all(one == first for one in asked) else -1


def _wraps(known: Known, one: Finding) -> list[Oddity]:
    """All that a finding of overflows is about; none if some are missing."""
    kernels = [launch.kernel for launch in known.trace.launches]
    found = [
        wrap
        for wrap in arithmetic(known.trace).oddities
        if wrap.kind == WRAP and kernels[wrap.launch].loc_of(wrap.instr) == one.loc
    ]
    return found if sum(wrap.count for wrap in found) == one.count else []


def _unset(trace: Trace) -> Mapping[int, Severity | None]:
    return dict.fromkeys(unset_reads(trace))


def _outside(trace: Trace) -> Mapping[int, Severity | None]:
    return {seq: one.severity for seq, one in outside.outside(trace).items()}


JUDGES = {"PD101": _outside, "PD102": _unset}


class _MadeUp:
    """The reads of numbers that no memory held, and what was computed from them."""

    def __init__(self, known: Known) -> None:
        self._known, self._trace = known, known.trace
        self._judged: dict[str, list[np.ndarray]] = {}
        self._executed: dict[tuple[int, int], np.ndarray] = {}

    @cached_property
    def by(self) -> dict[int, int]:
        """Such reads, of one element each, and the numbers of their findings."""
        found: dict[int, int] = {}
        for code in JUDGES:
            for number, one in self._known.of(code):
                found |= dict.fromkeys(filter(self._is_index, self.events(one)), number)
        return found

    def events(self, one: Finding) -> list[int]:
        """All events of a finding; none if some are missing, or if they are too many."""
        if one.count > MOST:
            return []
        judged = JUDGES[one.code](self._trace)
        if one.code not in self._judged:
            seqs = np.array(sorted(judged), np.int64)
            self._judged[one.code] = [*accesses.by_line(self._trace, seqs)]
        mine = np.array(one.events, np.int64)
        groups = [g for g in self._judged[one.code] if np.isin(mine, g).any()]
        found = [seq for group in groups for seq in group.tolist()]
        found = [seq for seq in found if judged[seq] in (one.severity, None)]
        return sorted(found) if len(found) == one.count else []

    def _is_index(self, seq: int) -> bool:
        columns = self._trace.columns
        row = self._trace.buffer_rows[int(columns.object[seq])]
        region = self._trace.region(int(columns.region[seq]))
        is_one = region.kind == RegionKind.BOX and all(n == 1 for n in region.size)
        return columns.kind[seq] == Kind.READ and is_one and row.dtype in BITS

    def behind(self, seq: int) -> int:
        """The finding that an access outside its buffer follows from, or -1."""
        columns = self._trace.columns
        row = self._trace.buffer_rows[int(columns.object[seq])]
        region = self._trace.region(int(columns.region[seq]))
        if region.kind != RegionKind.BOX:
            return -1
        at, indices = self._indices(seq)
        if len(indices) != len(region.start):
            return -1
        found: set[int] = set()
        start = list(region.start)
        for d, (first, size, stride) in enumerate(region.spans):
            if first >= 0 and first + (size - 1) * stride < row.shape[d]:
                continue
            causes: set[int] = set()
            for index in indices[d]:
                some, start[d] = self._mended(at, index, start[d])
                causes |= some
            found |= causes or {-1}
        mended = replace(region, start=tuple(start))
        if not outside.is_right(self._trace, seq, mended):
            return -1
        return common(found)

    def behind_wrap(self, one: Oddity) -> int:
        """The same of a scalar result that does not fit its dtype."""
        tape = self._trace.launches[one.launch].kernel.tape
        operands = tape[one.instr].ins
        if one.count > 1 or one.index or one.op not in EXACT or len(operands) != 2:
            return -1
        place = Place(one.launch, one.thread, one.event, one.instr)
        values, found = list[int](), set[int]()
        for operand, value in zip(operands, one.operands, strict=True):
            if not isinstance(value, int | np.integer):
                return -1
            causes, rest = self._mended(place, Index(operand, 1), int(value))
            found |= causes
            values.append(rest)
        bits = BITS.get(one.dtype, 0)
        fits = abs(EXACT[one.op](*values)) < 1 << max(bits - 1, 0)
        return common(found) if fits else -1

    def _mended(self, at: Place, index: Index, value: int) -> tuple[set[int], int]:
        """The findings that an index follows from, and the number without these reads."""
        columns = self._trace.columns
        flow = tapeflow(self._trace.caches, self._trace.launches[at.launch].kernel)
        terms = sum_of_reads(flow, at.instr, index.operand)
        found: set[int] = set()
        for read, factor in terms.factors.items():
            seq = self._last(at, read)
            if seq not in self.by:
                continue
            if read in terms.others:
                return set(), value
            found.add(self.by[seq])
            dtype = self._trace.buffer_rows[int(columns.object[seq])].dtype
            most = int(np.iinfo(dtypes.numpy_dtype(dtype)).max)
            value = _wrapped(value - factor * index.step * most, BITS[dtype])
        return found, value

    def _last(self, at: Place, instr: int) -> int:
        """The last event that an instruction had there, or -1."""
        key = (at.thread, instr)
        if key not in self._executed:
            events = self._trace.columns.of_thread(at.thread)
            self._executed[key] = events[self._trace.columns.instr[events] == instr]
        number = int(np.searchsorted(self._executed[key], at.before))
        return int(self._executed[key][number - 1]) if number else -1

    def _at(self, seq: int) -> Place:
        columns = self._trace.columns
        launch, thread = int(columns.launch[seq]), int(columns.thread[seq])
        return Place(launch, thread, seq, int(columns.instr[seq]))

    def _indices(self, seq: int) -> tuple[Place, Indices]:
        """The indices of an access in each dimension, and where these were set."""
        columns = self._trace.columns
        instr = accesses.instr_of(self._trace, seq)
        place = self._at(seq)
        if instr is None:
            return place, ()
        if instr.op.startswith("window."):
            return self._of_window(seq)
        own = [one for one in instr.accesses if one.steps]
        indices = _composed(own[0].steps) if len(own) == 1 else ()
        thread = self._trace.threads[int(columns.thread[seq])]
        if not thread.is_agent:
            return place, indices
        spawn = int(proxies(self._trace).issue[thread.number])
        tape = self._trace.launches[int(columns.launch[seq])].kernel.tape
        given = tape[int(columns.instr[spawn])].ins
        return self._at(spawn), [
            [Index(_given(given, one.operand), one.step) for one in dim]
            for dim in indices
        ]

    def _of_window(self, seq: int) -> tuple[Place, Indices]:
        """The block's, which an output's window had when it was made."""
        columns = self._trace.columns
        at = seq
        if columns.kind[seq] == Kind.WRITE and seq:
            born = accesses.lifetimes(self._trace)[0]
            at = max(int(born[columns.object[seq - 1]]), 0)
        place = self._at(at)
        instr = accesses.instr_of(self._trace, at)
        dims = instr.params.get("dims", ()) if instr else ()
        if instr is None or any(dim[0] == "bounded" for dim in dims):
            return place, ()
        steps = [dim[1] if dim[0] == "blocked" else 1 for dim in dims]
        pairs = zip(instr.ins[1:], steps, strict=True)
        return place, [[Index(operand, by)] for operand, by in pairs]


def _composed(steps: Sequence[ir.ViewStep]) -> Indices:
    """The indices of one view after another; none where a view is of another kind."""
    found: list[list[Index]] = []
    left: list[tuple[int, int]] = []  # dimensions that are still there, and strides
    for number, step in enumerate(steps):
        if not isinstance(step, ir.Index) or _gathers(step):
            return ()
        if not number:
            found, left = (
                [[] for _ in step.dims],
                [(d, 1) for d in range(len(step.dims))],
            )
        before, left = left, []
        for (d, stride), dim in zip(before, step.dims, strict=True):
            if isinstance(dim, ir.Slice):
                left.append((d, stride * dim.stride))
            operand = dim.start if isinstance(dim, ir.Slice) else dim.index
            found[d].append(Index(operand, stride))
    return found


def _gathers(step: ir.Index) -> bool:
    return any(isinstance(dim, ir.Gather) for dim in step.dims)


def _given(given: Sequence[ir.Operand], operand: ir.Operand) -> ir.Operand:
    """What an asynchronous operation was given for a register of its own."""
    if isinstance(operand, ir.Reg) and operand.number < len(given):
        return given[operand.number]
    return ir.Const(None)


def _wrapped(value: int, bits: int) -> int:
    """A number as a signed integer of so many bits."""
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half
