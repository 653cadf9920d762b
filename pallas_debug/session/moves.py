"""A cursor over a trace, a focus, and the commands that move them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pallas_debug import errors
from pallas_debug.accepted import is_whole, whole
from pallas_debug.session import navigation
from pallas_debug.session.breakpoints import evidence
from pallas_debug.session.focusing import Focusing
from pallas_debug.session.navigation import COMMANDS
from pallas_debug.session.stops import Stop

NOTHING = "nothing further"
COUNTS = "a number of events, 0 or more"
OPPOSITE = {"step": "back({}) goes back", "back": "step({}) goes on"}
WHAT = {
    "step": "this is the end",
    "back": "this is the beginning",
    "next_thread": "no later event of this thread",
    "prev_thread": "no earlier event of this thread",
    "next_block": "no later event of this block",
    "prev_block": "no earlier event of this block",
    "next_buffer": "no later event about this buffer",
    "prev_buffer": "no earlier event about this buffer",
    "next_line": "this thread comes to no other line",
    "prev_line": "this thread came from no other line",
    "over": "this thread does nothing more outside what is inside this scope",
    "over_back": "this thread did nothing before outside what is inside this scope",
    "out": "this thread does not leave this scope",
    "out_back": "this thread was never outside this scope",
}


class Moves(Focusing):
    """The part of a session that moves."""

    # -- where to go ---------------------------------------------------------

    def step(self, count: int = 1) -> Stop:
        """The next event, of whatever thread; or `count` events further."""
        return self._by(1, count, "step")

    def back(self, count: int = 1) -> Stop:
        """One event back; or `count`."""
        return self._by(-1, count, "back")

    def next_thread(self) -> Stop:
        """The next event of the focused thread."""
        return self._command("next_thread")

    def prev_thread(self) -> Stop:
        """The previous event of the focused thread."""
        return self._command("prev_thread")

    def next_block(self) -> Stop:
        """The next event of the focused block."""
        return self._command("next_block")

    def prev_block(self) -> Stop:
        """The previous event of the focused block."""
        return self._command("prev_block")

    def next_buffer(self) -> Stop:
        """The next event about the focused buffer."""
        return self._command("next_buffer")

    def prev_buffer(self) -> Stop:
        """The previous event about the focused buffer."""
        return self._command("prev_buffer")

    def next_line(self) -> Stop:
        """The focused thread's next event on another source line."""
        return self._command("next_line")

    def prev_line(self) -> Stop:
        """The focused thread's previous event on another source line."""
        return self._command("prev_line")

    def over(self) -> Stop:
        """The focused thread's next event that is not deeper inside."""
        return self._command("over")

    def over_back(self) -> Stop:
        """The focused thread's previous event that is not deeper inside."""
        return self._command("over_back")

    def out(self) -> Stop:
        """Out of the loop, branch or call in which the focused thread is."""
        return self._command("out")

    def out_back(self) -> Stop:
        """Back to before the loop, branch or call in which the focused thread is."""
        return self._command("out_back")

    def first(self) -> Stop:
        """Before everything."""
        return self._command("first")

    def last(self) -> Stop:
        """After everything."""
        return self._command("last")

    def jump(self, event: int) -> Stop:
        """To an event, by its number; negative numbers count from the end."""
        accepted = f"an event: 0 … {len(self.trace) - 1}"
        count = len(self.trace)
        number = whole("event", event, accepted, low=-count, high=count - 1)
        why = f"event {number}, counted from the end" if number < 0 else ""
        return self._go(number % len(self.trace) + 1, why)

    run_to = jump

    def next_finding(self) -> Stop:
        """The next event that a finding points at."""
        return self._finding(navigation.next_of, "later")

    def prev_finding(self) -> Stop:
        """The previous event that a finding points at."""
        return self._finding(navigation.prev_of, "earlier")

    def last_write(self, buffer: Any, element: Sequence[int] | int = ()) -> Stop:
        """To the event that last set an element of a buffer before here."""
        number, place = self._element(buffer, element)
        found = navigation.last_write(self.trace, self.cursor, number, place)
        name = self.trace.buffer_rows[number].name
        if found is None:
            nobody = f"nobody has written {name}{list(place)} before here"
            return self._stay(f"{NOTHING}: {nobody}")
        return self._go(found, f"the last write to {name}{list(place)}")

    def _element(
        self, buffer: Any, element: Sequence[int] | int
    ) -> tuple[int, tuple[int, ...]]:
        """A buffer's row, and the place of one of its elements."""
        number = self._buffer(buffer)
        shape = self.trace.buffer_rows[number].shape
        at: Any = (element,) if is_whole(element) else element
        fits = isinstance(at, Iterable) and not isinstance(at, str)
        fits = fits and getattr(at, "ndim", 1) > 0
        accepted = f"{len(shape)} indices into the shape {shape}"
        indices = [whole("element", i, accepted) for i in at] if fits else []
        place = tuple(i + n * (i < 0) for i, n in zip(indices, shape, strict=False))
        inside = all(0 <= i < n for i, n in zip(place, shape, strict=False))
        if not fits or len(indices) != len(shape) or not inside:
            raise errors.BadOption(option="element", value=element, accepted=accepted)
        return number, place

    def follow(self, cursor: int, viewer: Callable[[], None] | None = None) -> None:
        """To a cursor that a viewer has moved to; tells other viewers, if it is known."""
        cursor = self._moment(cursor, "cursor")
        if cursor != self.cursor:
            others = [one for one in self.listeners if viewer and one is not viewer]
            told, self.listeners = self.listeners, others
            try:
                self._go(cursor)
            finally:
                self.listeners = told

    def judged(self) -> Any:
        """The report, made when it is first asked for."""
        if self.report is None:
            from pallas_debug.session.verbs import check

            self.report = check(self.trace)
        return self.report

    # -- how to get there ----------------------------------------------------

    def _by(self, way: int, count: Any, name: str) -> Stop:
        count = whole("count", count, COUNTS)
        if count < 0:
            other = f"{COUNTS}: {OPPOSITE[name].format(-count)}"
            raise errors.BadOption(option="count", value=count, accepted=other)
        if not count:
            return self._stay("nothing to do: 0 events")
        target = min(max(self.cursor + way * count, 0), len(self.trace))
        if target == self.cursor:
            return self._stay(f"{NOTHING}: {WHAT[name]}")
        return self._go(target)

    def _command(self, name: str) -> Stop:
        found = COMMANDS[name](self.trace, self.cursor, self.looking_at)
        if found is None:
            return self._stay(f"{NOTHING}: {WHAT[name]}")
        return self._go(found)

    def _finding(self, look: Any, word: str) -> Stop:
        report = self.judged()
        found = look(evidence(report), self.cursor)
        if found is None:
            lacking = f"no finding points at an event {word} than here"
            lacking = lacking if report.findings else "the checks found nothing"
            return self._stay(f"{NOTHING}: {lacking}")
        said = (f"{f.code} {f.name}: {f.message}" for f in report.at(found - 1))
        return self._go(found, "\n".join(said))

    def _go(self, cursor: int, why: str = "", breakpoint: Any = None) -> Stop:
        moved = cursor != self.cursor
        if moved:
            self.previous = self.cursor
        self.cursor = cursor
        if cursor:
            self.looking_at = navigation.focus_of(
                self.trace, cursor - 1, self.looking_at
            )
        if moved:
            self._tell()
        return Stop(
            cursor=cursor, why=why, breakpoint=breakpoint, moved=moved, trace=self.trace
        )

    def _stay(self, why: str) -> Stop:
        return Stop(cursor=self.cursor, why=why, moved=False, trace=self.trace)
