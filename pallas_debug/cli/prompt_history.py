"""Earlier lines of the prompt, kept from one session to the next."""

from __future__ import annotations

import contextlib
import os
import pathlib
from collections.abc import Iterator

MOST_LINES = 1000
# What ends a word that Tab completes; `-` does not, for `reverse-continue`.
DELIMITERS = " \t\n,=[]()\"'`"


def path() -> pathlib.Path:
    """The file, where programs keep such things."""
    home = os.environ.get("XDG_STATE_HOME") or pathlib.Path.home() / ".local" / "state"
    return pathlib.Path(home) / "pallas_debug" / "history"


@contextlib.contextmanager
def remembered() -> Iterator[None]:
    """Earlier lines come back by the arrow keys, and today's are kept."""
    try:
        import readline
    except ImportError:  # Windows has none; the prompt works without
        yield
        return
    readline.set_completer_delims(DELIMITERS)
    readline.clear_history()  # of the script that was recorded
    with contextlib.suppress(OSError):
        readline.read_history_file(path())
    try:
        yield
    finally:
        readline.set_history_length(MOST_LINES)
        with contextlib.suppress(OSError):  # a home that cannot be written to
            path().parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(path())
