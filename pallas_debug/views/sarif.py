"""Findings as SARIF 2.1.0, the format that code hosts and editors read.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/ names the fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pallas_debug.trace import Trace
from pallas_debug.views.view import view as exported

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}


@exported("sarif", suffix=".sarif")
def sarif(trace: Trace, report: Any) -> str:
    """One run with a rule for each code and a result for each finding.

    A result's `properties` number the result that it follows from.
    """
    everything = (*report.findings, *report.suppressed)
    rules = {one.code: one.name for one in everything}
    suppressed = set(map(id, report.suppressed))
    driver = {
        "name": "pallas_debug",
        "version": str(trace.meta.get("pallas_debug", "")),
        "rules": [{"id": code, "name": rules[code]} for code in sorted(rules)],
    }
    number = {id(one): n for n, one in enumerate(everything)}
    results = [
        _result(one, id(one) in suppressed, number.get(id(one.cause)))
        for one in everything
    ]
    run = {"tool": {"driver": driver}, "results": results}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)


def _result(one: Any, suppressed: bool, cause: int | None) -> dict[str, Any]:
    text = said(one)
    found: dict[str, Any] = {
        "ruleId": one.code,
        "level": LEVELS.get(str(one.severity), "note"),
        "message": {"text": text},
        "occurrenceCount": max(one.count, 1),
    }
    places = list(_places(one.loc, one.other))
    if places:
        found["locations"] = places[:1]
        found["relatedLocations"] = places[1:]
    if one.calls:
        frames = [{"location": frame} for frame in _places(one.loc, *one.calls)]
        found["stacks"] = [{"frames": frames}]
    if cause is not None:  # SARIF has no field for it
        found["properties"] = {"followsFrom": cause}
    if suppressed:
        found["suppressions"] = [{"kind": "inSource"}]
    return found


def said(one: Any) -> str:
    """The message with what it follows from, or else with the way out."""
    lines = [one.message, one.called]
    if one.cause is not None:
        lines.append(f"follows from {one.cause.named}")
    elif one.hint:
        lines.append(f"try: {one.hint}")
    return "\n".join(filter(None, lines))


def _places(*locs: Any) -> Iterator[dict[str, Any]]:
    for loc in locs:
        if loc:
            region = {"startLine": loc.line, "startColumn": loc.column + 1}
            uri = {"uri": address(loc.file)}
            yield {"physicalLocation": {"artifactLocation": uri, "region": region}}


def address(file: str) -> str:
    """A path as seen from the working folder where it lies below it."""
    path = Path(file)
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()
