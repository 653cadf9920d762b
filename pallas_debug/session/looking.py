"""The part of a session that looks: variables, memory, source, stacks, origins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pallas_debug import errors
from pallas_debug.accepted import flag, whole
from pallas_debug.machine.options import Options
from pallas_debug.session import conditions, display, navigation, origin
from pallas_debug.session.held import held
from pallas_debug.session.stopping import Stopping
from pallas_debug.session.variables import Variables, variables
from pallas_debug.trace import Trace, fold


class Looking(Stopping):
    """What there is to see at the cursor."""

    def __init__(
        self, trace: Trace, report: Any = None, *, options: Options | None = None
    ) -> None:
        super().__init__(trace, report, options=options)
        self._seen: dict[tuple[int, int], Variables] = {}

    @property
    def locals(self) -> Variables:
        """The variables of the focused thread here, by their Python names."""
        return self.variables()

    def variables(self, thread: int | None = None, at: int | None = None) -> Variables:
        """Variables of a thread at a cursor; marked where they have just changed."""
        at, number = self._moment(at), self._thread(thread)
        now = self._variables(number, at)
        if at != self.cursor or not self.previous > 0:
            return now
        same = self.trace.columns.launch[[at - 1, self.previous - 1]]
        return now.marked(
            self._variables(number, self.previous) if same[0] == same[1] else None
        )

    def _variables(self, thread: int, at: int) -> Variables:
        if not 0 < at <= len(self.trace) or thread < 0:
            return Variables({})
        key = (thread, at)
        if key not in self._seen:
            row = self.trace[at - 1]
            launch = self.trace.thread_rows[thread].launch
            if launch != row.launch.number:
                return Variables({})
            moment = self.replaying.moment(at - 1, thread)
            found = variables(self.trace, self.replaying, moment, thread, at)
            while len(self._seen) > 16:
                del self._seen[next(iter(self._seen))]
            self._seen[key] = found
        return self._seen[key]

    def evaluate(
        self, expression: str, *, thread: int | None = None, at: int | None = None
    ) -> Any:
        """The value of a Python expression over the variables here."""
        one = conditions.expression(self.trace, expression, "expression")
        at, thread = self._moment(at), self._thread(thread)
        if not at:
            accepted = f"1 … {len(self.trace)}: after an event; step() goes to one"
            raise errors.BadOption(option="at", value=at, accepted=accepted)
        here = lambda: self.variables(thread, at)
        conditions.refuse_unknown(self.trace, one, "expression", here)
        known = self.variables(thread, at) if one.names else {}
        return conditions.evaluate(self.trace, one, known, at - 1)

    def memory(self, buffer: Any, at: int | None = None) -> fold.Memory:
        """Contents of a buffer at the cursor: values, and which of them are set.

        A name means the buffer of the focused thread's device and block; where the
        current event uses another device's, as a remote copy does, it means that one.
        `focus(device=…)` looks at another device; a number or an entry of
        `trace.buffers` means exactly one, whatever the focus.
        """
        number = self._buffer(buffer)
        found = held(self.trace, self.replaying, number, self._moment(at))
        return fold.Memory(found.values, found.initialized)

    def contents(self, buffer: Any, part: Any = None) -> str:
        """Contents of a buffer, or of a part of it, at the cursor, in words."""
        number = self._buffer(buffer)
        memory = held(self.trace, self.replaying, number, self.cursor)
        return display.contents(self.trace, number, memory, part)

    def source(self, around: int = display.AROUND) -> str:
        """The source around the current line."""
        around = whole("around", around, "a number of lines", low=0)
        event = self.cursor - 1
        loc = self.trace[event].loc if event >= 0 else None
        if loc is None and self.looking_at.launch >= 0:
            loc = self.trace.launches[self.looking_at.launch].loc
        return "\n".join(display.source(loc, around))

    def where(
        self, thread: int | None = None, *, all: bool = False
    ) -> display.Stack | display.Stacks:
        """The stack of the focused thread by scopes and source lines, or of all."""
        if flag("all", all):
            events = display.last_events(self.trace, self.cursor)
            known = np.flatnonzero(events >= 0).tolist()
            return display.Stacks(
                display.stack(self.trace, self.cursor, t) for t in known
            )
        return display.stack(self.trace, self.cursor, self._thread(thread))

    def origin(
        self, what: Any = None, element: Sequence[int] | int | None = None
    ) -> origin.Origin:
        """Where a value came from, back to arguments, constants and unset memory.

        Args:
          what: An event, or the name of a variable or a buffer; the current event by
            default.
          element: Which element of a buffer, as for `last_write`.
        """
        if element is not None:
            number, place = self._element(what, element)
            written = navigation.last_write(self.trace, self.cursor, number, place)
            return origin.of_element(self.trace, self.replaying, number, written)
        if isinstance(what, str):
            number = self.looking_at.thread
            return origin.of_variable(
                self.trace, self.replaying, self.cursor, number, what
            )
        event = self.cursor - 1
        if what is not None:
            words = f"an event: 0 … {len(self.trace) - 1}, or a variable's name"
            seq, last = getattr(what, "seq", what), len(self.trace) - 1
            event = whole("what", seq, words, low=0, high=last)
        return origin.of_event(self.trace, self.replaying, event)
