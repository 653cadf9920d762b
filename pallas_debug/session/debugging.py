"""`debug`: record a function and open a session over it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pallas_debug.machine.options import Options
from pallas_debug.session.known import options_of
from pallas_debug.session.session import Session
from pallas_debug.session.verbs import trace as record
from pallas_debug.trace.trace import Trace


def debug(
    subject: Callable[..., Any] | Trace,
    *args: Any,
    options: Options | None = None,
    **kwargs: Any,
) -> Session:
    """Records `subject(*args, **kwargs)` and opens a debugger's session over it.

    Args:
      subject: Any JAX function, jitted or not, or a trace that is there already.
      *args: The function's arguments.
      options: As for `trace`.
      **kwargs: The function's keyword arguments.

    Returns:
      A session; it stands before the first event.

    Raises:
      NoLaunch: The function launched no kernel.
      BadOption: As for `trace`.
      Exception: Whatever the function itself raises.

    Example:
      >>> session = pldb.debug(fn, x)
      >>> session.break_at(nan=True)
      >>> session.continue_()
      >>> session.locals
    """
    if isinstance(subject, Trace):
        return Session(subject, options=options)
    options = options_of(options)
    return Session(record(subject, *args, options=options, **kwargs), options=options)
