"""The conditions of `events.where` as text: `kind="write", buffer="acc"`.

What a breakpoint holds and a filter box shows is exactly what stands between the
parentheses of the call. Only literals are read; nothing is executed.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping, Set
from typing import Any, cast

from pallas_debug import errors
from pallas_debug.accepted import scalar
from pallas_debug.trace.schema import Kind

ACCEPTED = 'conditions with literal values: kind="write", buffer="acc", block=(0, 1)'


def conditions(text: str) -> dict[str, Any]:
    """The conditions that a text says; refused if it is anything but literals."""
    try:
        call = ast.parse(f"where({text})", mode="eval").body
        assert isinstance(call, ast.Call)
        if call.args or (call.end_col_offset or 0) != len(f"where({text})".encode()):
            raise ValueError
        found = {one.arg: ast.literal_eval(one.value) for one in call.keywords}
    except (SyntaxError, ValueError, AssertionError, TypeError, RecursionError):
        raise errors.BadOption(option="where", value=text, accepted=ACCEPTED) from None
    if None in found or len(found) < len(call.keywords):  # `**`, or said twice
        raise errors.BadOption(option="where", value=text, accepted=ACCEPTED)
    return {str(name): value for name, value in found.items()}


def text_of(given: Mapping[str, Any]) -> str:
    """The text of some conditions; those that are None are left out."""
    return ", ".join(
        f"{name}={_quoted(value)}" for name, value in given.items() if value is not None
    )


def _quoted(value: Any) -> str:
    """A value as a literal: entries of the trace's tables are their numbers."""
    value = scalar(getattr(value, "number", value))
    if isinstance(value, Kind):
        value = value.name.lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Iterable) and not isinstance(value, bytes | Mapping):
        words = list(map(_quoted, cast("Iterable[Any]", value)))
        words = sorted(words) if isinstance(value, Set) else words
        return f"({words[0]},)" if len(words) == 1 else f"({', '.join(words)})"
    return repr(value)
