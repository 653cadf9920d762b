"""Runs a directive's code or loads its trace, and puts the viewer into the document."""

from __future__ import annotations

import contextlib
import hashlib
import io
import linecache
import os
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

import pallas_debug
from pallas_debug import errors, views
from pallas_debug.views.page import HEIGHT, fragment

logger = logging.getLogger(__name__)
FORMATS = ("png", "pdf")  # what HTML shows without scripts, and what LaTeX takes


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
        """The nodes: code, viewer or picture and text, caption."""
        if bool(self.arguments) == bool(self.content):
            raise self.error("pallas-debug takes a trace file or code, and one of them")
        try:
            trace = self._loaded() if self.arguments else self._recorded()
            report = pallas_debug.check(trace)
            shown = fragment(
                trace,
                report,
                height=self.options.get("height", HEIGHT),
                state=views.view_state(
                    trace,
                    cursor=self.options.get("cursor"),
                    panels=self.options.get("panels", ()),
                ),
                title=self.options.get("caption", ""),
            )
        except errors.PallasDebugError as error:
            raise self.error(error.render()) from None
        picture = self._picture(trace, report)
        return [*self._code(), self._figure(shown, picture, trace, report)]

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

    def _picture(self, trace: Any, report: Any) -> nodes.image | None:
        """A picture of the same moment; none where matplotlib is missing.

        It is written beside the doctrees in two formats, and each builder takes its own.
        """
        at = self.options.get("cursor")
        try:
            files = {
                kind: views.picture(trace, report, kind, at=at) for kind in FORMATS
            }
        except errors.NotInstalled as missing:
            logger.info("pallas-debug: no picture (%s)", missing.message)
            return None
        folder = Path(self.env.doctreedir).resolve() / "pallas-debug"
        folder.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(files["png"]).hexdigest()[:16]
        for kind, data in files.items():
            (folder / f"run-{name}.{kind}").write_bytes(data)
        here = Path(self.env.doc2path(self.env.docname)).resolve().parent
        uri = Path(os.path.relpath(folder / f"run-{name}.*", here)).as_posix()
        kernels = dict.fromkeys(launch.name for launch in trace.launches)
        return nodes.image(uri=uri, alt=f"a run of {', '.join(kernels)}")

    def _code(self) -> list[nodes.Node]:
        if "show-code" not in self.options or not self.content:
            return []
        text = "\n".join(self.content)
        return [nodes.literal_block(text, text, language="python")]

    def _figure(
        self, shown: str, picture: nodes.image | None, trace: Any, report: Any
    ) -> nodes.Node:
        """The viewer where scripts run, elsewhere picture and summary; the caption."""
        figure = nodes.figure("", align="default")
        figure["classes"].append("pallas-debug")
        live = addnodes.only(expr="html and not epub")
        live += nodes.raw("", shown, format="html")
        still = addnodes.only(expr="not html or epub")
        if picture is not None:
            live += nodes.raw("", "<noscript>", format="html")
            live += picture
            live += nodes.raw("", "</noscript>", format="html")
            still += picture.deepcopy()
        summary = views.summary(trace, report)
        still += nodes.literal_block(summary, summary, language="text")
        figure += [live, still]
        caption = self.options.get("caption")
        if caption:
            inline, messages = self.state.inline_text(caption, self.lineno)
            figure += nodes.caption(caption, "", *inline)
            figure += messages
        self.set_source_info(figure)
        return figure
