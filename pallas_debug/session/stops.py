"""What a command answers: where the session stands now, and why there."""

from __future__ import annotations

from dataclasses import dataclass, field

from pallas_debug.session import display
from pallas_debug.session.breakpoints import Breakpoint
from pallas_debug.trace import Event, Trace


@dataclass(frozen=True, kw_only=True, repr=False)
class Stop:
    """The end of one command.

    Attributes:
      cursor: How many events have happened.
      why: What made it stop; `nothing further: …` where it did not move.
      breakpoint: The one that stopped it, None if none did.
      moved: Whether the cursor is another one than before.
    """

    cursor: int
    why: str = ""
    breakpoint: Breakpoint | None = None
    moved: bool = True
    trace: Trace = field(compare=False)

    @property
    def event(self) -> Event | None:
        """The event that has just happened, None before the first."""
        return self.trace[self.cursor - 1] if self.cursor else None

    def __str__(self) -> str:
        lines = [self.why] if self.why else []
        lines.append(display.position(self.trace, self.cursor))
        if self.event is not None and self.moved:
            lines += display.called(self.trace, self.cursor)
            lines += display.source(self.event.loc, 0)
        return "\n".join(lines)

    __repr__ = __str__
