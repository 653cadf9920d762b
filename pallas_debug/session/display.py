"""A session as terminal text: position, source with an arrow, threads, stacks.

Pure functions of a trace, a cursor and a focus; they return, never print.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.ir.assignments import source_lines
from pallas_debug.session.held import Held
from pallas_debug.session.navigation import Focus, last_event
from pallas_debug.trace import Kind, Trace, boxes

AROUND = 3  # lines of source before and after
MOST_THREADS = 8
MOST_ELEMENTS = 200
RECORD = (  # what to do about values that nobody knows
    'session.attach(fn, *args) computes them again, Options(values="writes") with a '
    "larger max_value_bytes keeps them"
)
ARROW = "→"


@dataclass(frozen=True, kw_only=True)
class Frame:
    """One scope around an event: a loop, a branch, a call, the kernel.

    Attributes:
      kind, name: Of the scope; the innermost frame is an `instruction` and its op.
      loc: Where in the user's source.
    """

    kind: str
    name: str
    loc: ir.Loc | None

    @property
    def place(self) -> str:
        """`kernel.py:41`, or empty."""
        return f"{PurePath(self.loc.file).name}:{self.loc.line}" if self.loc else ""

    def __str__(self) -> str:
        text = self.loc.text.strip().partition("\n")[0] if self.loc else ""
        return f"{self.kind} {self.name}  {self.place}  {text}".rstrip()


@dataclass(frozen=True, kw_only=True)
class Stack:
    """Where a thread stands: the scopes around its last event, outermost first."""

    thread: int
    name: str
    state: str
    frames: tuple[Frame, ...] = ()

    def __repr__(self) -> str:
        lines = [f"{self.name}: {self.state}"]
        for number, frame in enumerate(self.frames):
            mark = ARROW if number == len(self.frames) - 1 else " "
            lines.append(f" {mark} {'  ' * number}{frame}")
        return "\n".join(lines)


class Stacks(tuple[Stack, ...]):
    """The stacks of several threads; printable."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(repr, self))


def stack(trace: Trace, cursor: int, thread: int) -> Stack:
    """The stack of a thread at a cursor."""
    name = trace.threads[thread].name
    event = last_event(trace, cursor, thread)
    state = state_of(trace, event)
    if event < 0:
        return Stack(thread=thread, name=name, state=state)
    row = trace[event]
    kernel = row.launch.kernel
    frames: list[Frame] = []
    scope = row.instr.scope if row.instr else 0
    while scope >= 0:
        entry = kernel.scopes[scope]
        loc = kernel.locs[entry.loc] if entry.loc >= 0 else row.launch.loc
        named = entry.name if entry.name != entry.kind else ""
        if entry.kind == "grid" and row.block is not None:
            named = f"point {row.block}"
        frames.insert(0, Frame(kind=entry.kind, name=named, loc=loc))
        scope = entry.parent
    frames.append(Frame(kind="instruction", name=row.op, loc=row.loc))
    return Stack(thread=thread, name=name, state=state, frames=tuple(frames))


def state_of(trace: Trace, event: int) -> str:
    """What a thread does after its last event, -1 for none."""
    if event < 0:
        return "not started"
    row = trace[event]
    if row.kind is Kind.END:
        return "finished"
    if row.kind is not Kind.BLOCK:
        return f"at {row.place}" if row.place else "running"
    if row.buffer is None:
        agent = row.aux
        named = 0 <= agent < len(trace.threads)
        what = trace.threads[agent].name if named else "a thread"
        return f"waits for {what} at {row.place}"
    return f"waits for {row.buffer.name}{row.part} ({row.aux}) at {row.place}"


def last_events(trace: Trace, cursor: int) -> np.ndarray:
    """For each thread its last event before the cursor, or -1."""
    found = np.full(len(trace.thread_rows), -1, np.int64)
    # NumPy keeps the last of several values for one place.
    found[trace.columns.thread[:cursor]] = np.arange(cursor)
    return found


