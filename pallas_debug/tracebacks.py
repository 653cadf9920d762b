"""Takes our own frames out of the tracebacks that a user sees."""

from __future__ import annotations

import os
import pathlib
import types
from collections.abc import Iterator
from typing import TypeVar

FULL_TRACEBACK = "PALLAS_DEBUG_FULL_TRACEBACK"

ErrorT = TypeVar("ErrorT", bound=BaseException)

_HOME = str(pathlib.Path(__file__).parent) + os.sep


def _is_ours(frame: types.FrameType) -> bool:
    return frame.f_code.co_filename.startswith((_HOME, "<pallas_debug"))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it came from, each once."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def _entries(error: BaseException) -> list[types.TracebackType]:
    found: list[types.TracebackType] = []
    entry = error.__traceback__
    while entry is not None:
        found.append(entry)
        entry = entry.tb_next
    return found


def trim(error: ErrorT) -> ErrorT:
    """Takes our frames out of `error` and out of what caused it, and returns it.

    The environment variable PALLAS_DEBUG_FULL_TRACEBACK=1 keeps them.
    """
    if os.environ.get(FULL_TRACEBACK, "0") not in ("", "0"):
        return error
    for link in _chain(error):
        kept: types.TracebackType | None = None
        for entry in reversed(_entries(link)):
            if not _is_ours(entry.tb_frame):
                kept = types.TracebackType(
                    kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno
                )
        link.__traceback__ = kept
    return error
