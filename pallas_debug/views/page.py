"""The viewer as one file: the bundle and the script in it, nothing fetched from anywhere.

The page opens from disk, inside a notebook's output and in documentation. Where scripts
do not run, the summary stands in its place.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pallas_debug.accepted import flag, of_type, text
from pallas_debug.errors import BadOption
from pallas_debug.trace import Trace
from pallas_debug.views import scripts
from pallas_debug.views.bundle import PAGE_VALUES, bundle
from pallas_debug.views.summary_html import html_summary
from pallas_debug.views.view import view as exported
from pallas_debug.views.view_state import opening

A_STATE = "a view state, from `viewer.view_state`"
HEIGHT = 680  # pixels of a fragment
# What the page may do: run its own script and style; no request to anywhere.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:"
)
STYLE = "body{margin:0}#viewer{--pd-height:100vh}"
START = (
    'PallasDebug.mount(document.getElementById("viewer"),'
    'document.getElementById("bundle").textContent,'
    'JSON.parse(document.getElementById("state").textContent),{address:%s})'
)


def page(
    trace: Trace,
    report: Any = None,
    *,
    state: Mapping[str, Any] | None = None,
    title: str = "",
    values_bytes: int = PAGE_VALUES,
    address: bool = True,
) -> str:
    """A whole page that shows a trace.

    Args:
      trace: What was recorded.
      report: What the checks say.
      state: What the viewer shows first: its view state; by default it opens at the
        first error.
      title: Of the page and the viewer.
      values_bytes: How many bytes of recorded values the page carries.
      address: Whether the page's address keeps what is shown, so that it can be sent.
    """
    title = text("title", title)
    state = None if state is None else of_type("state", state, Mapping, A_STATE)
    data = packed(trace, report, values_bytes=values_bytes, title=title)
    names = dict.fromkeys(launch.name for launch in trace.launches)
    shown = {**opening(trace, report), **(state or {})}
    says = str(flag("address", address)).lower()
    head = title or ", ".join(names) or "pallas_debug"
    summary = html_summary(trace, report) if report is not None else ""
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width">',
            f"<title>{html.escape(head)}</title><style>{STYLE}</style></head><body>",
            f'<div id="viewer"></div><noscript>{summary}</noscript>',
            f'<script id="bundle" type="application/octet-stream">{data}</script>',
            f'<script id="state" type="application/json">{inert_json(shown)}</script>',
            f"<script>{inlined(scripts.script(scripts.EMBED))}</script>",
            f"<script>{START % says}</script></body></html>",
        ]
    )


def fragment(
    trace: Trace, report: Any = None, *, height: int = HEIGHT, **options: Any
) -> str:
    """The same as a part of another page: a frame that may run its own script only.

    A page that takes frames away still shows the summary below it.
    """
    inner = html.escape(page(trace, report, address=False, **options), quote=True)
    frame = (
        f'<iframe title="pallas_debug viewer" sandbox="allow-scripts" '
        f'allow="clipboard-write; fullscreen" '
        f'style="width:100%;height:{height}px;border:0" srcdoc="{inner}"></iframe>'
    )
    summary = ""
    if report is not None:
        body = html_summary(trace, report)
        summary = f"<details><summary>Summary</summary>{body}</details>"
    return f"<div>{frame}{summary}</div>"


def save_html(
    trace: Trace, path: str | os.PathLike[str], report: Any = None, **options: Any
) -> None:
    """Writes the page to a file; options are those of `page`."""
    Path(path).write_text(page(trace, report, **options), encoding="utf-8")


@exported("html", suffix=".html")
def html_page(trace: Trace, report: Any) -> str:
    """The page as a file that a browser opens."""
    return page(trace, report)


def packed(trace: Trace, report: Any, **options: Any) -> str:
    """The bundle as text that a page can hold; options are those of `bundle`."""
    data = bundle(trace, report, **options)
    return base64.b64encode(gzip.compress(data, 6, mtime=0)).decode("ascii")


def inlined(script: str) -> str:
    """A script that does not end the element that it stands in."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def inert_json(value: Any) -> str:
    """JSON that cannot end the element that it stands in."""
    try:
        written = json.dumps(value, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError):
        raise BadOption(option="state", value=value, accepted=A_STATE) from None
    return written.replace("<", "\\u003c")
