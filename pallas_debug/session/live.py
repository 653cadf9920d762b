"""A viewer over a session: each follows the other's moves."""

from __future__ import annotations

from typing import Any

from pallas_debug.accepted import keywords
from pallas_debug.session.requests import Requests
from pallas_debug.session.session import Session


def connected(session: Session, **options: Any) -> Any:
    """A viewer over a session: each follows the other's moves."""
    from pallas_debug import views

    keywords("widget", options, ("title", "values_bytes"))
    host = Requests(session, **options)
    viewer = views.viewer(
        session.trace, session.judged(), host=host, state=view_state(session)
    )
    host.announce, host.tell = viewer.announce, viewer.send

    def follow() -> None:
        if viewer.trace is not session.trace:
            viewer.trace, viewer.report = session.trace, session.judged()
            viewer.send({"type": "grown", "run": 0, "cut": session.is_cut})
        if not viewer.view_state.get("run", 0):
            viewer.view_state = {**viewer.view_state, **view_state(session)}

    host.follow = follow
    session.listeners.append(follow)
    return viewer


def view_state(session: Session) -> dict[str, Any]:
    """The part of a view state that a session decides."""
    focus = session.looking_at
    return {
        "cursor": session.cursor,
        "thread": focus.thread,
        "block": focus.block,
        "buffer": focus.buffer,
        "launch": focus.launch,
        "breakpoints": [one.to_json() for one in session.breakpoints],
    }
