"""The part of a session that stops: breakpoints, watchpoints, and the search for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pallas_debug import errors
from pallas_debug.accepted import flag, is_whole, of_type, one_of, scalar
from pallas_debug.accepted import text as words
from pallas_debug.machine.options import Options
from pallas_debug.session import breakpoints, conditions, entries, growing, unmet
from pallas_debug.session.breakpoints import WATCHED, Breakpoint, conditions_of
from pallas_debug.session.known import options_of
from pallas_debug.session.moves import NOTHING, Moves
from pallas_debug.session.replay import Replay
from pallas_debug.session.stops import Stop
from pallas_debug.trace import Trace, boxes, wording


class Stopping(Moves):
    """Moves that breakpoints end.

    Attributes:
      breakpoints: In the order in which they were set.
      replaying: Executes the launches again, for what the trace does not hold.
    """

    def __init__(
        self, trace: Trace, report: Any = None, *, options: Options | None = None
    ) -> None:
        super().__init__(trace, report)
        options = None if options is None else options_of(options)
        self.breakpoints: list[Breakpoint] = []
        self.replaying = Replay(trace, options)
        self._set = 0

    def find(self, text: str = "", /, **given: Any) -> np.ndarray:
        """Events that meet conditions: those of `trace.events.where`, and `finding`.

        The conditions may also be the text that stands between the parentheses.
        """
        given = {**conditions_of(text), **given}
        if "finding" in given:
            self.judged()
        return breakpoints.find(self.trace, self.report, given)

    def _stops_of(self, one: Breakpoint) -> np.ndarray:
        """Events at which a breakpoint can stop, its condition aside.

        On a line that calls a function these are the first ones of each execution.
        """
        find = lambda given: self.find(**given)
        return entries.stops(self.trace, conditions_of(one.where), find)

    def break_at(
        self,
        text: str = "",
        /,
        *,
        when: str = "",
        label: str = "",
        enabled: bool = True,
        **where: Any,
    ) -> Breakpoint:
        """Sets a breakpoint.

        Args:
          when: A Python expression over the thread's variables, e.g. `"acc.max() > 3"`.
          label: A name for the list.
          enabled: Whether it stops anybody yet.
          text: The conditions as text.
          where: Conditions on the event, as `trace.events.where` takes them, e.g.
            `line=41, block=(0, 0), nan=True`, `region=np.s_[0:64, 3]`.
        """
        where = {**conditions_of(text), **where}
        if where.get("region") is not None:
            where["region"] = self._part(where.get("buffer"), where["region"])
        when = words("when", when, conditions.ACCEPTED)
        if not where and not when.strip():
            accepted = "a condition, such as `line=41`, or `when`"
            raise errors.BadOption(
                option="break_at", value="nothing", accepted=accepted
            )
        return self.add(
            Breakpoint(
                id=0,
                where=wording.text_of(where),
                when=when,
                label=words("label", label),
                enabled=flag("enabled", enabled),
            )
        )

    def watch(
        self,
        buffer: Any,
        region: Any = None,
        *,
        on: str = "write",
        when: str = "",
        label: str = "",
    ) -> Breakpoint:
        """Stops where a part of a buffer is touched.

        Args:
          buffer: Name or number.
          region: The part: `[0, 1]`, `np.s_[0:4, 2]` or `"[0:4, 2]"`; None: all of it.
          on: `write`, `read`, or `change`: a write that makes a difference.
          when: As for `break_at`.
          label: As for `break_at`.
        """
        on = one_of("on", on, WATCHED)
        when = words("when", when, conditions.ACCEPTED)
        label = words("label", label)
        where: dict[str, Any] = {"kind": WATCHED[on]}
        where["buffer"] = getattr(buffer, "number", buffer)
        if region is not None:
            where["region"] = self._part(buffer, region)
        text = wording.text_of(where)
        change = on == "change"
        return self.add(
            Breakpoint(id=0, where=text, when=when, label=label, change=change)
        )

    def _part(self, buffer: Any, region: Any) -> str:
        """The text of a part; refused if no buffer of this name or number has it."""
        box = boxes.box_of(region)
        wanted = scalar(getattr(buffer, "number", buffer))
        known = wanted if isinstance(wanted, str) or is_whole(wanted) else None
        rows = enumerate(self.trace.buffer_rows)
        shapes = [row.shape for i, row in rows if known in (i, row.name)]
        if shapes:
            boxes.refuse_outside(box, [*dict.fromkeys(shapes)])
        return boxes.text_of(box)

    def add(self, one: Breakpoint) -> Breakpoint:
        """Adds a breakpoint; what it asks for is checked now."""
        one = of_type("breakpoint", one, Breakpoint, "a Breakpoint; or use break_at")
        met = len(self._stops_of(one))
        why = "" if met else unmet.why(self.trace, conditions_of(one.where), self.find)
        if one.when:
            asked = conditions.expression(self.trace, one.when)
            conditions.refuse_unknown(self.trace, asked)
        self._set = max([self._set, *(held.id for held in self.breakpoints)])
        made = replace(one, id=one.id or self._set + 1, unmet=why)
        self._set = max(self._set, made.id)
        self.breakpoints.append(made)
        self._tell()
        return made

    def delete(self, breakpoint: int | Breakpoint | None = None) -> None:
        """Deletes a breakpoint, or all."""
        self._change(breakpoint, lambda one: None)

    def enable(self, breakpoint: int | Breakpoint | None = None) -> None:
        """Enables a breakpoint, or all."""
        self._change(breakpoint, lambda one: replace(one, enabled=True))

    def disable(self, breakpoint: int | Breakpoint | None = None) -> None:
        """Disables a breakpoint, or all; it stays in the list."""
        self._change(breakpoint, lambda one: replace(one, enabled=False))

    def _change(
        self, wanted: Any, change: Callable[[Breakpoint], Breakpoint | None]
    ) -> None:
        number = getattr(wanted, "id", wanted)
        known = [one.id for one in self.breakpoints]
        if number is not None and not (is_whole(number) and int(number) in known):
            accepted = known or "none: there is no breakpoint"
            raise errors.BadOption(option="breakpoint", value=number, accepted=accepted)
        made = [
            change(one) if number in (None, one.id) else one for one in self.breakpoints
        ]
        self.breakpoints[:] = [one for one in made if one is not None]
        self._tell()

    def continue_(self) -> Stop:
        """To the next event at which a breakpoint stops, or to the end.

        At the end of a recording that was cut it records as many events again first.
        """
        if self.cursor == len(self.trace) and self.is_cut:
            self.record_more()
        return self._search(backwards=False)

    @property
    def is_cut(self) -> bool:
        """Whether there is more to record: the last launch had not ended."""
        return growing.is_cut(self.trace) and "diversion" not in self.trace.meta

    def record_more(self, events: int | None = None) -> Stop:
        """Records on where a recording was cut by a limit or by Ctrl-C.

        Args:
          events: How many more at most; as many again by default.
        """
        before = len(self.trace)
        self.extend(*growing.grown(self.trace, self.replaying, events))
        end = self.trace.launches[-1].outcome
        said = f": {end.message}" if end.message else ""
        count = len(self.trace) - before
        return self._stay(f"recorded {count:,} more events, {end.kind}{said}")

    def extend(self, trace: Trace, options: Options, report: Any = None) -> None:
        """Takes a trace that begins with this session's and has more."""
        self.replaying = self.replaying.grown(trace, options)
        self.trace, self.report = trace, report
        self._tell()

    def reverse_continue(self) -> Stop:
        """To the previous event at which a breakpoint stops, or to the beginning."""
        return self._search(backwards=True)

    def hit(
        self, cursor: int, given: Sequence[Breakpoint], *, backwards: bool = False
    ) -> breakpoints.Hit | None:
        """Where the next or previous stop is, seen from a cursor."""
        enabled = [(one, self._stops_of(one)) for one in given if one.enabled]
        return breakpoints.search(enabled, cursor, self._holds, backwards=backwards)

    def _search(self, *, backwards: bool) -> Stop:
        hit = self.hit(self.cursor, self.breakpoints, backwards=backwards)
        if hit is not None:
            return self._go(
                hit.event + 1, f"breakpoint {hit.breakpoint}", hit.breakpoint
            )
        word, more = "beginning" if backwards else "end", ""
        if not backwards and self.is_cut:
            word += f" of what was recorded ({self.trace.launches[-1].outcome.message})"
            more = "; continue_() records more"
        edge = 0 if backwards else len(self.trace)
        why = f"no breakpoint stops before the {word}"
        if self.cursor == edge:
            other = "continue_" if backwards else "reverse_continue"
            why = f"this is the {word}; {other}() goes the other way"
        why = f"{NOTHING}: {why}{more}"
        return self._stay(why) if self.cursor == edge else self._go(edge, why)

    def _holds(self, one: Breakpoint, events: Sequence[int]) -> Iterator[bool]:
        differ = breakpoints.changes(self.trace, one.where, events, self.replaying)
        left = (
            [e for e, d in zip(events, differ, strict=True) if d]
            if one.change
            else events
        )
        held = conditions.holding(self.trace, self.replaying, one.when, left)
        true = (
            {e for e, h in zip(left, held, strict=True) if h} if one.when else set(left)
        )
        return (event in true for event in events)
