"""The viewer as a part of a page, with one script for all parts of a site.

For plain HTML, mkdocs and templates. A part carries its trace; the script, the same for
every trace, is written once beside the pages and shows each part that it finds. Nothing
is fetched from anywhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pallas_debug.trace import Trace
from pallas_debug.views import scripts
from pallas_debug.views.bundle import PAGE_VALUES
from pallas_debug.views.page import HEIGHT, inert_json, packed
from pallas_debug.views.summary_html import html_summary
from pallas_debug.views.view import view as exported
from pallas_debug.views.view_state import opening

START = """
PallasDebug.showAll = (root = document) => {
  for (const part of root.querySelectorAll(".pallas-debug:not([data-shown])")) {
    part.dataset.shown = "";
    const text = (kind) => part.querySelector(`script[type="${kind}"]`).textContent;
    PallasDebug.mount(part.querySelector(".pallas-debug-viewer"),
      text("application/octet-stream"), JSON.parse(text("application/json")));
  }
};
if (document.readyState === "loading")
  document.addEventListener("DOMContentLoaded", () => PallasDebug.showAll());
else PallasDebug.showAll();
"""


def shared_fragment(
    trace: Trace,
    report: Any = None,
    *,
    height: int = HEIGHT,
    state: Mapping[str, Any] | None = None,
    title: str = "",
    values_bytes: int = PAGE_VALUES,
) -> str:
    """A `<div>` for a page that includes `shared_script()`; several may stand on one.

    Args:
      trace: What was recorded.
      report: What the checks say; its summary stands below, also where no script runs.
      height: Of the viewer, in pixels.
      state: What the viewer shows first, from `view_state`.
      title: Of the viewer.
      values_bytes: How many bytes of recorded values the page carries.
    """
    data = packed(trace, report, values_bytes=values_bytes, title=title)
    shown = inert_json({**opening(trace, report), **(state or {})})
    summary = ""
    if report is not None:
        body = html_summary(trace, report)
        summary = f"<details><summary>Summary</summary>{body}</details>"
    return (
        f'<div class="pallas-debug">'
        f'<div class="pallas-debug-viewer" style="--pd-height:{height}px"></div>'
        f'<script type="application/octet-stream">{data}</script>'
        f'<script type="application/json">{shown}</script>{summary}</div>'
    )


def shared_script() -> str:
    """The script of all fragments of a site: a file of its own, loaded once a page."""
    return scripts.script(scripts.EMBED) + START


@exported("fragment", suffix=".fragment.html")
def fragment_file(trace: Trace, report: Any) -> str:
    """The fragment as a file, for a template to include."""
    return shared_fragment(trace, report)


@exported("script", suffix=".viewer.js")
def script_file(trace: Trace, report: Any) -> str:
    """The script that fragments need; it is the same for every trace."""
    return shared_script()
