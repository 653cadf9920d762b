"""The summary and the findings as plain data: what `--json` prints."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from pallas_debug.trace import Trace
from pallas_debug.views import overview
from pallas_debug.views.bundle_schema import LocView
from pallas_debug.views.view import view as exported

if TYPE_CHECKING:
    from pallas_debug.views.facts_schema import Facts, FindingFacts, LaunchFacts


def facts(trace: Trace, report: Any, family: str = "") -> dict[str, Any]:
    """Launches and findings (of one family, where that is given), ready for JSON."""
    kept = [one for one in report.findings if one.code.startswith(family)]
    number = {id(one): n for n, one in enumerate(kept)}
    found: Facts = {
        "meta": plain(trace.meta),
        "launches": [_launch(view) for view in overview.overviews(trace)],
        "findings": [_finding(one, number.get(id(one.cause))) for one in kept],
    }
    return dict(found)


@exported("json", suffix=".json")
def json_text(trace: Trace, report: Any) -> str:
    """The facts as the text of a JSON file."""
    return json.dumps(facts(trace, report), indent=1)


def plain(value: Any) -> Any:
    """A value as JSON knows it; what it does not know becomes text."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}  # type: ignore
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]  # type: ignore
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    return str(value)


def plain_loc(loc: Any) -> LocView | None:
    """A place as JSON, None where there is none."""
    if not loc:
        return None
    return {
        "file": loc.file,
        "line": loc.line,
        "function": loc.function,
        "text": loc.excerpt,
    }


def _launch(view: overview.Overview) -> LaunchFacts:
    launch = view.launch
    return {
        "name": launch.name,
        "backend": launch.backend,
        "chip": launch.chip,
        "grid": plain(launch.grid),
        "cluster": plain(launch.cluster),
        "threads": launch.threads,
        "loc": plain_loc(launch.loc),
        "outcome": {"kind": launch.outcome.kind, "message": launch.outcome.message},
        "scalars": plain(launch.scalars),
        "counts": [plain(asdict(count)) for count in view.counts],
        "spaces": [plain(asdict(space)) for space in view.spaces],
    }


def _finding(one: Any, cause: int | None) -> FindingFacts:
    return {
        "code": one.code,
        "name": one.name,
        "severity": one.severity,
        "message": one.message,
        "hint": one.hint,
        "loc": plain_loc(one.loc),
        "calls": [place for site in one.calls if (place := plain_loc(site))],
        "launch": plain(one.launch),
        "threads": plain(tuple(one.threads)),
        "events": plain(tuple(one.events)),
        "count": one.count,
        "buffer": one.buffer,
        "block": plain(one.block),
        "cause": cause,
    }
