"""How a cell under `%%pallas_debug` runs: as itself, with one line in front.

The first line is replaced by a call that opens the recording, and the shell runs the
cell as it runs any other: line numbers hold, `%` magics and top-level `await` work, a
traceback shows the user's frames, the last expression is displayed, and names stay. The
end of the cell closes the recording. Nothing is pasted into a string and run again,
which would break `await` where the shell already runs in an event loop.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import re
from collections.abc import Callable
from typing import Any

from pallas_debug import errors

NAME = "pallas_debug"
OPENER = "pallas_debug_begin"

_FIRST_LINE = re.compile(rf"%%{NAME}(?:\s+(?P<options>.*))?$")
_FUTURE = re.compile(r"\s*from\s+__future__\s+import\b")
_FLAG = re.compile(r"\s(--?[a-z][a-z-]*)(?![\w(.\[])")
_WORD = re.compile(r"""\s*((?:"[^"]*"|'[^']*'|[^\s"'])+)""")


def is_nothing(line: str) -> bool:
    """Whether a source line is blank or a comment."""
    return not line.strip() or line.lstrip().startswith("#")


def split(line: str, parser: Any) -> tuple[str, str]:
    """Splits a line into its options and the code after them, which stays raw."""
    takes_value = {
        flag: action.nargs != 0
        for action in parser._actions
        for flag in action.option_strings
    }
    position = 0
    while found := _WORD.match(line, position):
        word = found[1]
        if word == "--":
            return line[:position], line[found.end() :]
        if not word.startswith("-"):
            break
        position = found.end()
        if takes_value.get(word) and (value := _WORD.match(line, position)):
            position = value.end()
    return line[:position], line[position:].strip()


def options_behind(code: str, parser: Any) -> tuple[str, str] | None:
    """The expression and the options after it, if that is what the code is.

    `f(x) --jax` is Python, too: what is subtracted then has the name of an option.
    """
    known = {flag for action in parser._actions for flag in action.option_strings}
    whole = _is_expression(code)
    for found in _FLAG.finditer(code):
        is_meant = found[1].startswith("--") or not whole
        if is_meant and found[1] in known and _is_expression(code[: found.start()]):
            return code[: found.start()], code[found.start() :].strip()
    return None


def _is_expression(code: str) -> bool:
    try:
        ast.parse(code.strip(), mode="eval")
    except SyntaxError:
        return False
    return True


def running_line(shell: Any) -> tuple[str, int]:
    """The file and line of the cell that is running, if one is."""
    files = getattr(shell.compile, "_filename_map", {})
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_filename in files:
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return f"<%{NAME}>", 1


def is_statement(shell: Any) -> bool:
    """Whether the line magic that is running stands alone: nobody takes its value."""
    file, line = running_line(shell)
    tree = ast.parse("".join(linecache.getlines(file)))
    return any(
        isinstance(node, ast.Expr)
        and node.lineno <= line <= (node.end_lineno or line)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and node.value.func.attr == "run_line_magic"
        for node in ast.walk(tree)
    )


class CellTransformer:
    """Turns a `%%pallas_debug` cell into a cell that opens a recording.

    Args:
      accepts: Whether an options line is right. Where it is not, the cell is left to the
        magic itself, which says what is wrong.
      transform_cell: The shell's own transformation, for a cell magic below ours.
    """

    def __init__(
        self, accepts: Callable[[str], bool], transform_cell: Callable[[str], str]
    ) -> None:
        self._accepts = accepts
        self._transform_cell = transform_cell

    def __call__(self, lines: list[str]) -> list[str]:
        """The cell's lines as they are run; other cells come back unchanged."""
        found = _FIRST_LINE.match(lines[0].rstrip()) if lines else None
        if not found or not self._accepts(found["options"] or ""):
            return lines
        body = lines[1:]
        opener = f"get_ipython().run_line_magic({OPENER!r}, {found['options'] or ''!r})"
        first = next((i for i, line in enumerate(body) if not is_nothing(line)), None)
        if first is None:
            return [opener + "\n", *body]
        if body[first].startswith("%%"):
            inner = self._transform_cell("".join(body[first:]))
            return [opener + "\n", *body[:first], *inner.splitlines(keepends=True)]
        if _FUTURE.match(body[first]):
            # Nothing but comments may stand above such an import.
            last = max(i for i, line in enumerate(body) if _FUTURE.match(line))
            body[last] = body[last].rstrip("\n") + f"; {opener}\n"
            return ["\n", *body]
        return [opener + "\n", *body]


class CellRecorder:
    """The one recording that a notebook may have open, tied to the cell that opened it.

    Args:
      show: Called with the finished recording, its options, the cell's own error if
        there was one, and what else stopped the recording, if anything did.
    """

    def __init__(self, show: Callable[[Any, Any, Any, Any], None]) -> None:
        self._show = show
        self._running: list[Any] = []  # the cells being run, outermost first
        self._owner: Any = None
        self._context: Any = None
        self._recording: Any = None
        self._arguments: Any = None

    def cell_begins(self, info: Any = None) -> None:
        """Event `pre_run_cell`."""
        self._running.append(info)

    def begin(self, context: Any, arguments: Any) -> None:
        """Opens `context`, a recording, until the running cell ends."""
        if self._context is not None:
            raise errors.ReentrantRecording()
        self._recording = context.__enter__()
        self._context, self._arguments = context, arguments
        self._owner = self._running[-1] if self._running else None

    def cell_ends(self, result: Any = None) -> None:
        """Event `post_run_cell`; closes the recording if its own cell ended."""
        info = getattr(result, "info", None)
        if info is None:  # interrupted before there was a result
            self._running.clear()
        elif self._is_running(info):
            while self._running.pop() is not info:
                pass
        if self._context is not None and not self._is_running(self._owner):
            error = getattr(result, "error_in_exec", None)
            is_echo = error is not None and self.stopped(error)
            stopped = self.close(error)
            if is_echo and stopped is not None:
                result.error_in_exec = stopped  # what a notebook's runner reports

    def stopped(self, error: BaseException) -> bool:
        """Whether JAX raised `error` only because the open recording had stopped."""
        return self._recording is not None and self._recording.stopped(error)

    def _is_running(self, info: Any) -> bool:
        return any(cell is info for cell in self._running)

    def close(self, error: BaseException | None = None) -> BaseException | None:
        """Closes the recording, if one is open, and shows it.

        Args:
          error: What ended the cell, if it did not end by itself.

        Returns:
          What else stopped the recording, if anything did.
        """
        context, recording = self._context, self._recording
        arguments = self._arguments
        self._context = self._recording = self._arguments = self._owner = None
        if context is None:
            return None
        stopped: BaseException | None = None
        try:
            if error is None:
                context.__exit__(None, None, None)
            else:
                context.__exit__(type(error), error, error.__traceback__)
        except BaseException as raised:
            # An event's callback may not raise: IPython would show it as a crash.
            stopped = raised if raised is not error else None
        self._show(recording, arguments, error, stopped)
        return stopped
