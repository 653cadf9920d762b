"""The view state that Python writes is the one that the page reads."""

import re
from pathlib import Path

import numpy as np
import pytest
from helpers import TraceBuilder

from pallas_debug import errors, views

SOURCES = Path(__file__).parents[2] / "js_widgets" / "src"


def recorded():
    b = TraceBuilder(grid=(1,))
    b.thread(block=0).read(b.buffer("x", (4,), initial=np.zeros(4)))
    return b.close()


def test_panels_are_those_of_the_page_in_its_order():
    index = (SOURCES / "panels" / "index.ts").read_text()
    order = re.search(r"PANELS[^=]*= \[(.*?)\]", index, re.S)[1]
    assert tuple(re.findall(r"\w+", order)) == views.PANELS
    panels = [path.read_text() for path in (SOURCES / "panels").rglob("*.tsx")]
    ids = re.findall(r'Panel = \{\s*id: "(\w+)"', "\n".join(panels))
    assert sorted(ids) == sorted(views.PANELS)


def test_state_names_the_cursor_and_the_panels_in_front():
    state = views.view_state(recorded(), cursor=1, panels=["events", "grid"])
    assert state == {"v": 1, "cursor": 1, "panel": {"order": ["events", "grid"]}}
    layout = (SOURCES / "ui" / "layout.tsx").read_text()
    assert "panel.value.order" in layout
    assert views.view_state(recorded()) == {"v": 1}


@pytest.mark.parametrize("wrong", [{"cursor": 2}, {"cursor": -1}, {"panels": ["grd"]}])
def test_what_the_page_does_not_know_is_refused(wrong):
    with pytest.raises(errors.BadOption, match="accepted: "):
        views.view_state(recorded(), **wrong)
