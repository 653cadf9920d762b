"""Arguments as a public function accepts them; anything else is one clear error.

Each function gives the argument back in its plain form: NumPy's and JAX's scalars become
Python's. It knows the errors only, so that every layer may ask at its doors.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable
from typing import Any, SupportsFloat, TypeVar

from pallas_debug.errors import BadOption

T = TypeVar("T")


def whole(
    option: str,
    value: Any,
    accepted: str = "a whole number",
    *,
    low: int | None = None,
    high: int | None = None,
) -> int:
    """An integer of whatever type, not below `low` and not above `high`."""
    if not is_whole(value):
        raise BadOption(option=option, value=value, accepted=accepted)
    number = operator.index(value)
    if (low is not None and number < low) or (high is not None and number > high):
        raise BadOption(option=option, value=value, accepted=accepted)
    return number


def is_whole(value: Any) -> bool:
    """Whether a value is an integer, of whatever type; yes and no are none."""
    if isinstance(value, bool):
        return False
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def scalar(value: Any) -> Any:
    """A scalar of NumPy or JAX, also an array of rank 0, as Python's; all else as it is."""
    item = getattr(value, "item", None)
    is_scalar = callable(item) and getattr(value, "shape", None) == ()
    return value.item() if is_scalar else value


def flag(option: str, value: Any) -> bool:
    """Yes or no; an array of rank 0 is one, of any other rank none."""
    plain = scalar(value)
    if not isinstance(plain, int | float) or plain not in (False, True):
        raise BadOption(option=option, value=value, accepted=(True, False))
    return bool(plain)


def real(option: str, value: Any, accepted: str, *, low: float) -> float:
    """A number of whatever type, not below `low` and not NaN."""
    is_text = isinstance(value, str | bytes) or not isinstance(value, SupportsFloat)
    try:
        number = float("nan") if is_text else float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not number >= low:
        raise BadOption(option=option, value=value, accepted=accepted)
    return number


def one_of(option: str, value: Any, words: Iterable[str]) -> str:
    """One of some words; another is refused with the nearest."""
    known = tuple(words)
    if not isinstance(value, str) or value not in known:
        raise BadOption(option=option, value=value, accepted=known)
    return value


def of_type(option: str, value: Any, kind: type[T], accepted: str) -> T:
    """A value of a type."""
    if not isinstance(value, kind):
        raise BadOption(option=option, value=value, accepted=accepted)
    return value


def text(option: str, value: Any, accepted: str = "a text") -> str:
    """A text."""
    return of_type(option, value, str, accepted)


def file_path(value: Any, accepted: str = "the path of a file") -> str:
    """The path of a file, as text."""
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        raise BadOption(option="path", value=value, accepted=accepted)
    return os.fsdecode(value)


def keywords(function: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuses the first keyword that a function does not know."""
    words = tuple(known)
    for name in given:
        if name not in words:
            raise BadOption(option=function, value=name, accepted=words)
