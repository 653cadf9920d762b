"""The conditions of `events.where` as text: `kind="write", buffer="acc"`.

What a breakpoint holds and a filter box shows is exactly what stands between the
parentheses of the call. Only literals are read; nothing is executed.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import Any

from pallas_debug import errors
from pallas_debug.accepted import scalar

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
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, tuple | list):
        inner = ", ".join(map(_quoted, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return repr(scalar(value))
