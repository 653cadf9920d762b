"""Where a command leads: pure functions of a trace, a cursor and a focus.

A cursor is a number of events that have happened: at cursor `c` the current event is
`c - 1`. Every command gives the new cursor, or None where there is nothing further. The
viewer has the same rules in TypeScript; golden answers hold the two together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pallas_debug.session.places import inside, lines_of, scopes_of
from pallas_debug.session.search import Keep, Numbers, backward, forward
from pallas_debug.trace import Trace, boxes, fold
from pallas_debug.trace.query import about_a_buffer
from pallas_debug.trace.schema import Kind

WRITES = (Kind.WRITE, Kind.UPDATE, Kind.PAD)

Command = Callable[[Trace, int, "Focus"], int | None]


@dataclass(frozen=True, kw_only=True)
class Focus:
    """What the user looks at, as rows of the trace; -1 is nothing.

    Attributes:
      thread, launch, buffer: Rows.
      block: Linear grid index.
      pinned: Whether the buffer stays when the cursor moves.
    """

    thread: int = -1
    block: int = -1
    buffer: int = -1
    launch: int = -1
    pinned: bool = False


def focus_of(trace: Trace, event: int, focus: Focus) -> Focus:
    """The focus when the cursor has come to an event."""
    columns = trace.columns
    at = replace(
        focus,
        thread=int(columns.thread[event]),
        block=int(columns.block[event]),
        launch=int(columns.launch[event]),
    )
    if focus.pinned or not about_a_buffer(trace, np.array([event]))[0]:
        return at
    return replace(at, buffer=int(columns.object[event]))


def step(trace: Trace, cursor: int, focus: Focus) -> int | None:
    """One event further."""
    return cursor + 1 if cursor < len(trace) else None


def back(trace: Trace, cursor: int, focus: Focus) -> int | None:
    """One event back."""
    return cursor - 1 if cursor > 0 else None


def first(trace: Trace, cursor: int, focus: Focus) -> int | None:
    """Before everything."""
    return 0


def last(trace: Trace, cursor: int, focus: Focus) -> int | None:
    """After everything."""
    return len(trace)


def _any(numbers: np.ndarray) -> np.ndarray:
    return np.ones(len(numbers), bool)


def _of_thread(trace: Trace, focus: Focus) -> tuple[Numbers, Keep]:
    return trace.columns.of_thread(focus.thread), _any


def _of_block(trace: Trace, focus: Focus) -> tuple[Numbers, Keep]:
    columns = trace.columns

    def keep(numbers: np.ndarray) -> np.ndarray:
        same = columns.launch[numbers] == focus.launch
        return same & (columns.block[numbers] == focus.block)

    return range(len(trace)), keep


def _of_buffer(trace: Trace, focus: Focus) -> tuple[Numbers, Keep]:
    if not 0 <= focus.buffer < len(trace.buffer_rows):
        return range(0), _any
    roots = fold.roots(trace)

    def keep(numbers: np.ndarray) -> np.ndarray:
        found = about_a_buffer(trace, numbers)
        objects = np.where(found, trace.columns.object[numbers], 0)
        return found & (roots[objects] == roots[focus.buffer])

    return range(len(trace)), keep


def _following(
    select: Callable[[Trace, Focus], tuple[Numbers, Keep]],
) -> tuple[Command, Command]:
    """The commands to the next and to the previous event of a selection."""

    def following(trace: Trace, cursor: int, focus: Focus) -> int | None:
        numbers, keep = select(trace, focus)
        return forward(numbers, keep, cursor)

    def preceding(trace: Trace, cursor: int, focus: Focus) -> int | None:
        numbers, keep = select(trace, focus)
        return backward(numbers, keep, cursor)

    return following, preceding


next_thread, prev_thread = _following(_of_thread)
next_block, prev_block = _following(_of_block)
next_buffer, prev_buffer = _following(_of_buffer)


def last_event(trace: Trace, cursor: int, thread: int) -> int:
    """A thread's last event before the cursor, or -1."""
    events = trace.columns.of_thread(thread)
    count = int(np.searchsorted(events, cursor))
    return int(events[count - 1]) if count else -1


