"""The widget: a shell that answers messages; what it holds is the bundle and a host."""

import gzip
import sys

import numpy as np
import pytest
from helpers import TraceBuilder

pytest.importorskip("anywidget")

from pallas_debug import checks, errors, session, views
from pallas_debug.trace import loads
from pallas_debug.views import scripts


@pytest.fixture
def built(tmp_path, monkeypatch):
    """A stand-in for the built scripts where there are none."""
    monkeypatch.delitem(sys.modules, "pallas_debug.views.widget", raising=False)
    if not scripts.is_built():
        for name in (scripts.EMBED, scripts.WIDGET):
            (tmp_path / name).write_text("export default {}", encoding="utf-8")
        monkeypatch.setattr(scripts, "FOLDER", tmp_path)
    yield
    sys.modules.pop("pallas_debug.views.widget", None)


def judged(values=10):
    b = TraceBuilder(grid=(1,), name="k")
    t = b.thread("warpgroup", block=0)
    x = b.buffer("x", (values,), initial=np.arange(values, dtype=np.int64))
    t.read(x, [(2, values)])
    trace = b.close()
    return trace, checks.run_checks(trace)


class Recorded:
    """A host that notes what it is asked for."""

    def __init__(self):
        self.asked = []
        self.answer = {"value": np.float32(1.5), "shape": (2, 3)}

    def request(self, kind, arguments):
        self.asked.append((kind, arguments))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def shown(host=None, values=10, **options):
    """A widget and what it sends."""
    widget = views.viewer(*judged(values), host=host, **options)
    sent = []
    widget.send = lambda content, buffers=None: sent.append((content, buffers))
    return widget, sent


def ask(widget, **message):
    widget._handle_custom_msg(message, [])


def test_bundle_comes_as_a_buffer_when_it_is_asked_for(built):
    widget, sent = shown()
    assert "bundle" not in str(sorted(widget.get_state()))
    ask(widget, id="a-1", type="bundle", run=0)
    ((content, (data,)),) = sent
    assert content == {"bundle": 1, "live": False, "id": "a-1", "ok": True}
    assert loads(data).launches[0].name == "k"


def test_large_bundle_is_compressed_and_made_once(built):
    widget, sent = shown(values=1 << 18)
    for number in range(2):
        ask(widget, id=number, type="bundle")
    (_, (first,)), (_, (second,)) = sent
    assert first is second
    assert first[:2] == b"\x1f\x8b"
    assert len(loads(gzip.decompress(first)).payloads[0]) == 1 << 18


def test_host_answers_other_requests_with_plain_data_and_bytes(built):
    host = Recorded()
    widget, sent = shown(host)
    ask(widget, id=7, type="evaluate", expression="acc", at=3)
    assert host.asked == [("evaluate", {"expression": "acc", "at": 3})]
    assert sent == [({"value": 1.5, "shape": [2, 3], "id": 7, "ok": True}, [])]
    host.answer = {"shape": [1]}, [b"1234"]
    ask(widget, id=8, type="memory", buffer=0, at=2)
    assert sent[1] == ({"shape": [1], "id": 8, "ok": True}, [b"1234"])
    ask(widget, id=9, type="bundle", run=1)
    assert host.asked[-1] == ("bundle", {"run": 1})


def test_refused_request_says_why(built):
    host = Recorded()
    host.answer = errors.BadOption(option="at", value=9, accepted="0 … 3")
    widget, sent = shown(host)
    ask(widget, id=1, type="memory")
    ((content, _),) = sent
    assert content["error"] == "`at` got 9; accepted: 0 … 3"
    assert content["code"] == "PD910"
    assert "ok" not in content


def test_failed_request_is_answered_and_raised(built):
    host = Recorded()
    host.answer = KeyError("x")
    widget, sent = shown(host)
    with pytest.raises(KeyError):
        widget._received(widget, {"id": 1, "type": "memory"}, [])
    assert sent == [({"id": 1, "error": "KeyError: 'x'"}, None)]


def test_viewer_without_a_host_says_what_it_cannot(built):
    widget, sent = shown()
    ask(widget, id=1, type="evaluate", expression="x")
    ((content, _),) = sent
    assert "needs a live session" in content["error"]
    assert "pallas_debug.debug" in content["hint"]


def test_moves_of_the_page_reach_the_host_and_are_kept(built):
    host = Recorded()
    widget, _ = shown(host, state={"cursor": 1})
    assert not host.asked
    widget.set_state({"view_state": {"cursor": 2}})
    assert host.asked == [("state", {"view_state": {"cursor": 2}})]
    assert widget.view_state == {"cursor": 2}


def test_new_run_is_announced(built):
    widget, sent = shown(Recorded())
    widget.announce(2, "seed 3")
    assert sent == [({"type": "run", "number": 2, "label": "seed 3"}, None)]


def test_state_in_a_notebook_is_small(built):
    widget, _ = shown(values=1 << 16)
    state = {k: v for k, v in widget.get_state().items() if k != "_esm"}
    assert len(str(state)) < 2000


def test_display_has_the_summary_beside_the_widget(built):
    widget, _ = shown()
    data, _ = widget._repr_mimebundle_()
    assert data["text/html"] == views.html_summary(widget.trace, widget.report)
    assert data["text/plain"] == views.summary(widget.trace, widget.report)
    assert "application/vnd.jupyter.widget-view+json" in data
    assert "<script" not in data["text/html"]


def test_two_viewers_share_nothing(built):
    (one, _), (two, _) = shown(), shown()
    one.view_state = {"cursor": 1}
    assert two.view_state == {}
    assert one.model_id != two.model_id


def test_missing_package_is_said(built, monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(errors.NotInstalled, match="`anywidget`") as caught:
        views.viewer(*judged())
    assert "pallas-debug[notebook]" in caught.value.next_step


def test_trace_opens_its_viewer_with_its_report(built):
    trace, report = judged()
    assert session.showing  # its import tells a trace what its viewer is
    widget = trace.viewer(title="T")
    assert widget.trace is trace
    assert widget.report == report
    assert widget.host is not None
