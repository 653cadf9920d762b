"""Exit codes, and which one a recording deserves."""

from __future__ import annotations

import sys
import traceback
from typing import Any

from pallas_debug import errors, views
from pallas_debug.cli import style
from pallas_debug.views.facts import plain_loc

CLEAN = 0
FINDINGS = 1
USAGE = 2
UNSUPPORTED = 3
SCRIPT_FAILED = 4
INTERRUPTED = 130  # as shells say it

ABOUT_OURSELVES = "PD9"


def verdict(trace: Any, report: Any, *, failed: bool, refusals_only: bool) -> int:
    """The exit code of a recording.

    Args:
      trace: What was recorded.
      report: What the checks say of it.
      failed: Whether the script ended with an error or an exit code.
      refusals_only: Count what JAX would refuse, whatever its severity, and only that.
    """
    if refusals_only:
        wrong = [one for one in report.findings if views.is_refusal(one)]
    else:
        wrong = [one for one in report.errors if one.code[:3] != ABOUT_OURSELVES]
    if wrong:
        return FINDINGS
    if any(launch.outcome.kind == "unsupported" for launch in trace.launches):
        return UNSUPPORTED
    if failed:
        return SCRIPT_FAILED
    return CLEAN if trace.launches else USAGE


def of_error(error: BaseException) -> int:
    """The exit code of an error that ended the command."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, errors.RefusedGrid):
        return SCRIPT_FAILED
    if isinstance(error, errors.UnsupportedOp | errors.CaptureError):
        return UNSUPPORTED
    return USAGE if isinstance(error, errors.PallasDebugError) else UNSUPPORTED


def show(error: BaseException) -> None:
    """Prints an error as its message, or with its frames where it is a fault of ours."""
    if isinstance(error, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
    elif isinstance(error, errors.PallasDebugError):
        print(style.painted(error.render(), sys.stderr), file=sys.stderr)
    else:
        traceback.print_exception(error)


def facts(error: BaseException) -> dict[str, Any]:
    """An error as JSON, with the names that findings have."""
    if isinstance(error, errors.PallasDebugError):
        said = {"code": error.code, "message": error.message, "hint": error.next_step}
        return said | {"loc": plain_loc(error.loc)}
    message = f"{type(error).__name__}: {error}"
    return {"code": "", "message": message, "hint": "", "loc": None}
