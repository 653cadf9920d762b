"""Runs a directive's code or loads its trace, and puts the viewer into the document."""

from __future__ import annotations

import contextlib
import io
import linecache
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

import pallas_debug
from pallas_debug import errors, views
from pallas_debug.views.page import HEIGHT, fragment


def _panels(text: str) -> list[str]:
    return [word for word in text.replace(",", " ").split() if word]


class PallasDebug(SphinxDirective):
    """`.. pallas-debug:: [trace file]`, with Python code as content instead of a file.

    The code runs when the documentation is built, inside a recording; every kernel that
    it launches is in the viewer. Options: `cursor` (how many events have happened),
    `panels` (names, the first of them in front), `height` (pixels), `caption`, `chip`,
    `cores`, `show-code`.
    """

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = {
        "cursor": directives.nonnegative_int,
        "panels": _panels,
        "height": directives.positive_int,
        "caption": directives.unchanged,
        "chip": directives.unchanged,
        "cores": directives.positive_int,
        "show-code": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        """The nodes: code, viewer, fallback, caption."""
        if bool(self.arguments) == bool(self.content):
            raise self.error("pallas-debug takes a trace file or code, and one of them")
        try:
            trace = self._loaded() if self.arguments else self._recorded()
            report = pallas_debug.check(trace)
            shown = fragment(
                trace,
                report,
                height=self.options.get("height", HEIGHT),
                state=self._state(),
                title=self.options.get("caption", ""),
            )
        except errors.PallasDebugError as error:
            raise self.error(error.render()) from None
        return [*self._code(), self._figure(shown, views.summary(trace, report))]

    def _loaded(self) -> Any:
        _, path = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(path)
        if not Path(path).is_file():
            raise self.error(f"there is no trace file {self.arguments[0]!r}")
        return pallas_debug.load(path)

    def _recorded(self) -> Any:
        """Runs the content as the module that a reader would write."""
        text = "\n".join(self.content) + "\n"
        name = f"{Path(self.env.docname).name}-{self.lineno}.py"
        file = str(Path(self.env.srcdir) / name)
        # Tracebacks and the viewer's source panel find the code here.
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        chosen = {k: self.options[k] for k in ("chip", "cores") if k in self.options}
        options = pallas_debug.Options(**chosen)
        try:
            code = compile(text, file, "exec")
            with (
                contextlib.redirect_stdout(io.StringIO()),
                pallas_debug.recording(options) as made,
            ):
                exec(code, {"__name__": "__main__", "__file__": file})
        except errors.PallasDebugError:
            raise
        except Exception as error:  # of the author's code
            raise self.error(f"{type(error).__name__}: {error}") from error
        if not made.trace.launches:
            raise self.error("the code launches no kernel")
        return made.trace

    def _state(self) -> dict[str, Any]:
        """The view state that the options describe."""
        state: dict[str, Any] = {"v": 1}
        if "cursor" in self.options:
            state["cursor"] = self.options["cursor"]
        if "panels" in self.options:
            state["panels"] = self.options["panels"]
        return state

    def _code(self) -> list[nodes.Node]:
        if "show-code" not in self.options or not self.content:
            return []
        text = "\n".join(self.content)
        return [nodes.literal_block(text, text, language="python")]

    def _figure(self, shown: str, summary: str) -> nodes.Node:
        """The viewer for HTML, the summary for every other builder, and the caption."""
        figure = nodes.figure("", align="default")
        figure["classes"].append("pallas-debug")
        html = addnodes.only(expr="html")
        html += nodes.raw("", shown, format="html")
        other = addnodes.only(expr="not html")
        other += nodes.literal_block(summary, summary, language="text")
        figure += [html, other]
        caption = self.options.get("caption")
        if caption:
            inline, messages = self.state.inline_text(caption, self.lineno)
            figure += nodes.caption(caption, "", *inline)
            figure += messages
        self.set_source_info(figure)
        return figure
