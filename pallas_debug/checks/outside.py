"""Accesses outside their buffer, and what is wrong with each: facts for PD101."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pallas_debug import ir
from pallas_debug.checks import (
    accesses,
    harmless,
    origins,
    outside_barriers,
    outside_elements,
    stored,
)
from pallas_debug.checks.finding import Severity
from pallas_debug.checks.tapeflow import tapeflow
from pallas_debug.trace import fold
from pallas_debug.trace.regions import Region, in_range
from pallas_debug.trace.schema import Kind, RegionKind
from pallas_debug.trace.trace import Trace

ACCESSES = (Kind.READ, Kind.WRITE, Kind.UPDATE)
VERBS = {Kind.READ: "reads", Kind.WRITE: "writes", Kind.UPDATE: "updates"}
COPY_VERBS = {Kind.READ: "copies from", Kind.WRITE: "copies to"}
# Of operations that can have a mask, which operand it is.
MASKS = {
    "pallas.masked_load": 0,
    "pallas.masked_store": 1,
    "pallas.masked_swap": 1,
    "triton.atomic_rmw": 1,
}
COPIES = frozenset({"tma", "dma"})


class Fault(NamedTuple):
    """What is wrong with one access: words, severity, and numbers for programs."""

    what: str
    severity: Severity
    hint: str
    details: dict[str, Any]


def outside(trace: Trace) -> dict[int, Fault]:
    """The accesses outside their buffer, and what is wrong with each."""
    kept: dict[int, Fault] | None = trace.caches.get("outside")
    if kept is None:
        kept = trace.caches["outside"] = {}
        verdicts: dict[Any, Fault | None] = {}
        for seq in _suspects(trace).tolist():
            fault = _fault(trace, seq, verdicts)
            if fault is not None:
                kept[seq] = fault
        for seq in outside_barriers.nowhere(trace).tolist():
            kept[seq] = _no_element(trace, seq)
    return kept


def _no_element(trace: Trace, seq: int) -> Fault:
    """An arrival, a signal or a wait at a barrier or semaphore that does not exist."""
    columns = trace.columns
    row = trace.buffer_rows[int(columns.object[seq])]
    element = trace.region(int(columns.region[seq])).start[0]
    verb = outside_barriers.VERBS[Kind(int(columns.kind[seq]))]
    what = f"{verb} {outside_barriers.said(row, element)}"
    details = {"requested": ((element, 1, 1),), "shape": row.shape}
    return Fault(what, Severity.ERROR, outside_barriers.hint(row, element), details)


def is_right(trace: Trace, seq: int, region: Region) -> bool:
    """Whether an event's access would be inside if its box were this one."""
    shape = trace.buffer_rows[int(trace.columns.object[seq])].shape
    faults, instr = _dimensions(region, shape), accesses.instr_of(trace, seq)
    if instr is None or not instr.op.startswith("window."):
        return not faults
    return all(_may_overhang(d, region, shape, instr) for d in faults)


def _suspects(trace: Trace) -> np.ndarray:
    """Events whose box leaves the buffer, and all with a set of elements outside."""
    columns = trace.columns
    events = np.flatnonzero(np.isin(columns.kind, ACCESSES) & (columns.region >= 0))
    pairs = accesses.pairs(trace, events)
    suspect = ~pairs.inside
    for number in np.flatnonzero(suspect):
        buffer, region = int(pairs.buffer[number]), int(pairs.region[number])
        if trace.regions.kind[region] != RegionKind.BOX:
            shape = trace.buffer_rows[buffer].shape
            suspect[number] = not trace.region(region).is_inside(shape)
    return events[suspect[pairs.of]]


def _fault(trace: Trace, seq: int, verdicts: dict[Any, Fault | None]) -> Fault | None:
    """The verdict on an event; the same for equal accesses of one instruction."""
    columns = trace.columns
    names = ("launch", "instr", "object", "region", "kind")
    key = tuple(int(getattr(columns, name)[seq]) for name in names)
    if key not in verdicts:
        verdicts[key] = _judge(trace, seq)
    return verdicts[key]


