"""What stands behind a command of the prompt, read into values."""

from __future__ import annotations

import ast
import re
from typing import Any

from pallas_debug import errors
from pallas_debug.session import parts
from pallas_debug.session.breakpoints import conditions_of

IF = re.compile(r"(.*?)\s*(?:\bif\b\s*(.*))?$", re.DOTALL)
APART = re.compile(r"(?<=[\w)\]\"'])\s+(?=\w+=)")


def nothing(name: str, rest: str) -> None:
    """Refuses words behind a command that takes none."""
    if rest:
        raise errors.BadOption(option=name, value=rest, accepted="nothing after it")


def integer(name: str, text: str) -> int:
    """A number, as the command prints it or plain."""
    try:
        return int(text.replace(",", "").lstrip("#"))
    except ValueError:
        raise errors.BadOption(option=name, value=text, accepted="a number") from None


def part(prompt: Any, text: str) -> tuple[Any, str | None]:
    """A buffer's name or number, and the part that stands behind it."""
    name, rest = parts.split(prompt.session.trace, text)
    if not name:
        raise errors.BadOption(
            option="buffer", value=text, accepted="a buffer such as `acc` or `acc[0:4]`"
        )
    return (int(name) if name.isdigit() else name), rest


def split_if(text: str) -> tuple[str, str]:
    """What stands before and behind `if`."""
    found = IF.match(text)
    assert found is not None, "the pattern matches everything"
    return found.group(1).strip(), (found.group(2) or "").strip()


def where_of(text: str) -> tuple[dict[str, Any], str]:
    """Conditions, and the expression behind `if`; a line may stand alone."""
    where, when = split_if(text)
    if where.isdigit():
        return {"line": int(where)}, when
    if re.fullmatch(r"\S+\.py:\d+", where):
        return {"line": where}, when
    return conditions_of(where), when


def literals(text: str) -> dict[str, Any]:
    """`a=1 b=(0, 1)` or with commas: names and literal values."""
    return conditions_of(APART.sub(", ", text))


def value_of(text: str) -> Any:
    """A number, `nan`, or a list of numbers."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        pass
    try:
        return float(text)  # nan, inf
    except ValueError:
        raise errors.BadOption(
            option="value", value=text, accepted="a number, or a list of numbers"
        ) from None
