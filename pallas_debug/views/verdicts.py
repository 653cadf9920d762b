"""Verdicts by block: what a grid is colored by. Findings are read, none is made."""

from __future__ import annotations

from typing import Any

import numpy as np

from pallas_debug.trace import Trace
from pallas_debug.views import text
from pallas_debug.views.bundle_schema import WORST

WOULD_ABORT = WORST.index("would abort")


def worst(trace: Trace, report: Any) -> dict[tuple[int, int], int]:
    """The worst finding of each block, as an index into `WORST`.

    A block is `(launch, linear number)`. A refusal without evidence is about the launch,
    so it is in all of its blocks.
    """
    found: dict[tuple[int, int], int] = {}
    for one in report.findings:
        # For a mode that was not asked for it is good to know, and no more.
        refusal = text.is_refusal(one) and str(one.severity) != "info"
        level = WOULD_ABORT if refusal else WORST.index(str(one.severity))
        places = set(_places(trace, one))
        if refusal and not one.events and 0 <= one.launch < len(trace.launches):
            launch = trace.launches[one.launch]
            part = trace.columns.block[launch.first_event : launch.last_event]
            places |= {(launch.number, int(block)) for block in np.unique(part)}
        for place in places:
            found[place] = max(found.get(place, 0), level)
    return found


def _places(trace: Trace, one: Any) -> list[tuple[int, int]]:
    """The blocks of a finding: its own, and those of its evidence."""
    columns = trace.columns
    places = [(int(columns.launch[e]), int(columns.block[e])) for e in one.events]
    if one.block is not None and 0 <= one.launch < len(trace.launches):
        launch = trace.launches[one.launch]
        places.append((launch.number, launch.linear(one.block)))
    return places
