"""What the magics show of a recording: a live session, its page, or the summary.

The session's viewer needs a kernel behind it and a front end before it; where either is
missing the trace shows itself as it does everywhere, by its summary. A program that
executes a notebook keeps the page, which is all there afterwards.
"""

from __future__ import annotations

from typing import Any

import pallas_debug
from pallas_debug import views
from pallas_debug.session.showing import show_instead


class Static:
    """A recording whose display is the page: it needs no kernel afterwards."""

    def __init__(self, trace: Any) -> None:
        self._trace = trace

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        report = pallas_debug.check(self._trace)
        return {
            "text/plain": views.summary(self._trace, report),
            "text/html": views.fragment(self._trace, report),
        }


class Text:
    """A recording whose display is the summary as plain text."""

    def __init__(self, trace: Any) -> None:
        self._trace = trace

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return {"text/plain": repr(self)}

    def __repr__(self) -> str:
        return views.summary(self._trace, pallas_debug.check(self._trace))


def shown(
    trace: Any,
    shell: Any,
    *,
    session: Any = None,
    static: bool = False,
    text: bool = False,
) -> Any:
    """The object that a magic displays for a trace.

    Args:
      trace: What was recorded.
      shell: The shell that displays.
      session: A session over the trace, if there is one already.
      static: Show the page, which needs no kernel.
      text: Show the summary as plain text.
    """
    if text:
        return Text(trace)
    if static:
        return Static(trace)
    if has_frontend(shell) and views.has_widgets():
        if not is_attended(shell):
            return Static(trace)
        return session or opened(trace)
    return trace


def showing_itself(trace: Any, shell: Any, **looks: Any) -> Any:
    """The trace, as the value of a cell: it then shows itself as `shown` has it."""
    made = shown(trace, shell, **looks)
    if made is not trace:
        show_instead(trace, made)
    return trace


def opened(trace: Any) -> Any:
    """A session over a trace that stands where the page opens, too."""
    session = pallas_debug.debug(trace)
    event = views.opens_at(trace, session.judged())
    if event >= 0:
        session.jump(event)
    return session


def has_frontend(shell: Any) -> bool:
    """Whether the shell's output is drawn by a notebook; a terminal has no kernel."""
    return getattr(shell, "kernel", None) is not None


def is_attended(shell: Any) -> bool:
    """Whether a person may sit before the cell: `nbconvert --execute` takes no input."""
    parent = getattr(shell.kernel, "get_parent", dict)()
    return parent.get("content", {}).get("allow_stdin", True)
