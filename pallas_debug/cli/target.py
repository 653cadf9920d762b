"""What a user may name: a script, `file.py:function`, `module:function`, a trace."""

from __future__ import annotations

import argparse
import importlib
import inspect
import pathlib
import runpy
import sys
from collections.abc import Callable
from typing import Any

import pallas_debug
from pallas_debug import errors
from pallas_debug.cli import codes, output, script

FUNCTION = "file.py:function or module:function"
WANTED = f"script.py, {FUNCTION}"
SUFFIX = ".pldb"


def run_or_load(
    arguments: argparse.Namespace,
    *,
    run: Callable[[Callable[[], script.Ending]], int],
    load: Callable[[Any], int],
) -> int:
    """Finds out what the target is.

    Args:
      arguments: With `target` and `words`.
      run: Gets what runs a script or a function and tells how it ended.
      load: Gets the trace of a file.

    Returns:
      The exit code: that of what was called, or that the user's file failed.
    """
    text = arguments.target
    refuse_missing(text)
    if is_trace(text):
        output.take_options(arguments)
        return load(pallas_debug.load(text))
    path = script_path(text)
    if path is not None:
        output.warn_of_ours(arguments)
        return run(lambda: script.run(path, arguments.words))
    output.take_options(arguments)
    return with_function(arguments, lambda call: run(lambda: script.ending(call)))


def with_function(
    arguments: argparse.Namespace, run: Callable[[Callable[[], Any]], int]
) -> int:
    """Gives `run` what calls the target, unless the user's file failed already."""
    try:
        found = function(arguments.target)
    except errors.PallasDebugError:
        raise
    except Exception as error:  # of the user's file
        script.show(error)
        output.say_error(error, arguments)
        return codes.SCRIPT_FAILED
    return run(lambda: called(found))


def script_path(text: str) -> pathlib.Path | None:
    """The script that `text` names, None where it names a function."""
    path = pathlib.Path(text)
    if path.is_file():
        return path.resolve()
    if text.endswith(".py"):
        raise errors.BadOption(
            option="target", value=text, accepted="a file that exists"
        )
    return None


def is_trace(text: str) -> bool:
    """Whether `text` names a saved trace."""
    return text.endswith(SUFFIX) and pathlib.Path(text).is_file()


def saved(text: str) -> Any:
    """The trace in a file, which must exist; its name may end in anything."""
    if not pathlib.Path(text).is_file():
        raise errors.BadOption(
            option="trace", value=text, accepted="a file that exists"
        )
    return pallas_debug.load(text)


def refuse_missing(text: str) -> None:
    """Says that a saved trace is not there."""
    if text.endswith(SUFFIX) and not pathlib.Path(text).is_file():
        raise errors.BadOption(
            option="target", value=text, accepted=f"a file that exists; {text} does not"
        )


def refuse_trace(text: str) -> None:
    """Says what to do with a saved trace that was given as a script."""
    if is_trace(text):
        raise errors.BadOption(
            option="script",
            value=text,
            accepted=f"a Python file; for a trace, `pallas-debug view {text}`",
        )


def function(text: str) -> Callable[[], Any]:
    """The function that `text` names; it must be callable without arguments."""
    home, _, name = text.rpartition(":")
    if not home or not name.isidentifier():
        raise errors.BadOption(option="target", value=text, accepted=FUNCTION)
    names = _names_of_file(home) if home.endswith(".py") else _names_of_module(home)
    if name not in names:
        known = [n for n, value in names.items() if inspect.isfunction(value)]
        raise errors.BadOption(option="target", value=name, accepted=known or FUNCTION)
    found = names[name]
    if not callable(found) or _needs_arguments(found):
        raise errors.BadOption(
            option="target",
            value=text,
            accepted="a function without arguments that launches the kernel, "
            "or returns `(fn, args)`",
        )
    return found


def called(found: Callable[[], Any]) -> Any:
    """Calls the function, and what it returns if that is `(fn, args[, kwargs])`."""
    result = found()
    if isinstance(result, tuple) and len(result) in (2, 3) and callable(result[0]):
        return result[0](*result[1], **(result[2] if len(result) == 3 else {}))
    return result


def _names_of_file(text: str) -> dict[str, Any]:
    path = script_path(text)
    assert path is not None, "a name with .py is a file or raised"
    sys.path.insert(0, str(path.parent))
    return runpy.run_path(str(path), run_name=path.stem)


def _names_of_module(text: str) -> dict[str, Any]:
    sys.path.insert(0, str(pathlib.Path.cwd()))
    try:
        return vars(importlib.import_module(text))
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != text.partition(".")[0]:
            raise
        raise errors.BadOption(
            option="target", value=text, accepted="a module that can be imported here"
        ) from None


def _needs_arguments(found: Any) -> bool:
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(
        p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        for p in parameters
    )
