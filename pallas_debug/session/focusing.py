"""What a session looks at: the focus, and which buffer a name means there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from pallas_debug import errors
from pallas_debug.accepted import is_whole, of_type, whole
from pallas_debug.checks import Report
from pallas_debug.session import navigation
from pallas_debug.session.navigation import Focus
from pallas_debug.trace import Trace, fold
from pallas_debug.trace.query import about_a_buffer

A_TRACE = "a trace (from a file: load(path))"


def report_of(report: Any) -> Any:
    """A report, or None; anything else is refused."""
    if report is None:
        return None
    return of_type("report", report, Report, "a report: pldb.check(trace)")


def _point(block: Any) -> int | tuple[int, ...]:
    """A block as a linear number or coordinates."""
    words = "a linear number, or coordinates such as (0, 1)"
    if is_whole(block) or not isinstance(block, Iterable):
        return whole("block", block, words)
    if getattr(block, "ndim", 1) == 0 or isinstance(block, str):
        raise errors.BadOption(option="block", value=block, accepted=words)
    return tuple(whole("block", i, words) for i in block)


class Focusing:
    """The part of a session that has a place.

    Attributes:
      trace: What is looked at; never changed.
      report: What the checks say about it, None if nobody asked.
      cursor: How many events have happened.
      looking_at: The focus: thread, block, buffer, launch.
      previous: The cursor before the last move.
      listeners: Called when the cursor, the focus or a breakpoint has changed.
    """

    def __init__(self, trace: Trace, report: Any = None) -> None:
        self.trace = of_type("trace", trace, Trace, A_TRACE)
        self.report: Any = report_of(report)
        self.cursor = 0
        self.looking_at = Focus()
        self.previous = 0
        self.listeners: list[Callable[[], None]] = []
        if len(trace):
            self.looking_at = navigation.focus_of(trace, 0, Focus())

    def focus(
        self,
        *,
        device: int | None = None,
        block: Any = None,
        thread: Any = None,
        buffer: Any = None,
    ) -> Focus:
        """Looks at a device, a block, a thread or a buffer; the cursor stays.

        Without arguments: says what is looked at. A buffer stays in focus until
        `buffer=False`.
        """
        if buffer is not None:
            pinned = buffer is not False
            number = self._buffer(buffer) if pinned else self.looking_at.buffer
            self.looking_at = replace(self.looking_at, buffer=number, pinned=pinned)
        if device is not None or block is not None or thread is not None:
            self._look(device, block, thread)
        self._tell()
        return self.looking_at

    def _tell(self) -> None:
        for listener in self.listeners:
            listener()

    def _look(self, device: int | None, block: Any, thread: Any) -> None:
        """Sets thread, block and launch to the first that is meant."""
        rows = self.trace.thread_rows
        if thread is not None:
            if isinstance(thread, str):
                events = self.trace.events.where(thread=thread)
                number = int(self.trace.columns.thread[events[0]]) if len(events) else 0
            else:
                number = self._thread(thread)
            at = rows[number].block
        else:
            number, at = self._at(device, block)
        self.looking_at = replace(
            self.looking_at, thread=number, block=at, launch=rows[number].launch
        )

    def _at(self, device: int | None, block: Any) -> tuple[int, int]:
        """A thread of a device or a block, and the block; this launch's if it has one."""
        rows, here = self.trace.thread_rows, max(self.looking_at.launch, 0)
        point = None if block is None else _point(block)
        device = None if device is None else whole("device", device)
        for launch in sorted(self.trace.launches, key=lambda la: la.number != here):
            linear = launch.linear(point) if isinstance(point, tuple) else point
            mine = [
                i
                for i, row in enumerate(rows)
                if row.launch == launch.number and device in (None, row.device)
            ]
            if linear is None:
                found = sorted(mine, key=lambda i: rows[i].kind == "launch")
            elif linear < 0:
                found = []
            else:
                found = [i for i in mine if rows[i].block == linear]
                found += self._visitors(launch.number, int(linear)) if mine else []
            if found:
                at = rows[found[0]].block if linear is None else int(linear)
                return found[0], at
        shapes = ", ".join(f"{launch.block_shape}" for launch in self.trace.launches)
        raise errors.BadOption(
            option="focus",
            value=block if block is not None else device,
            accepted=f"a block of {shapes} that ran, a device that took part",
        )

    def _visitors(self, launch: int, block: int) -> list[int]:
        """Threads that came to a block without belonging to it: cores."""
        columns = self.trace.columns
        here = (columns.launch == launch) & (columns.block == block)
        return np.unique(columns.thread[here]).tolist()

    def _buffer(self, buffer: Any) -> int:
        """A buffer's row; of several with one name the nearest to the focus."""
        number = getattr(buffer, "number", buffer)
        rows, focus = self.trace.buffer_rows, self.looking_at
        if not isinstance(number, str):
            return fold.buffer_number(self.trace, buffer)
        found = [i for i, row in enumerate(rows) if row.name == number]
        device, meant = self._device(), self._meant()
        tests: list[Callable[[int], bool]] = [
            lambda i: rows[i].launch == focus.launch,
            lambda i: rows[i].device == device or i == meant,
            lambda i: rows[i].block in (focus.block, -1),
            lambda i: rows[i].thread in (focus.thread, -1),
            self._is_alive,
            lambda i: i == meant,
        ]
        for test in tests:
            nearer = [i for i in found if test(i)]
            found = nearer or found
        return fold.buffer_number(self.trace, found[0] if found else number)

    def _device(self) -> int:
        """The device of the focused thread."""
        thread = self.looking_at.thread
        return self.trace.thread_rows[thread].device if thread >= 0 else -1

    def _meant(self) -> int:
        """The buffer that stays in focus, else the one that the thread has just used.

        The one before that would depend on the way here.
        """
        focus, event = self.looking_at, self.cursor - 1
        if focus.pinned:
            return focus.buffer
        if event < 0 or int(self.trace.columns.thread[event]) != focus.thread:
            return -1
        here = about_a_buffer(self.trace, np.array([event]))[0]
        return int(self.trace.columns.object[event]) if here else -1

    def _moment(self, at: Any, option: str = "at") -> int:
        """A cursor: this one, or the one that an argument says."""
        words = f"a number of events: 0 … {len(self.trace)}"
        given = self.cursor if at is None else at
        return whole(option, given, words, low=0, high=len(self.trace))

    def _thread(self, thread: Any) -> int:
        """A thread's row: the focused one's, or the one that an argument says."""
        if thread is None:
            return self.looking_at.thread
        last = len(self.trace.thread_rows) - 1
        words = f"a thread's number: 0 … {last}"
        number = getattr(thread, "number", thread)
        return whole("thread", number, words, low=0, high=last)

    def _is_alive(self, buffer: int) -> bool:
        entry = self.trace.buffers[buffer]
        return entry.alloc < self.cursor and not 0 <= entry.free < self.cursor
