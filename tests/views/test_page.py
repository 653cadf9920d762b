"""The page: one file, the same each time, that nothing in it can break out of."""

import base64
import gzip
import html
import json
import re

import numpy as np
import pytest
from helpers import TraceBuilder

from pallas_debug import checks, errors, session, views
from pallas_debug.trace import loads
from pallas_debug.views import scripts
from pallas_debug.views.bundle import PAGE_VALUES, bundle

SCRIPT = 'var PallasDebug = {mount() { return "</script><!-- é" }};'


@pytest.fixture
def built(tmp_path, monkeypatch):
    """A stand-in for the built scripts: the page does not care what they do."""
    (tmp_path / scripts.EMBED).write_text(SCRIPT, encoding="utf-8")
    (tmp_path / scripts.WIDGET).write_text("export default {}", encoding="utf-8")
    monkeypatch.setattr(scripts, "FOLDER", tmp_path)


@pytest.fixture
def judged():
    b = TraceBuilder(grid=(1,), name="<k>&</script>")
    t = b.thread("warpgroup", block=0)
    t.read(b.buffer("x", (4,), role="input", initial=np.zeros(4)), [(2, 4)])
    trace = b.close()
    return trace, checks.run_checks(trace)


def element(page, name):
    return re.search(rf'<script id="{name}"[^>]*>(.*?)</script>', page, re.DOTALL)[1]


def test_page_carries_the_bundle(built, judged):
    page = views.page(*judged)
    data = gzip.decompress(base64.b64decode(element(page, "bundle")))
    assert data == bundle(*judged, values_bytes=PAGE_VALUES)
    assert len(loads(data)) == len(judged[0])


def test_page_is_the_same_each_time(built, judged):
    assert views.page(*judged) == views.page(*judged)


def test_nothing_in_the_page_ends_an_element(built, judged):
    state = {"filter": "</script><script>alert(1)</script>"}
    page = views.page(*judged, state=state, title="</title><b>")
    shown = json.loads(element(page, "state"))
    assert shown["filter"] == state["filter"]
    assert shown["cursor"] == judged[1].errors[0].events[0] + 1  # opens at the error
    assert len(re.findall("</script", page)) == 4
    assert "<title>&lt;/title&gt;&lt;b&gt;</title>" in page
    assert '"<\\/script><\\!-- é"' in page


def test_page_may_ask_for_nothing(built, judged):
    page = views.page(*judged)
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)=|https?:|@import", page)


def test_without_scripts_the_summary_stands_there(built, judged):
    page = views.page(*judged)
    assert f"<noscript>{views.html_summary(*judged)}</noscript>" in page
    assert "<noscript></noscript>" in views.page(judged[0])


def test_fragment_is_a_closed_frame_with_the_page_and_a_summary(built, judged):
    fragment = views.fragment(*judged, height=300)
    assert fragment.startswith("<div><iframe ")  # IPython warns of a bare frame
    assert 'sandbox="allow-scripts"' in fragment
    inner = html.unescape(re.search(r'srcdoc="([^"]*)"', fragment)[1])
    assert inner == views.page(*judged, address=False)
    assert "{address:false}" in inner
    assert views.html_summary(*judged) in fragment.partition("</iframe>")[2]


def test_to_html_writes_the_page_with_the_report_of_all_checks(built, judged, tmp_path):
    assert session.showing  # its import tells a trace what its page is
    trace, report = judged
    assert trace.to_html() == views.page(trace, report)
    assert trace.to_html(tmp_path / "a.html", title="T") is None
    written = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert written == views.page(trace, report, title="T")
    views.save_html(trace, tmp_path / "b.html", report, title="T")
    assert (tmp_path / "b.html").read_text(encoding="utf-8") == written
    assert views.view_for("x.html").function(trace, report) == trace.to_html()


def test_missing_script_is_said_with_the_way_to_build_it(tmp_path, monkeypatch, judged):
    monkeypatch.setattr(scripts, "FOLDER", tmp_path)
    assert not scripts.is_built()
    assert not views.has_widgets()
    with pytest.raises(errors.ViewerNotBuilt, match=r"`embed\.js`") as caught:
        views.page(*judged)
    assert "npm run build" in caught.value.next_step


def test_page_for_a_hundred_thousand_events_is_small(built):
    b = TraceBuilder(grid=(100,), name="many")
    x = b.buffer("x", (64, 64))
    threads = [b.thread("warpgroup", block=block) for block in range(100)]
    random = np.random.default_rng(0)
    for number in range(100_000):
        t = threads[number // 100 % 100]
        row = number % 64
        value = random.random((1, 8), np.float32) if number % 2 else None
        verb = t.write if number % 2 else t.read
        verb(x, [(row, 1), (8 * (number % 8), 8)], value, line=number % 40)
    page = views.page(b.close(), checks.Report())
    assert len(page) < 2_000_000 - 150_000  # the budget of the script
