"""How traces and reports show themselves, which they do not know.

A trace draws nothing. What a notebook shows of it, its page and its viewer are made by
the views; the session layer, which sees both, enters them here when it is imported, that
is whenever one of the public verbs has made a trace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pallas_debug.registry import Registry

Show = Callable[..., Any]
SHOWS: Registry[Show] = Registry("display")
TRACE, REPORT, PAGE, VIEWER = "trace", "report", "page", "viewer"


def mimebundle(kind: str, value: Any) -> Any:
    """What a notebook shows of a value, None where nobody has said.

    Data by MIME type, or a pair of that and metadata, as IPython takes either.
    """
    return SHOWS.get(kind)(value) if kind in SHOWS else None


def html(kind: str, value: Any) -> str | None:
    """Its HTML alone, for front ends that ask for no more."""
    found = mimebundle(kind, value) or {}
    return (found[0] if isinstance(found, tuple) else found).get("text/html")
