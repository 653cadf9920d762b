"""Steps in a real browser: what a page has come to show is what a fresh page shows."""

import random

import pytest
from browser import Page
from kernels import ring

import pallas_debug as pldb
from pallas_debug.machine import Options, run
from pallas_debug.trace import Writer, close

pytestmark = pytest.mark.browser
KEYS = ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp", "t", "b", "m")
SIZES = {"wide": (1280, 800), "narrow": (600, 800)}
SHOWN = """() => {
  const root = document.getElementById("viewer").shadowRoot;
  const seen = (element) => element.checkVisibility({ visibilityProperty: true });
  const texts = document.createTreeWalker(root.querySelector(".pd-frame"), 4);
  const text = [];
  while (texts.nextNode()) {
    const { parentElement, data } = texts.currentNode;
    if (seen(parentElement) && !parentElement.closest(".pd-vrow")) text.push(data);
  }
  const rows = {};
  for (const row of root.querySelectorAll(".pd-vrow")) {
    const list = row.closest(".pd-virtual").getAttribute("aria-label");
    if (seen(row)) rows[`${list} ${row.style.top}`] = [row.innerText, row.querySelector(
      ".pd-current, [aria-selected=true]") !== null];
  }
  return {
    text,
    rows,
    field: root.querySelector("[data-pd=position]").value,
    pictures: [...root.querySelectorAll("canvas")].filter(seen).map((one) => [
      one.getAttribute("aria-label"), one.toDataURL()]),
  };
}"""


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    assert pldb.Session  # its import tells a trace what its page is
    writer = Writer()
    run(ring(), writer, Options())
    path = tmp_path_factory.mktemp("steps") / "ring.html"
    close(writer).to_html(path, state={"cursor": 0})
    return path


def settled(page):
    """What a page shows once nothing in it changes any more."""
    page.page.wait_for_timeout(400)  # the address follows a moment later
    before = page.page.evaluate(SHOWN)
    page.page.wait_for_timeout(200)
    assert page.page.evaluate(SHOWN) == before
    return before


def to_and_fro(page):
    """The last steps are the same ones: a picture marks what they changed."""
    for key in ("ArrowLeft", "ArrowRight"):
        page.press(key)
        page.page.wait_for_timeout(150)
    return settled(page)


@pytest.mark.parametrize(("size", "scheme"), [("wide", "light"), ("narrow", "dark")])
@pytest.mark.parametrize("tabs", [(), ("Threads", "Variables"), ("Events",)])
def test_a_page_after_many_keys_shows_what_a_fresh_one_does(
    browser, html, size, tabs, scheme
):
    page = Page(browser, *SIZES[size])
    page.page.emulate_media(color_scheme=scheme)
    page.open_static(html).wait_for("Before the first event")
    for tab in tabs:
        page.page.locator("[role=tab]", has_text=tab).first.click()
    chance = random.Random(f"{size} {tabs}")
    for _ in range(40):
        page.press(chance.choice(KEYS))
        if not chance.randrange(4):
            page.page.wait_for_timeout(60)
    after = to_and_fro(page)
    page.page.reload()  # the address has kept the state
    page.page.wait_for_function(
        "() => document.getElementById('viewer').shadowRoot?.querySelector('canvas')"
    )
    settled(page)
    anew = to_and_fro(page)
    assert after["text"] == anew["text"]
    # How far a list is scrolled is the way that led there.
    both = after["rows"].keys() & anew["rows"].keys()
    assert {one: after["rows"][one] for one in both} == {
        one: anew["rows"][one] for one in both
    }
    assert sum(current for _, current in (after["rows"][one] for one in both)) > 0
    assert after["field"] == anew["field"] != ""
    assert [name for name, _ in after["pictures"]] == [n for n, _ in anew["pictures"]]
    for (name, picture), (_, fresh) in zip(
        after["pictures"], anew["pictures"], strict=True
    ):
        assert picture == fresh, name
    assert not page.errors
    page.close()
