"""Why a breakpoint stops nowhere, and what to try instead. It never refuses one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.trace import Kind, Trace
from pallas_debug.trace.query import called_from, stands_on
from pallas_debug.trace.wording import text_of

NOBODY = "no event meets it"
DROPS = "JAX drops code whose result nobody uses"
Find = Callable[..., np.ndarray]


def why(trace: Trace, conditions: Mapping[str, Any], find: Find) -> str:
    """What is missing, for conditions that no event meets.

    `find` gives the events that meet conditions.
    """
    if not len(trace):
        return f"{NOBODY}: nothing was recorded"
    given = {name: one for name, one in conditions.items() if one is not None}
    line = given.get("line")
    if (
        line is not None
        and not len(find(line=line))
        and not called_from(trace, line).any()
    ):
        return f"{NOBODY}: {_near(trace, line)}"
    if len(given) > 1:
        alone = ((one, len(find(**one))) for one in ({n: v} for n, v in given.items()))
        said = ", ".join(f"{text_of(one)} {count:,}" for one, count in alone)
        return f"no event meets all of it; events that meet one: {said}"
    if "finding" in given:
        return f"{NOBODY}: the checks found nothing"
    if "kind" in given:
        kinds = sorted(Kind(one).name.lower() for one in np.unique(trace.columns.kind))
        return f"{NOBODY}; kinds that were recorded: {', '.join(kinds)}"
    return NOBODY


def _near(trace: Trace, line: Any) -> str:
    """That a line has no events, and the nearest that have some."""
    file, _, text = str(line).rpartition(":")
    number, known = int(text), sorted(set(_places(trace)))
    near = [(name, n) for name, n in known if file in ("", name, PurePath(name).name)]
    if not near:
        files = ", ".join(sorted({PurePath(name).name for name, _ in known})) or "none"
        return f"nothing was recorded in {file}; files with events: {files}"
    below = [place for place in near if place[1] < number]
    above = [place for place in near if place[1] > number]
    least = lambda place: abs(place[1] - number)
    found = [min(some, key=least) for some in (below, above) if some]
    several = len({name for name, _ in near}) > 1
    said = " and ".join(
        f"{PurePath(name).name}:{n}" if several else str(n) for name, n in found
    )
    nothing = f"nothing was recorded on line {number} ({DROPS})"
    if any(_has(launch.kernel, line) for launch in trace.launches):
        nothing = f"line {number} only computes, or was not reached"
    return f"{nothing}; nearest lines with events: {said}"


def _has(kernel: ir.Kernel, line: Any) -> bool:
    """Whether a kernel has an instruction on a line."""
    return any(stands_on(kernel.loc_of(i), line) for i in range(len(kernel.tape)))


def _places(trace: Trace) -> Iterator[tuple[str, int]]:
    """Files and lines of the events."""
    for launch in trace.launches:
        events = slice(launch.first_event, launch.last_event)
        for instr in np.unique(trace.columns.instr[events]).tolist():
            loc = launch.kernel.loc_of(instr)
            if loc is not None:
                yield loc.file, loc.line