def _other_line(trace: Trace, cursor: int, focus: Focus) -> tuple[Numbers, Keep]:
    here = last_event(trace, cursor, focus.thread)
    line = int(lines_of(trace, np.array([here]))[0]) if here >= 0 else -1

    def keep(numbers: np.ndarray) -> np.ndarray:
        lines = lines_of(trace, numbers)
        return (lines >= 0) & (lines != line)

    return trace.columns.of_thread(focus.thread), keep


def next_line(trace: Trace, cursor: int, focus: Focus) -> int | None:
    """The focus thread's next event on another source line."""
    return forward(*_other_line(trace, cursor, focus), cursor)


def prev_line(trace: Trace, cursor: int, focus: Focus) -> int | None:
    """The focus thread's previous event on another source line."""
    return backward(*_other_line(trace, cursor, focus), cursor)


def _outside(
    trace: Trace, cursor: int, focus: Focus, *, strictly: bool
) -> tuple[Numbers, Keep]:
    """The focus thread's events outside the scope of its last event.

    With `strictly`, those in the scope itself count as outside.
    """
    events = trace.columns.of_thread(focus.thread)
    here = last_event(trace, cursor, focus.thread)
    if here < 0:
        return events, _any
    scope = int(scopes_of(trace, np.array([here]))[0])
    deeper = inside(trace.launches[int(trace.columns.launch[here])].kernel, scope)
    deeper[scope] = not strictly

    def keep(numbers: np.ndarray) -> np.ndarray:
        return ~deeper[scopes_of(trace, numbers)]

    return events, keep


def over(trace: Trace, cursor: int, focus: Focus) -> int | None:
    """The focus thread's next event that is not deeper inside."""
    return forward(*_outside(trace, cursor, focus, strictly=True), cursor)


def over_back(trace: Trace, cursor: int, focus: Focus) -> int | None:
    """The focus thread's previous event that is not deeper inside."""
    return backward(*_outside(trace, cursor, focus, strictly=True), cursor)


def out(trace: Trace, cursor: int, focus: Focus) -> int | None:
    """The focus thread's next event outside its scope; of the outermost: its end."""
    events, keep = _outside(trace, cursor, focus, strictly=False)
    found = forward(events, keep, cursor)
    if found is None and forward(events, keep, 0) is None:
        return forward(events[-1:], _any, cursor)
    return found


def out_back(trace: Trace, cursor: int, focus: Focus) -> int | None:
    """The focus thread's previous event outside its scope; of the outermost: its first."""
    events, keep = _outside(trace, cursor, focus, strictly=False)
    found = backward(events, keep, cursor)
    if found is None and forward(events, keep, 0) is None:
        return backward(events[:1], _any, cursor)
    return found


def next_of(numbers: Sequence[int] | np.ndarray, cursor: int) -> int | None:
    """The next one of some sorted event numbers."""
    return forward(np.asarray(numbers, np.int64), _any, cursor)


def prev_of(numbers: Sequence[int] | np.ndarray, cursor: int) -> int | None:
    """The previous one of some sorted event numbers."""
    return backward(np.asarray(numbers, np.int64), _any, cursor)


def last_write(
    trace: Trace, cursor: int, buffer: int, element: Sequence[int]
) -> int | None:
    """The cursor after the last event before it that set an element of a buffer."""
    columns, roots = trace.columns, fold.roots(trace)
    shape = trace.buffer_rows[buffer].shape
    box = tuple((i, i + 1) for i in element)

    def keep(numbers: np.ndarray) -> np.ndarray:
        found = np.isin(columns.kind[numbers], WRITES)
        found &= roots[np.where(found, columns.object[numbers], 0)] == roots[buffer]
        regions, which = np.unique(columns.region[numbers[found]], return_inverse=True)
        found[found] = boxes.touching(trace, regions, shape, box)[which]
        return found

    return backward(range(len(trace)), keep, cursor + 1)


COMMANDS: dict[str, Command] = {
    "step": step,
    "back": back,
    "next_thread": next_thread,
    "prev_thread": prev_thread,
    "next_block": next_block,
    "prev_block": prev_block,
    "next_buffer": next_buffer,
    "prev_buffer": prev_buffer,
    "next_line": next_line,
    "prev_line": prev_line,
    "over": over,
    "over_back": over_back,
    "out": out,
    "out_back": out_back,
    "first": first,
    "last": last,
}
