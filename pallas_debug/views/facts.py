"""The summary and the findings as plain data: what `--json` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from pallas_debug.trace import Trace
from pallas_debug.views import overview


def facts(trace: Trace, report: Any, family: str = "") -> dict[str, Any]:
    """Launches and findings (of one family, where that is given), ready for JSON."""
    return {
        "meta": plain(trace.meta),
        "launches": [_launch(view) for view in overview.overviews(trace)],
        "findings": [
            _finding(one) for one in report.findings if one.code.startswith(family)
        ],
    }


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


def _loc(loc: Any) -> dict[str, Any] | None:
    if not loc:
        return None
    return {
        "file": loc.file,
        "line": loc.line,
        "function": loc.function,
        "text": loc.excerpt,
    }


def _launch(view: overview.Overview) -> dict[str, Any]:
    launch = view.launch
    return {
        "name": launch.name,
        "backend": launch.backend,
        "chip": launch.chip,
        "grid": plain(launch.grid),
        "cluster": plain(launch.cluster),
        "threads": launch.threads,
        "loc": _loc(launch.loc),
        "outcome": {"kind": launch.outcome.kind, "message": launch.outcome.message},
        "scalars": plain(launch.scalars),
        "counts": [plain(asdict(count)) for count in view.counts],
        "spaces": [plain(asdict(space)) for space in view.spaces],
    }


def _finding(one: Any) -> dict[str, Any]:
    return {
        "code": one.code,
        "name": one.name,
        "severity": str(one.severity),
        "message": one.message,
        "hint": one.hint,
        "loc": _loc(one.loc),
        "launch": plain(one.launch),
        "threads": plain(tuple(one.threads)),
        "events": plain(tuple(one.events)),
        "count": one.count,
        "buffer": one.buffer,
        "block": plain(one.block),
    }
