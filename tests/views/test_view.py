"""The table of views: a file's name picks the view that makes it."""

import json

import numpy as np
import pytest
from helpers import TraceBuilder

from pallas_debug import checks, errors, extend, views


@pytest.fixture
def recorded():
    b = TraceBuilder(grid=(1,), name="k")
    t = b.thread("warpgroup", block=0)
    t.read(b.buffer("x", (4,), role="input", initial=np.zeros(4)), [(2, 4)])
    trace = b.close()
    return trace, checks.run_checks(trace)


@pytest.fixture
def mine():
    """A view of the user's, taken away again."""

    @extend.view("mine", suffix=".mine.json")
    def draw(trace, report):
        return f"{len(trace)} events"

    yield draw
    views.VIEWS.remove("mine")
    views.SUFFIXES.remove(".mine.json")


def test_a_path_picks_the_view(recorded):
    made = {
        end: views.view_for(f"out/a.b{end}")
        for end in (".txt", ".summary.html", ".json")
    }
    assert [one.name for one in made.values()] == ["text", "summary-html", "json"]
    text, page, data = (one.function(*recorded) for one in made.values())
    assert text == views.summary(*recorded)
    assert json.loads(data) == views.facts(*recorded)
    assert page.startswith('<!doctype html><meta charset="utf-8"><title>k</title>')
    assert page.endswith(views.html_summary(*recorded))


def test_the_longest_suffix_wins(recorded, mine):
    assert views.view_for("a.mine.json").function is mine
    assert views.view_for("a.json").name == "json"
    assert views.VIEWS.get("mine").function(*recorded) == "1 events"


def test_a_suffix_has_one_view(mine):
    with pytest.raises(errors.DuplicateEntry, match=r"mine\.json.*twice"):
        extend.view("other", suffix=".mine.json")(lambda trace, report: "")
    assert "other" not in views.VIEWS


def test_an_unknown_suffix_offers_the_nearest():
    with pytest.raises(errors.UnknownEntry, match=r"`\.jsn`") as caught:
        views.view_for("a.b.jsn")
    assert "`.json`" in caught.value.next_step
    with pytest.raises(errors.UnknownEntry, match="`noend`"):
        views.view_for("noend")