def threads(trace: Trace, cursor: int, focus: Focus) -> Iterator[str]:
    """Lines about the threads of the focused block, then about those that wait."""
    events = last_events(trace, cursor)
    rows = trace.thread_rows
    waiting = np.zeros(len(rows), bool)
    some = np.flatnonzero(events >= 0)
    waiting[some] = trace.columns.kind[events[some]] == Kind.BLOCK
    ended = np.zeros(len(rows), bool)
    ended[some] = trace.columns.kind[events[some]] == Kind.END
    mine = np.array([row.launch == focus.launch for row in rows], bool)
    near = mine & np.array([row.block == focus.block for row in rows], bool)
    live = mine & (events >= 0) & ~ended
    order = [
        focus.thread,
        *np.flatnonzero(near & live),
        *np.flatnonzero(waiting & live),
    ]
    order += [*np.flatnonzero(live)]
    shown = [t for t in dict.fromkeys(int(t) for t in order) if t >= 0]
    for number in shown[:MOST_THREADS]:
        mark = ARROW if number == focus.thread else " "
        state = state_of(trace, int(events[number]))
        yield f" {mark} {number}: {trace.threads[number].name}: {state}"
    hidden = len(shown) - MOST_THREADS
    counts = [f"{hidden:,} more"] * (hidden > 0)
    for word, some in (
        ("finished", ended & mine),
        ("not started", mine & (events < 0)),
    ):
        counts += [f"{int(some.sum()):,} {word}"] * bool(some.any())
    if counts:
        yield f"   … {', '.join(counts)}"


def position(trace: Trace, cursor: int) -> str:
    """`event #41 of #2,962: write acc[0:64] by warpgroup 0 at kernel.py:41`."""
    if not cursor:
        return f"before the first of {len(trace):,} events"
    row = trace[cursor - 1]
    place = f" at {row.place}" if row.place else ""
    end = "; this is the last event" if cursor == len(trace) else ""
    return (
        f"event #{row.seq:,} of #{len(trace) - 1:,}: {row.what} by {row.thread.name}"
        f"{place}{end}"
    )


def called(trace: Trace, cursor: int) -> list[str]:
    """A line `called from line 41 in f`, where a function was called."""
    row = trace[cursor - 1] if cursor else None
    said = ir.called_from(row.loc, row.calls) if row and row.loc else ""
    return [said] if said else []


def source(loc: ir.Loc | None, around: int = AROUND) -> list[str]:
    """Source lines around a place, an arrow at its own."""
    if loc is None:
        return []
    text = loc.text.splitlines() or [""]
    lines = source_lines(loc.file)
    at = loc.line - 1
    if at >= len(lines) or lines[at].strip() != text[0].strip():
        numbered = enumerate(text[:around], loc.line)  # all that the trace itself knows
        return [_line(n, line, n == loc.line) for n, line in numbered]
    shown = range(max(at - around, 0), min(at + around + 1, len(lines)))
    return [_line(n + 1, lines[n].rstrip(), n == at) for n in shown]


def _line(number: int, text: str, here: bool) -> str:
    return f" {ARROW if here else ' '} {number:>4} | {text}".rstrip()


def whole(trace: Trace, cursor: int, focus: Focus, extra: Sequence[str] = ()) -> str:
    """Position, source and threads: what `print(session)` shows."""
    lines, loc = list[str](), trace[cursor - 1].loc if cursor else None
    if focus.launch >= 0:
        launch = trace.launches[focus.launch]
        lines.append(f"{launch.name} ({launch.backend}), launch {launch.number}")
        loc = loc or launch.loc
    lines += [position(trace, cursor), *called(trace, cursor), *extra]
    return "\n".join([*lines, *source(loc), *threads(trace, cursor, focus)])


def contents(trace: Trace, buffer: int, memory: Held, part: Any = None) -> str:
    """What a buffer holds: its head, then the values.

    Unset elements are `--`, those whose value nobody knows `?`.
    """
    entry = trace.buffers[buffer]
    box = () if part is None else boxes.box_of(part)
    if box:
        boxes.refuse_outside(box, [entry.shape])
    extents = boxes.extents(box, entry.shape) or ()
    cut = tuple(slice(start, stop) for start, stop in extents)
    values, set_, known = (array[cut] for array in memory)
    state = f"{int(set_.sum()):,} of {set_.size:,} elements set"
    if not known.all():
        state += f", {int((~known).sum()):,} of them not recorded (?); {RECORD}"
    where = boxes.text_of(box) if box else ""
    shape = ", ".join(map(str, entry.shape))
    space = entry.space
    if entry.launch.mesh:
        space += f" on device {entry.row.device}"
    head = f"{entry.name}{where}: {entry.dtype}[{shape}] in {space}, {state}"
    places = np.arange(values.size).reshape(values.shape)

    def word(place: Any) -> str:
        if not set_.flat[place]:
            return "--"
        if not known.flat[place]:
            return "?"
        one = values.flat[place]
        return f"{float(one):.5g}" if values.dtype.kind in "fV" else str(one)

    text = np.array2string(
        places, formatter={"int": word}, threshold=MOST_ELEMENTS, edgeitems=3
    )
    return f"{head}\n{text}"
