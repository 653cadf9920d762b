"""Print the script with which bash, zsh or fish completes `pallas-debug`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from pallas_debug import errors
from pallas_debug.cli import codes, demo, explain, output
from pallas_debug.gallery import ENTRIES
from pallas_debug.session.known import words_of

SHELLS = ("bash", "zsh", "fish")
# Where a file may stand; elsewhere a shell offers the names that argparse accepts.
FILES = ("target", "trace", "output", "save", "baseline", "write_baseline")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    output.add_json(parser)
    parser.add_argument("shell", choices=SHELLS, help="the shell that reads the script")


def run(arguments: argparse.Namespace) -> int:
    """Prints the script."""
    try:
        import shtab
    except ImportError:
        raise errors.NotInstalled(
            package="shtab", purpose="shell completion", extra="completion"
        ) from None
    from pallas_debug import cli

    top = cli.parser()
    _fill(top, shtab.FILE)
    script = shtab.complete(top, shell=arguments.shell)
    facts = {"shell": arguments.shell, "script": script}
    output.say(script, facts, arguments)
    return codes.CLEAN


def _fill(parser: argparse.ArgumentParser, file: Any) -> None:
    """Says of each argument what may stand there: a file, or names that are known."""
    names = {"code": tuple(explain.pages()), "name": (demo.SHIPPED, *ENTRIES)}
    for action in parser._actions:
        if isinstance(action.choices, Mapping):  # the commands
            for sub in action.choices.values():
                _fill(sub, file)
        elif action.dest in names:
            action.choices = names[action.dest]
        elif words_of(action.dest):
            action.choices = words_of(action.dest)
        elif action.dest in FILES:
            action.complete = file  # type: ignore[attr-defined]
