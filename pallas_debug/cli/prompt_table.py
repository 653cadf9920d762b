"""The table of the prompt's commands: name → what it does, and what it says.

Names are those of `Session` in Python; the letters are the keys of the viewer, a capital
going the other way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Run = Callable[[Any, str], str]


class Quit(Exception):
    """The user leaves."""


@dataclass(frozen=True, kw_only=True)
class Command:
    """One command: what it does, its letter, how it is used and what for."""

    run: Run
    letter: str = ""
    usage: str = ""
    help: str


COMMANDS: dict[str, Command] = {}
ALIASES: dict[str, str] = {}
PDB = {"b": "break", "p": "print", "l": "list"}  # what pdb's letters mean with words


def command(name: str, letters: str = "", usage: str = "") -> Callable[[Run], Run]:
    """Adds a command; its help is the docstring of what it does."""

    def add(run: Run) -> Run:
        text = (run.__doc__ or "").partition("\n")[0]
        COMMANDS[name] = Command(run=run, letter=letters, usage=usage, help=text)
        ALIASES.update(dict.fromkeys(letters.split(), name))
        return run

    return add
