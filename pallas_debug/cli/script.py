"""Runs somebody's script as `__main__` without losing what it did, however it ends.

A script may return, raise, call `sys.exit`, or call `os._exit` from any thread. The
last one ends the process at once, so it is replaced while the script runs: the
recording is closed and reported first, and then the process ends as the script wished.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import runpy
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from pallas_debug import tracebacks


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a script ended.

    Attributes:
      how: `returned`, `sys.exit`, `os._exit`, `raised`, `interrupted`, or `stopped`: by
        what stopped its recording.
      code: The exit code that Python would have given.
      raised: The script's own exception, not shown yet; None if there was none.
    """

    how: str = "returned"
    code: int = 0
    raised: Exception | None = field(default=None, compare=False)

    @property
    def error(self) -> str:
        """The exception in one line; empty if there was none."""
        if self.raised is None:
            return ""
        return f"{type(self.raised).__name__}: {self.raised}"

    @property
    def failed(self) -> bool:
        """Whether Python itself would report a failure."""
        return self.code != 0

    def __str__(self) -> str:
        if self.error:
            return f"the script {self.how} {self.error}"
        if self.how in ("interrupted", "stopped"):
            return f"the script was {self.how}"
        return f"the script ended by {self.how} with code {self.code}"


INTERRUPTED = Ending(how="interrupted", code=130)
STOPPED = Ending(how="stopped", code=1)


def exit_code(stop: SystemExit) -> int:
    """The process's code of a SystemExit; a text is printed, as Python does."""
    if stop.code is None or isinstance(stop.code, int):
        return stop.code or 0
    print(stop.code, file=sys.stderr)
    return 1


@contextlib.contextmanager
def as_main(path: pathlib.Path, words: Sequence[str]) -> Iterator[None]:
    """`sys.argv` and `sys.path` as `python path words…` would set them."""
    argv, search = sys.argv[:], sys.path[:]
    sys.argv = [str(path), *words]
    sys.path.insert(0, str(path.parent))
    try:
        yield
    finally:
        sys.argv, sys.path[:] = argv, search


@contextlib.contextmanager
def reported_exit(report: Callable[[Ending, bool], int]) -> Iterator[None]:
    """Lets `report` speak before any `os._exit` of this process.

    Args:
      report: Called with the ending and with whether this is the main thread; returns
        the code to exit with.
    """
    real, process = os._exit, os.getpid()

    def replaced(status: int) -> NoReturn:
        if os.getpid() != process:  # a forked child has its own end
            real(status)
        os._exit = real
        is_main = threading.current_thread() is threading.main_thread()
        try:
            code = report(Ending(how="os._exit", code=status), is_main)
        except BaseException:
            traceback.print_exc()
            code = status or 1
        sys.stdout.flush()
        sys.stderr.flush()
        real(code)

    os._exit = replaced
    try:
        yield
    finally:
        os._exit = real


def run(path: pathlib.Path, words: Sequence[str]) -> Ending:
    """Runs the script to its end, which is told and not raised."""

    def as_script() -> None:
        with as_main(path, words):
            runpy.run_path(str(path), run_name="__main__")

    return ending(as_script)


def ending(call: Callable[[], Any]) -> Ending:
    """Calls something of the user's; tells how it ended."""
    try:
        call()
    except SystemExit as stop:
        return Ending(how="sys.exit", code=exit_code(stop))
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        return Ending(how="raised", code=1, raised=error)
    return Ending()


def _starts_scripts(file: str) -> bool:
    return "runpy" in file or "importlib" in file


def show(error: BaseException) -> None:
    """Prints a traceback that begins in the script."""
    tracebacks.trim(error)
    entry: Any = error.__traceback__
    while entry and _starts_scripts(entry.tb_frame.f_code.co_filename):
        entry = entry.tb_next
    traceback.print_exception(type(error), error, entry)
