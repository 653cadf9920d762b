"""The shape of `export x.json` and of `--json`, and its JSON Schema.

    python -m pallas_debug.views.facts_schema > pallas_debug/views/facts.schema.json

Each field is declared once, here or where its values come from; a test fails when the
printed file is stale, and what is written is validated against it.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import sys
import types
import typing
from enum import StrEnum
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from pallas_debug.checks.finding import Severity
from pallas_debug.views import overview
from pallas_debug.views.bundle_schema import LocView, OutcomeView

FILE = Path(__file__).with_name("facts.schema.json")
DIALECT = "https://json-schema.org/draft/2020-12/schema"
SIMPLE: dict[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


class LaunchFacts(TypedDict):
    """A launch in numbers. `scalars` are the values of its scalar arguments."""

    name: str
    backend: str
    chip: str
    grid: list[int]
    cluster: list[int]
    threads: int
    loc: LocView | None
    outcome: OutcomeView
    scalars: dict[str, Any]
    counts: list[overview.Count]
    spaces: list[overview.Space]


class FindingFacts(TypedDict):
    """A verdict with its evidence: `calls` are the places where the functions around its
    line were called, innermost first, `threads` and `events` are numbers of the trace,
    `launch` is -1 where it is about none, `count` says how often it occurred, `cause` is
    the number of the finding in this list that it follows from.
    """

    code: str
    name: str
    severity: Severity
    message: str
    hint: str
    loc: LocView | None
    calls: list[LocView]
    launch: int
    threads: list[int]
    events: list[int]
    count: int
    buffer: str
    block: list[int] | None
    cause: int | None


class ScriptFacts(TypedDict):
    """How a script ended that a command ran: it returned, exited or raised."""

    how: str
    code: int
    error: NotRequired[str]


class ErrorFacts(TypedDict):
    """What stopped a recording; `code` is empty where it is no error of ours."""

    code: str
    message: str
    hint: str
    loc: LocView | None


class Facts(TypedDict):
    """What a run of pallas_debug found. `meta` says with which versions and options;
    a command adds how its script ended and what stopped it.
    """

    meta: dict[str, Any]
    launches: list[LaunchFacts]
    findings: list[FindingFacts]
    script: NotRequired[ScriptFacts]
    error: NotRequired[ErrorFacts]


def json_schema() -> dict[str, Any]:
    """The JSON Schema of `Facts`."""
    defs: dict[str, Any] = {}
    whole = _object(Facts, defs)
    return {"$schema": DIALECT, "title": "pallas_debug facts", **whole, "$defs": defs}


def schema_text() -> str:
    """The text of the published file."""
    return json.dumps(json_schema(), indent=2) + "\n"


def _object(kind: Any, defs: dict[str, Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    marked = typing.get_type_hints(kind, include_extras=True)
    needed = [n for n in hints if typing.get_origin(marked[n]) is not NotRequired]
    return {
        "description": " ".join((inspect.getdoc(kind) or "").split()),
        "type": "object",
        "properties": {name: _type(hint, defs) for name, hint in hints.items()},
        "required": needed,
        "additionalProperties": False,
    }


def _type(hint: Any, defs: dict[str, Any]) -> dict[str, Any]:
    """A Python type as a schema; objects become definitions."""
    if hint is Any:
        return {}
    if hint in SIMPLE:
        return {"type": SIMPLE[hint]}
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return {"anyOf": [_type(one, defs) for one in inner]}
    if origin in (list, tuple):
        return {"type": "array", "items": _type(inner[0], defs)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _type(inner[1], defs)}
    if issubclass(hint, StrEnum):
        return {"enum": [str(one) for one in hint]}
    assert dataclasses.is_dataclass(hint) or typing.is_typeddict(hint), hint
    name = str(getattr(hint, "__name__", hint))
    if name not in defs:
        defs[name] = {}  # it may refer to itself
        defs[name] = _object(hint, defs)
    return {"$ref": f"#/$defs/{name}"}


if __name__ == "__main__":
    sys.stdout.write(schema_text())
