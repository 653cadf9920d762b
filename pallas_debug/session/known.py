"""The words that options accept: what a shell or a notebook completes."""

from __future__ import annotations

from pallas_debug.ir.chips import CHIPS
from pallas_debug.machine.options import Options
from pallas_debug.machine.schedules import SCHEDULES


def words_of(option: str) -> tuple[str, ...]:
    """The values of an option of a recording, where they are words; else none."""
    words = {"chip": CHIPS, "policy": SCHEDULES, **Options.ACCEPTED}
    return tuple(words.get(option, ()))
