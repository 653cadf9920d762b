"""The door to the notebook widget, which needs a package that may be missing."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from pallas_debug import errors
from pallas_debug.trace import Trace
from pallas_debug.views import scripts


def has_widgets() -> bool:
    """Whether the viewer can be a widget here."""
    return find_spec("anywidget") is not None and scripts.is_built()


def viewer(trace: Trace, report: Any, **options: Any) -> Any:
    """The viewer as a widget; options are those of `widget.Viewer`."""
    try:
        from pallas_debug.views.widget import Viewer
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("anywidget", "traitlets"):
            raise
        raise errors.NotInstalled(
            package="anywidget", purpose="the viewer in a notebook", extra="notebook"
        ) from None
    return Viewer(trace, report, **options)