def _judge(trace: Trace, seq: int) -> Fault | None:
    columns = trace.columns
    row = trace.buffer_rows[int(columns.object[seq])]
    region = trace.region(int(columns.region[seq]))
    kind = Kind(int(columns.kind[seq]))
    instr = accesses.instr_of(trace, seq)
    target = f"`{row.name}`{region.text}"
    thread = trace.thread_rows[int(columns.thread[seq])]
    if region.elements is not None:
        fault = _elements(trace, seq, region)
        return fault if thread.kind != "tma" else _gathered(fault, instr)
    faults = _dimensions(region, row.shape)
    details: dict[str, Any] = {
        "requested": region.spans,
        "shape": row.shape,
        "dimensions": tuple(faults),
    }
    words = "; ".join(faults.values())
    if instr is not None and instr.op.startswith("window."):
        if all(_may_overhang(d, region, row.shape, instr) for d in faults):
            return None
        return _block(trace, seq, words, details)
    if thread.kind in COPIES and kind in COPY_VERBS:
        what = f"{COPY_VERBS[kind]} {target}: {words}"
        dropped = kind == Kind.READ and _is_dropped(
            trace, seq, faults, region, row.shape
        )
        if dropped and thread.kind == "dma":
            hint = "copy a window that fits, or say how large it is: pl.ds(start, size)"
            return Fault(what + harmless.SAID, Severity.WARNING, hint, details)
        return _copy(trace, thread, faults, (region, row.shape), (what, details))
    hint = f"{_narrow(instr)}, or keep the index within the shape"
    what = f"{VERBS[kind]} {target}: {words}"
    if kind == Kind.READ and _is_dropped(trace, seq, faults, region, row.shape):
        return Fault(what + harmless.SAID, Severity.WARNING, hint, details)
    return Fault(what, Severity.ERROR, hint, details)


def _block(trace: Trace, seq: int, words: str, details: dict[str, Any]) -> Fault:
    """A block outside its array: the index map, and the scalars that it read."""
    columns = trace.columns
    name = trace.buffer_rows[int(columns.object[seq])].name
    text = trace.region(int(columns.region[seq])).text
    causes = _causes(trace, seq)
    said = "".join(f" (`{scalar}`{at} is {value})" for scalar, at, value in causes)
    what = f"the index map of `{name}` gives the block {text}{said}: {words}"
    hint = "an index map counts blocks, not elements; keep it within the array"
    if causes:
        details["caused_by"] = causes
        scalars = " and ".join(f"`{scalar}`{at}" for scalar, at, _ in causes)
        hint = f"clamp what the index map makes of {scalars} to the array's blocks"
    return Fault(what, Severity.ERROR, hint, details)


def _is_dropped(
    trace: Trace, seq: int, faults: Mapping[int, str], region: Region, shape: Any
) -> bool:
    """Whether a read overhangs the end, and nothing of that reaches an output."""
    begins_inside = all(0 <= region.start[d] < shape[d] for d in faults)
    return begins_inside and harmless.is_dropped(trace, seq)


def _causes(trace: Trace, seq: int) -> tuple[tuple[str, str, Any], ...]:
    """Scalars that the index map of a block read: buffer, subscript, value."""
    columns = trace.columns
    found = []
    for read in origins.operand_reads(trace, seq):
        row = trace.buffer_rows[int(columns.object[read])]
        flat, _ = stored.touched(trace, read)
        if len(flat) == 1 and row.role == "scalar":
            values = fold.memory(trace, int(columns.object[read]), read).values
            text = trace.region(int(columns.region[read])).text
            found.append((row.name, text, values.reshape(-1)[flat[0]].item()))
    return tuple(dict.fromkeys(found))


def _dimensions(region: Region, shape: tuple[int, ...]) -> dict[int, str]:
    """Each dimension that leaves the buffer, in words."""
    faults: dict[int, str] = {}
    for d, ((start, size, stride), dim) in enumerate(
        zip(region.spans, shape, strict=True)
    ):
        last = start + (size - 1) * stride
        if start < 0:
            faults[d] = f"dimension {d} of size {dim} begins at {start}"
        elif last >= dim:
            end = f"up to {last}" if start < dim else f"from {start}"
            faults[d] = f"dimension {d} of size {dim} is accessed {end}"
    return faults


