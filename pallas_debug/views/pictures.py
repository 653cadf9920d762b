"""Pictures of a run as files: PNG, SVG and PDF of one moment, GIF of the whole.

They need matplotlib; what they show is in `views/plot`. The same trace gives the same
bytes.
"""

from __future__ import annotations

import io
from typing import Any

from pallas_debug.trace import Trace
from pallas_debug.views import plot
from pallas_debug.views.plot import style
from pallas_debug.views.view import view as exported

DPI = 150
# Without these a file would say when it was made.
NO_DATES: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}


def picture(trace: Trace, report: Any, kind: str, **options: Any) -> bytes:
    """The overview as a file; options are those of `plot.overview`."""
    made = plot.overview(trace, report=report, **options)
    target = io.BytesIO()
    with style.styled({"svg.hashsalt": "pallas_debug"}):
        made.savefig(target, format=kind, dpi=DPI, metadata=NO_DATES[kind])
    return target.getvalue()


@exported("png", suffix=".png")
def png(trace: Trace, report: Any) -> bytes:
    """A picture for a page or a message: the first error, or the end."""
    return picture(trace, report, "png")


@exported("svg", suffix=".svg")
def svg(trace: Trace, report: Any) -> bytes:
    """The same as a drawing that scales."""
    return picture(trace, report, "svg")


@exported("pdf", suffix=".pdf")
def pdf(trace: Trace, report: Any) -> bytes:
    """The same for a paper."""
    return picture(trace, report, "pdf")


@exported("gif", suffix=".gif")
def gif(trace: Trace, report: Any) -> bytes:
    """The first launch from its first event to its last, in at most 40 frames."""
    return plot.animation(trace, report=report)
