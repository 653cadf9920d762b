"""Prints the TypeScript side of the trace's and the bundle's schema.

    python -m pallas_debug.views.typescript > js_widgets/src/schema.gen.ts

The page reads what Python writes; a test fails when the printed file is stale.
"""

from __future__ import annotations

import inspect
import json
import sys
import types
import typing
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Any

from pallas_debug.trace import clocks, schema
from pallas_debug.views import bundle_schema

HEAD = "// Printed by `python -m pallas_debug.views.typescript`. Do not edit."
SIMPLE = {str: "string", int: "number", float: "number", bool: "boolean"}


def schema_text() -> str:
    """The whole module."""
    parts = [
        HEAD,
        f"export const FORMAT = {schema.FORMAT};\n"
        f"export const VIEW_FORMAT = {bundle_schema.VIEW_FORMAT};",
        _enum("Kind", schema.Kind, schema.KIND_MEANINGS),
        _enum("RegionKind", schema.RegionKind, schema.REGION_MEANINGS),
        _columns("COLUMNS", schema.COLUMNS),
        _columns("DERIVED", schema.DERIVED),
        _row("ThreadRow", schema.ThreadRow),
        _row("BufferRow", schema.BufferRow),
        _words("EDGE_KINDS", clocks.EDGE_KINDS),
        _words("SPAN_KINDS", bundle_schema.SPAN_KINDS),
        _words("WORST", bundle_schema.WORST),
        _arrays(),
        *map(_interface, bundle_schema.TYPES),
    ]
    return "\n\n".join(parts) + "\n"


def _comment(text: str, indent: str = "") -> str:
    return f"{indent}/** {' '.join(text.split())} */"


def _enum(name: str, enum: type[IntEnum], meanings: Any) -> str:
    lines = [f"export const {name} = {{"]
    for one in enum:
        lines += [_comment(meanings[one], "  "), f"  {one.name}: {one.value},"]
    return "\n".join([*lines, "} as const;"])


def _columns(name: str, columns: Iterable[schema.Column]) -> str:
    lines = [f"export const {name} = ["]
    for column in columns:
        meaning = f"{column.meaning} ({column.dtype})"
        lines += [_comment(meaning, "  "), f"  {json.dumps(column.name)},"]
    return "\n".join([*lines, "] as const;"])


def _row(name: str, row: Any) -> str:
    """A row's fields: integers are arrays of the file, others are interned."""
    kinds = row.__annotations__
    fields = [(n, getattr(kinds[n], "__forward_arg__", kinds[n])) for n in row._fields]
    integers = [field for field, kind in fields if kind == "int"]
    others = [field for field, kind in fields if kind != "int"]
    return "\n".join(
        [
            _comment(f"{(row.__doc__ or '').splitlines()[0]} Integers, then interned."),
            _words(f"{name}Integers", integers),
            _words(f"{name}Interned", others),
        ]
    )


def _words(name: str, words: Iterable[str]) -> str:
    inner = ", ".join(json.dumps(word) for word in words)
    return f"export const {name} = [{inner}] as const;"


def _arrays() -> str:
    lines = ["export const VIEW_ARRAYS = ["]
    for name, meaning in bundle_schema.VIEW_ARRAYS.items():
        lines += [_comment(meaning, "  "), f"  {json.dumps(name)},"]
    return "\n".join([*lines, "] as const;"])


def _interface(kind: Any) -> str:
    hints = typing.get_type_hints(kind)
    doc = inspect.getdoc(kind) or ""
    fields = [f"  readonly {name}: {_type(hint)};" for name, hint in hints.items()]
    head = f"export interface {kind.__name__} {{"
    return "\n".join([_comment(doc), head, *fields, "}"])


def _type(hint: Any) -> str:
    """A Python type as TypeScript's."""
    if hint in SIMPLE:
        return SIMPLE[hint]
    if hint is Any:
        return "unknown"
    if hint is type(None):
        return "null"
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return " | ".join(_alternatives(inner))
    if origin is list:
        element = _type(inner[0])
        return f"readonly ({element})[]" if " " in element else f"readonly {element}[]"
    if origin is dict:
        return f"Readonly<Record<string, {_type(inner[1])}>>"
    return hint.__name__


def _alternatives(hints: Iterable[Any]) -> Iterator[str]:
    yield from dict.fromkeys(_type(hint) for hint in hints)


if __name__ == "__main__":
    sys.stdout.write(schema_text())
