"""The viewer in a real browser: a page from disk and a live widget show the same."""

import numpy as np
import pytest
import tapes
from browser import Page
from helpers import TraceBuilder
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


LONG = "allocations['the_flat_in_smem_refs_of_it'][1]"


def in_blocks():
    """A launch whose buffers are nearly all in blocks, and an event in none."""
    assert pldb.Session
    b = TraceBuilder(grid=(4, 4))
    b.root.alloc(b.buffer("x_gmem", (4, 4)))
    for block in range(16):
        t = b.thread("warpgroup", block=block)
        for name in ("in_smem_refs[0]", "in_smem_refs[1]", LONG):
            t.alloc(b.buffer(name, (2, 64, 64), space="smem", block=block))
    return b.close()


def of_the_page(page, code, argument=None):
    """What JavaScript answers about the viewer's `root`."""
    root = "document.getElementById('viewer').shadowRoot"
    return page.page.evaluate(
        f"(argument) => {{ const root = {root}; {code} }}", argument
    )


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_buffers_in_blocks_are_opened_with_the_keyboard(page, tmp_path, key):
    state = {"cursor": 1, "memory": {"view": "buffers"}}
    in_blocks().to_html(tmp_path / "page.html", state=state)
    page.open_static(tmp_path / "page.html").wait_for("48 more in blocks: show all")
    of_the_page(page, "root.querySelector('.pd-buffers').focus()")
    page.page.keyboard.press("Tab")
    ring = "getComputedStyle(root.activeElement)"
    focused = (
        f"[root.activeElement.innerText, {ring}.outlineStyle, {ring}.outlineWidth]"
    )
    text, *outline = of_the_page(page, f"return {focused}")
    assert (text, outline) == ("48 more in blocks: show all", ["solid", "2px"])
    page.page.keyboard.press(key)
    page.page.keyboard.press("ArrowDown")  # the list has the focus now
    page.wait_for("in_smem_refs[0], float32[2, 64, 64]")
    assert now(page).startswith("alloc x_gmem")  # the cursor has stayed


@pytest.mark.parametrize("width", [420, 560, 1280, 1500, 2000])
def test_blocks_of_buffers_are_never_cut_off(browser, tmp_path, width):
    page = Page(browser, width=width)
    state = {"cursor": 3, "memory": {"every": True, "view": "buffers"}}
    in_blocks().to_html(tmp_path / "page.html", state=state)
    page.open_static(tmp_path / "page.html").wait_for("Findings")
    page.page.locator("[role=tab]", has_text="Memory").first.click()
    page.wait_for("(0, 1)")
    cells = """return [...root.querySelectorAll('.pd-buffer-name')].map((cell) => [
        cell.innerText.replace(/\\s+/g, " "), ...[cell, ...cell.children].map(
          (part) => part.scrollWidth <= part.clientWidth || !part.clientWidth)])"""
    found = of_the_page(page, cells)
    assert ["in_smem_refs[1] (0, 0)", True, True, True] in found
    short = [fits for name, *fits in found if LONG not in name]
    assert all(all(fits) for fits in short), found
    ends = """return [...root.querySelectorAll('.pd-tail')].map((part) => [
        part.innerText, part.getBoundingClientRect().right
          - part.firstElementChild.getBoundingClientRect().right])"""
    ends = of_the_page(page, ends)
    assert LONG in [name for name, _ in ends]
    assert all(space > -1 for _, space in ends), ends  # the end of a name is in view
    page.close()
    assert not page.errors
