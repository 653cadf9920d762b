"""The table of views and the decorator that adds to it.

A view is a pure function from a trace and its report to a file's contents. Each has a
name and a suffix of its own, so that a path says which view is meant.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, TypeVar

from pallas_debug.registry import Registry
from pallas_debug.trace import Trace

Draw = Callable[[Trace, Any], str | bytes]
D = TypeVar("D", bound=Draw)


@dataclass(frozen=True, kw_only=True)
class View:
    """A registered view: its name, the suffix of its files, and its function."""

    name: str
    suffix: str
    function: Draw


VIEWS: Registry[View] = Registry("view")
SUFFIXES: Registry[View] = Registry("view for files named")


def view(name: str, *, suffix: str) -> Callable[[D], D]:
    """Registers a view under its name and suffix; gives the function back unchanged.

    Args:
      name: What the view is called on the command line.
      suffix: How names of its files end, with the dot: `.json`, or `.perfetto.json`.
    """

    def register(function: D) -> D:
        entry = View(name=name, suffix=suffix, function=function)
        SUFFIXES.add(suffix, entry)
        VIEWS.add(name, entry)
        return function

    return register


def view_for(path: str | os.PathLike[str]) -> View:
    """The view that a file's name asks for, by the longest suffix that is known."""
    name = PurePath(path).name
    dots = (at for at, letter in enumerate(name) if letter == ".")
    ends = [name[at:] for at in dots]
    known = [end for end in ends if end in SUFFIXES]
    return SUFFIXES.get(known[0] if known else "".join(ends[-1:]) or name)
