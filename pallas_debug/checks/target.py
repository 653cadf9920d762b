"""The chips a launch is judged for.

The one that the user chose; where nobody chose, every chip of the backend: then a limit
is broken only if no chip keeps it.
"""

from __future__ import annotations

from pallas_debug import errors
from pallas_debug.ir.chips import CHIPS, Chip, chip
from pallas_debug.trace.tables import RecordedLaunch
from pallas_debug.trace.trace import Trace

BACKENDS = {"mosaic_gpu": "gpu", "triton": "gpu", "tpu": "tpu"}


def is_chosen(trace: Trace) -> bool:
    """Whether somebody said which chip is meant."""
    return bool(trace.meta.get("options", {}).get("chip"))


def chips_of(trace: Trace, launch: RecordedLaunch) -> tuple[Chip, ...]:
    """The chips to judge by; none for a kernel that is meant for no chip."""
    backend = BACKENDS.get(launch.backend)
    if backend is None:
        return ()
    if not is_chosen(trace):
        return tuple(one for one in CHIPS.values() if one.backend == backend)
    try:
        chosen = chip(launch.chip)
    except errors.BadOption:  # a file from a later version
        return ()
    return (chosen,) if chosen.backend == backend else ()


def named(chips: tuple[Chip, ...]) -> str:
    """`h100`, or `no gpu that we know` behind a `fits`."""
    return (
        chips[0].name if len(chips) == 1 else f"every {chips[0].backend} that we know"
    )
