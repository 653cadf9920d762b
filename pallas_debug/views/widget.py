"""The viewer in a notebook cell: an anywidget shell around the page's module.

It holds no logic: the bundle and a live host's answers (which has bundles of its own) go
to the page as messages when it asks, and one small trait mirrors what is shown. Imported by `viewer` only, because it
needs anywidget.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import anywidget
import traitlets

from pallas_debug import errors
from pallas_debug.trace import Trace
from pallas_debug.views import scripts
from pallas_debug.views.bundle import LIVE_VALUES
from pallas_debug.views.facts import plain
from pallas_debug.views.host import Host
from pallas_debug.views.parts import Sender
from pallas_debug.views.summary_html import html_summary
from pallas_debug.views.text import summary


class Viewer(anywidget.AnyWidget):
    """The viewer of one trace, with a host that answers what the trace cannot.

    Attributes:
      view_state: What is shown: cursor, focus, filters, layout. Setting it moves the
        page; the page's own moves come back.
      trace: What is shown.
      host: Who answers, or None for a viewer that only looks.
    """

    _esm = scripts.script(scripts.WIDGET)
    view_state = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        trace: Trace,
        report: Any,
        *,
        host: Host | None = None,
        state: Mapping[str, Any] | None = None,
        title: str = "",
        values_bytes: int = LIVE_VALUES,
    ) -> None:
        super().__init__(view_state=dict(state or {}))
        self.trace = trace
        self.report = report
        self.host = host
        self._title = title
        self._sender = Sender(values_bytes=values_bytes)
        # Messages may come on several threads; a session takes one at a time.
        self._lock = threading.RLock()
        self.on_msg(self._received)
        self.observe(self._moved, "view_state")

    def announce(self, number: int, label: str) -> None:
        """Tells the page of a new run, which it then asks for."""
        self.send({"type": "run", "number": number, "label": label})

    def _received(self, _: Any, content: Mapping[str, Any], buffers: list[Any]) -> None:
        """Answers a message; a failed one is answered, too, and then raised."""
        arguments = dict(content)
        number, kind = arguments.pop("id", None), str(arguments.pop("type", ""))
        try:
            with self._lock:
                answer, parts = self._answer(kind, arguments)
        except errors.PallasDebugError as error:
            said = {"error": error.message, "code": error.code, "hint": error.next_step}
            self.send({"id": number, **said})
        except Exception as error:  # else the page would wait for ever
            self.send({"id": number, "error": f"{type(error).__name__}: {error}"})
            raise
        else:
            self.send({**plain(answer), "id": number, "ok": True}, parts)

    def _answer(
        self, kind: str, arguments: Mapping[str, Any]
    ) -> tuple[Mapping[str, Any], list[bytes]]:
        if self.host is None and kind == "bundle":
            facts, data = self._sender.bundle(
                self.trace, self.report, title=self._title
            )
            return {**facts, "live": False}, [data]
        if self.host is None:
            raise errors.NoHost(request=kind)
        answer = self.host.request(kind, arguments)
        return answer if isinstance(answer, tuple) else (answer, [])

    def _moved(self, change: Any) -> None:
        """The page moved, or the kernel did: a session follows either."""
        if self.host is not None:
            with self._lock:
                self.host.request("state", {"view_state": change["new"]})

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The widget, and for pages without a kernel the summary."""
        made = super()._repr_mimebundle_(**options)
        if made is None:
            return None
        data, metadata = made if isinstance(made, tuple) else (made, {})
        said = {
            "text/plain": summary(self.trace, self.report),
            "text/html": html_summary(self.trace, self.report),
        }
        return {**data, **said}, metadata