def _elements(trace: Trace, seq: int, region: Region) -> Fault:
    columns, flat = trace.columns, region.elements
    row = trace.buffer_rows[int(columns.object[seq])]
    instr, number = accesses.instr_of(trace, seq), int(columns.instr[seq])
    assert flat is not None, "a set of elements"
    leaves, own = f"its shape {row.shape}", instr.accesses if instr else ()
    if len(own) == 1:
        kernel = trace.launches[int(columns.launch[seq])].kernel
        flow = tapeflow(trace.caches, kernel)
        d = outside_elements.left_dimension(flow, number, own[0], row.shape)
        leaves = f"dimension {d} of size {row.shape[d]}" if d >= 0 else leaves
    outside = flat[~in_range(flat, row.shape)]
    found = outside_elements.places(outside, row.shape) if row.shape else []
    what = outside_elements.words(flat, row.shape, row.name, leaves)
    details = {
        "elements": tuple(outside.tolist()),
        "places": tuple(map(tuple, found)),
        "shape": row.shape,
    }
    verb = VERBS[Kind(int(columns.kind[seq]))]
    hint = f"{_narrow(instr)}, or keep the indices within the shape"
    return Fault(f"{verb} {what}", Severity.ERROR, hint, details)


def _narrow(instr: ir.Instr | None) -> str:
    """What to do with a mask: have one, or a better one."""
    at = MASKS.get(instr.op, -1) if instr else -1
    mask = instr.ins[at] if instr and 0 <= at < len(instr.ins) else ir.Const(None)
    if isinstance(mask, ir.Const) and mask.value is None:
        return "mask the access"
    return "narrow the mask"


def _gathered(fault: Fault, instr: ir.Instr | None) -> Fault | None:
    """A copy of rows by number; of an image (im2col), whose edge is zeros by design."""
    steps = (
        [step for access in instr.accesses for step in access.steps] if instr else []
    )
    dims = [dim for step in steps if isinstance(step, ir.Index) for dim in step.dims]
    if sum(isinstance(dim, ir.Gather) for dim in dims) > 1:
        return None
    words = f"{fault.what}; the hardware fills with zeros, or drops, what lies outside"
    return fault._replace(what=words, severity=Severity.WARNING)


def _may_overhang(
    d: int, region: Region, shape: tuple[int, ...], instr: ir.Instr
) -> bool:
    """Whether a block is the last, partial one, or begins in declared padding."""
    start = region.start[d]
    dims = instr.params.get("dims", ())
    padding = dims[d][2] if d < len(dims) and len(dims[d]) > 2 else 0
    return -padding <= start < shape[d]


def _copy(
    trace: Trace,
    thread: Any,
    faults: dict[int, str],
    box: tuple[Region, tuple[int, ...]],
    said: tuple[str, dict[str, Any]],
) -> Fault | None:
    """An asynchronous copy: only a TMA window may overhang the end."""
    (region, shape), (what, details) = box, said
    begins_inside = all(0 <= region.start[d] < shape[d] for d in faults)
    mode = _oob_mode(trace, thread)
    if thread.kind != "tma" or not begins_inside or "promise" in mode:
        hint = "keep the window of the copy within the array"
        return Fault(what, Severity.ERROR, hint, details)
    if "zeros" in mode:
        return None
    hint = "say so with oob_mode=plgpu.OOBFillMode.ZEROS, or make the window fit"
    words = f"{what}; the hardware fills with zeros, or drops, what lies outside"
    return Fault(words, Severity.WARNING, hint, details)


def _oob_mode(trace: Trace, thread: Any) -> str:
    """The fill mode that the user gave to the copy, in lower case; mostly empty."""
    tape = trace.launches[thread.launch].kernel.tape
    if not 0 <= thread.instr < len(tape):
        return ""
    return str(tape[thread.instr].params.get("oob_mode") or "").lower()
