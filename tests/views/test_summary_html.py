"""The HTML summary: no script, everything escaped, small, no theme forced on the page."""

import html.parser
import re

from helpers import TraceBuilder

from pallas_debug import views
from pallas_debug.checks import Finding, Report, Severity
from pallas_debug.ir import Loc
from pallas_debug.views import summary_html

NASTY = "<script>alert(1)</script>&\"'"
VOID = {"br"}


class Tags(html.parser.HTMLParser):
    """Collects tags and checks that they are balanced."""

    def __init__(self):
        super().__init__()
        self.seen, self.open = set(), []

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def tags(page):
    parser = Tags()
    parser.feed(page)
    assert parser.open == []
    return parser.seen


def nasty(count=1):
    b = TraceBuilder(grid=(1,), name=NASTY)
    t = b.thread("warpgroup", block=0)
    for number in range(count):
        t.write(b.buffer(f"{NASTY}{number}", (2,), role="output"))
    loc = Loc(file=f"{NASTY}.py", line=1, function=NASTY, text=NASTY)
    one = Finding(
        code="PD101",
        name=NASTY,
        message=NASTY,
        hint=NASTY,
        severity=Severity.ERROR,
        loc=loc,
    )
    return b.close(message=NASTY), Report(findings=(one,) * count)


def test_everything_is_escaped_and_there_is_no_script():
    page = views.html_summary(*nasty())
    assert "<script" not in page
    assert tags(page) <= {
        *("div", "b", "br", "table", "thead", "tbody", "tr", "th", "td"),
        *("ul", "li", "code", "i"),
    }


def test_page_stays_small_however_much_there_is():
    page = views.html_summary(*nasty(500))
    assert len(page.encode()) <= summary_html.LIMIT
    assert "more" in page
    tags(page)


def test_no_color_of_text_or_background_is_forced():
    page = views.html_summary(*nasty())
    assert not re.search(r"background:(?!none)", page)
    # Colors stand on the words that name a severity only.
    assert len(re.findall(r"color:#", page)) == 1


def test_fragment_does_not_begin_with_a_frame():
    assert views.html_summary(*nasty()).startswith("<div")


def test_printed_texts_are_shown_and_escaped():
    b = TraceBuilder(grid=(2,))
    b.thread("warpgroup", block=1).print("a < b")
    page = views.html_summary(b.close(), Report())
    assert "(1,)  a &lt; b" in page
    assert "pre" in tags(page)
