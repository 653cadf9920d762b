"""The options that are accepted, and their words: what a shell or a notebook completes."""

from __future__ import annotations

from typing import Any

from pallas_debug.accepted import of_type
from pallas_debug.ir.chips import CHIPS
from pallas_debug.machine.options import Options
from pallas_debug.machine.schedules import SCHEDULES


def options_of(given: Any) -> Options:
    """The options that were given, or the defaults."""
    if given is None:
        return Options()
    return of_type("options", given, Options, 'an Options object: Options(chip="h100")')


def words_of(option: str) -> tuple[str, ...]:
    """The values of an option of a recording, where they are words; else none."""
    words = {"chip": CHIPS, "policy": SCHEDULES, **Options.ACCEPTED}
    return tuple(words.get(option, ()))
