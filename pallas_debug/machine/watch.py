"""When a run must stop although it could go on: limits, the clock, Ctrl-C.

Asked before each segment, so that a stop never cuts an instruction in two.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from typing import Any

from pallas_debug.machine.options import Options
from pallas_debug.trace.schema import Outcome

CHECK_EVERY = 256


class Watch:
    """The limits of one call of `advance`.

    Attributes:
      countdown: Segments until the clock and the progress are looked at again.
      events: Row number of the launch's first event that is too many.
    """

    def __init__(
        self, options: Options, first_event: int, interrupt: Interrupt
    ) -> None:
        self.options = options
        self.interrupt = interrupt
        self.countdown = CHECK_EVERY
        self.events = first_event + options.max_events
        seconds = options.max_seconds
        self.deadline = None if seconds is None else time.monotonic() + seconds

    def over(
        self, events: int, progress: Callable[[], tuple[int, int]]
    ) -> Outcome | None:
        """How the launch ends here, None to go on."""
        options = self.options
        if self.interrupt.hit:
            return Outcome(kind="interrupted", message="stopped by the user")
        if events >= self.events:
            text = f"max_events={options.max_events} reached"
            return Outcome(kind="truncated", message=text)
        if self.countdown > 0:
            return None
        self.countdown = CHECK_EVERY
        if self.deadline is not None and time.monotonic() > self.deadline:
            text = f"max_seconds={options.max_seconds} reached"
            return Outcome(kind="truncated", message=text)
        if callable(options.progress):
            options.progress(*progress())
        return None


class Interrupt:
    """Defers Ctrl-C to the end of a segment, so that the trace stays whole.

    The second one is not deferred. Without effect outside the main thread, which is
    the one that Python interrupts.
    """

    def __init__(self) -> None:
        self.hit = False
        self._old: Callable[..., Any] | int | None = None
        self._active = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> Interrupt:
        if self._active:
            self._old = signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, signum: int, frame: Any) -> None:
        if self.hit:
            raise KeyboardInterrupt
        self.hit = True

    def __exit__(self, *exc: object) -> None:
        # None stands for a handler that was not set from Python.
        if self._active and self._old is not None:
            signal.signal(signal.SIGINT, self._old)
