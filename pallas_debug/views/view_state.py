"""What a viewer shows first, as the small JSON that the page reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pallas_debug import errors
from pallas_debug.trace import Trace
from pallas_debug.views.opening import opens_at

# As the page's list of panels has them; a test compares the two.
PANELS = ("source", "grid", "threads", "memory", "variables", "findings", "events")


def opening(trace: Trace, report: Any) -> dict[str, Any]:
    """The view state in which a viewer opens."""
    event = opens_at(trace, report)
    return {"v": 1, "cursor": event + 1} if event >= 0 else {}


def view_state(
    trace: Trace, *, cursor: int | None = None, panels: Sequence[str] = ()
) -> dict[str, Any]:
    """A view state that opens somewhere else; what is not given stays as it is.

    Args:
      trace: What is shown.
      cursor: How many events have happened.
      panels: Names of panels; the first of those that share a place is in front.
    """
    state: dict[str, Any] = {"v": 1}
    if cursor is not None:
        if not 0 <= cursor <= len(trace):
            raise errors.BadOption(
                option="cursor", value=cursor, accepted=f"0 … {len(trace)}"
            )
        state["cursor"] = cursor
    for name in panels:
        if name not in PANELS:
            raise errors.BadOption(option="panels", value=name, accepted=PANELS)
    if panels:
        state["panel"] = {"order": list(panels)}
    return state
