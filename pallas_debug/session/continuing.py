"""Records on for a page, in a thread of its own: the kernel and the page stay free.

One recording at a time. It ends at its limit, with the launch, or when it is told to
stop; whatever was recorded by then is kept.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from pallas_debug import errors
from pallas_debug.session import growing
from pallas_debug.session.session import Session
from pallas_debug.session.verbs import check

OFTEN = 0.3  # seconds between two words about the progress

Tell = Callable[[Mapping[str, Any]], None]


class Continuing:
    """Makes a session's recording longer.

    Args:
      session: Over the recording.
      lock: Held while the session gets its longer trace.
      tell: Told `{type: "recording", done, of}` now and then, and what went wrong.
    """

    def __init__(self, session: Session, lock: threading.RLock, tell: Tell) -> None:
        self._session = session
        self._lock = lock
        self._tell = tell
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._told = 0.0

    @property
    def is_running(self) -> bool:
        """Whether it records now."""
        return self._thread is not None and self._thread.is_alive()

    def start(self, events: int | None = None) -> None:
        """Begins, unless it records already."""
        if self.is_running:
            return
        if not self._session.is_cut:
            growing.refuse(self._session.trace)
        self._stop.clear()
        self._thread = threading.Thread(
            target=self._record, args=(events,), name="pallas_debug", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Ends it soon; what it has recorded stays."""
        self._stop.set()

    def join(self) -> None:
        """Waits until it has ended."""
        if self._thread is not None:
            self._thread.join()

    def _record(self, events: int | None) -> None:
        session = self._session
        try:
            made, options = growing.grown(
                session.trace, session.replaying, events, self._watched
            )
            report = check(made)
            with self._lock:
                session.extend(made, options, report)
        except errors.PallasDebugError as error:
            said = {"error": error.message, "hint": error.next_step}
            self._tell({"type": "recording", **said})
        except (
            Exception
        ) as error:  # nobody waits for a thread: the page must hear of it
            self._tell(
                {"type": "recording", "error": f"{type(error).__name__}: {error}"}
            )

    def _watched(self, done: int, of: int) -> None:
        if self._stop.is_set():
            raise KeyboardInterrupt
        now = time.monotonic()
        if now - self._told > OFTEN:
            self._told = now
            self._tell({"type": "recording", "done": done, "of": of})
