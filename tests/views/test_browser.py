"""The viewer in a real browser: a page from disk and a live widget show the same."""

import numpy as np
import pytest
import tapes
from browser import Page
from kernels import ring

import pallas_debug as pldb
from pallas_debug.machine import Options, run
from pallas_debug.trace import Writer, close

pytestmark = pytest.mark.browser
KEYS = ("ArrowRight", "ArrowRight", "t", "ArrowDown", "o", "ArrowLeft", "c", "End", "t")


@pytest.fixture(scope="module")
def trace():
    assert pldb.Session  # its import tells a trace what its page is
    writer = Writer()
    run(ring(), writer, Options())
    return close(writer)


@pytest.fixture
def page(browser):
    made = Page(browser)
    yield made
    made.close()
    assert not made.errors


@pytest.fixture
def pages(browser):
    made = Page(browser), Page(browser)
    yield made
    for one in made:
        one.close()
        assert not one.errors


def now(page):
    """The viewer's line about the current event."""
    return page.page.locator("[data-pd=now]").inner_text()


def test_page_opens_from_disk_and_steps(page, trace, tmp_path):
    trace.to_html(tmp_path / "ring.html", state={"cursor": 0})
    page.open_static(tmp_path / "ring.html").wait_for("Before the first event")
    page.press("ArrowRight")
    page.wait_for(trace[0].what)
    page.press("End")
    page.wait_for(trace[len(trace) - 1].what)
    page.page.wait_for_url("**#pd=*")
    page.page.wait_for_timeout(500)  # the address follows a moment later
    page.page.reload()  # the address has kept the place
    page.wait_for(trace[len(trace) - 1].what)


def test_fragment_shows_the_viewer_inside_a_page(page, trace, tmp_path):
    from pallas_debug import views

    html = views.fragment(trace, pldb.check(trace), state={"cursor": 0})
    (tmp_path / "doc.html").write_text(f"<!doctype html>{html}", encoding="utf-8")
    page.page.goto((tmp_path / "doc.html").as_uri())
    frame = page.page.frame_locator("iframe")
    frame.get_by_text("Before the first event").wait_for()
    assert not page.page.get_by_text("launch 0", exact=False).first.is_visible()


def test_live_and_static_show_the_same_after_each_key(pages, trace, tmp_path):
    live, static = pages
    session = pldb.debug(trace)
    live.mount(session.widget()).wait_for("Before the first event")
    trace.to_html(tmp_path / "ring.html", state={"cursor": 0})
    static.open_static(tmp_path / "ring.html").wait_for("Before the first event")
    assert now(live) == now(static)
    for key in KEYS:
        for one in pages:
            one.press(key)
        live.page.wait_for_timeout(200)
        assert now(live) == now(static), key


def test_session_and_page_follow_each_other(page, trace):
    session = pldb.debug(trace)
    page.mount(session.widget()).wait_for("Before the first event")
    for count in (1, 2, 3):
        page.press("ArrowRight")
        page.wait_for(trace[count - 1].what)
        for _ in range(200):  # the page tells it a moment later
            if session.cursor == count:
                break
            page.page.wait_for_timeout(50)
        assert session.cursor == count
    session.last()
    page.wait_for(trace[len(trace) - 1].what)


def test_widget_survives_being_shown_twice(pages, trace):
    one, two = pages
    widget = pldb.debug(trace).widget()
    one.mount(widget).wait_for("Before the first event")
    two.mount(widget).wait_for("Before the first event")


def test_bundle_that_cannot_be_read_is_said_so(page, trace, tmp_path):
    text = trace.to_html()
    start = text.index('type="application/octet-stream">') + 32
    broken = text[: start + 40] + text[start + 80 :]
    (tmp_path / "broken.html").write_text(broken, encoding="utf-8")
    page.open_static(tmp_path / "broken.html").wait_for("trace")
    assert "damaged" in page.text() or "cut short" in page.text()


def test_page_of_a_kernel_with_a_name_that_is_html_is_harmless(page, tmp_path):
    t = tapes.Tape(name="</script><b id=evil>", grid=(1,))
    x = t.input("x", (4,))
    t.get(x)
    trace = t.trace(np.zeros(4, np.float32))
    trace.to_html(tmp_path / "x.html", state={"cursor": 0})
    page.open_static(tmp_path / "x.html").wait_for("Before the first event")
    assert page.page.locator("#evil").count() == 0


def test_recording_that_was_cut_goes_on_from_the_page(page):
    writer = Writer()
    run(ring(turns=400), writer, Options(max_events=900))
    session = pldb.debug(close(writer), options=Options(max_events=900))
    widget = session.widget()
    sizes, before = [], len(session.trace)
    page.mount(widget).wait_for("cut here: record more")
    deliver = widget.send
    later = []  # what the thread says; Playwright may be used by its own thread only

    def send(content, buffers=None):
        sizes.extend(len(part) for part in buffers or ())
        if "id" in content:
            deliver(content, buffers)
        else:
            later.append(content)

    widget.send = widget.host.tell = send
    page.press("End")
    page.page.wait_for_timeout(500)  # the page tells the session a moment later
    page.press("c")
    for _ in range(100):
        page.page.wait_for_timeout(100)  # Python answers meanwhile
        if any(content["type"] == "grown" for content in later):
            break
    for content in later:
        deliver(content)
    page.wait_for("went to the end")
    assert len(session.trace) > before
    page.wait_for(session.trace[len(session.trace) - 1].what)
    assert len(sizes) == 1
    whole, _ = widget.host.request("bundle", {"run": 0})
    assert "base" not in whole
    assert page.page.locator("[data-pd=more]").count() == int(session.is_cut)


def test_viewer_far_below_opens_when_it_is_scrolled_to(page, trace):
    from pallas_debug import views

    high = "<div style='height:5000px'></div>"
    html = f"<!doctype html>{high}{views.fragment(trace, state={'cursor': 0})}{high}"
    page.page.set_content(html)
    page.page.wait_for_timeout(1000)
    frame = page.page.frame_locator("iframe")
    assert frame.locator(".pd-frame").count() == 0
    before = page.page.evaluate("document.documentElement.scrollHeight")
    page.page.evaluate("scrollTo(0, 4700)")
    frame.get_by_text("Before the first event").wait_for()
    assert page.page.evaluate("document.documentElement.scrollHeight") == before


def test_widget_far_below_asks_for_nothing_until_it_is_seen(page, trace):
    widget = pldb.debug(trace).widget()
    page.mount(widget, above=5000)
    asked = widget.host.request
    requests = []
    widget.host.request = lambda kind, arguments: (
        requests.append(kind) or asked(kind, arguments)
    )
    page.page.wait_for_timeout(500)
    height = "document.getElementById('viewer').getBoundingClientRect().height"
    before = page.page.evaluate(height)
    assert "bundle" not in requests
    widget.view_state = {**widget.view_state, "cursor": 2}
    page.page.evaluate("scrollTo(0, 4700)")
    page.wait_for(trace[1].what)
    assert requests.count("bundle") == 1
    assert page.page.evaluate(height) == before > 300
