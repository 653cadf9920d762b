"""Takes our own frames out of the tracebacks that a user sees."""

from __future__ import annotations

import contextlib
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


def _kept(entries: list[types.TracebackType]) -> Iterator[types.TracebackType]:
    """The entries that are not ours, nor those of a context manager of ours."""
    ours = [_is_ours(entry.tb_frame) for entry in entries]
    for number, entry in enumerate(entries):
        is_manager = entry.tb_frame.f_code.co_filename == contextlib.__file__
        beside = ours[max(number - 1, 0) : number + 2]
        if not ours[number] and not (is_manager and any(beside)):
            yield entry


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
        for entry in reversed([*_kept(_entries(link))]):
            kept = types.TracebackType(
                kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno
            )
        link.__traceback__ = kept
    return error
