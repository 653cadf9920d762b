"""What the magics show: a live viewer in a notebook, a page, text, or the summary."""

import types

import numpy as np
import pytest
from helpers import TraceBuilder

pytest.importorskip("IPython")

import pallas_debug as pldb
from pallas_debug import views
from pallas_debug.magic import display
from pallas_debug.views import scripts

TERMINAL = types.SimpleNamespace()
NOTEBOOK = types.SimpleNamespace(kernel=object())


def executed(allow_stdin):
    """A notebook whose cell was sent by a front end that takes input, or does not."""
    parent = {"content": {"allow_stdin": allow_stdin}}
    kernel = types.SimpleNamespace(get_parent=lambda: parent)
    return types.SimpleNamespace(kernel=kernel)


@pytest.fixture
def trace():
    b = TraceBuilder(grid=(1,), name="k")
    t = b.thread("warpgroup", block=0)
    t.read(b.buffer("x", (4,), initial=np.zeros(4, np.float32)), [(2, 4)])
    return b.close()


@pytest.fixture
def built(monkeypatch):
    """Whether the viewer's scripts are there does not matter here."""
    monkeypatch.setattr(views, "has_widgets", lambda: True)
    monkeypatch.setattr(scripts, "script", lambda name: "/* script */")


def test_notebook_shows_a_live_session(trace, built):
    shown = display.shown(trace, NOTEBOOK)
    assert isinstance(shown, pldb.Session)
    assert shown.trace is trace
    mine = pldb.debug(trace)
    assert display.shown(trace, NOTEBOOK, session=mine) is mine


def test_terminal_and_an_installation_without_widgets_show_the_summary(
    trace, monkeypatch
):
    assert display.shown(trace, TERMINAL) is trace
    monkeypatch.setattr(views, "has_widgets", lambda: False)
    assert display.shown(trace, NOTEBOOK) is trace


def test_static_shows_the_page(trace, built):
    data = display.shown(trace, TERMINAL, static=True)._repr_mimebundle_()
    report = pldb.check(trace)
    assert data["text/html"] == views.fragment(trace, report)
    assert data["text/plain"] == views.summary(trace, report)


def test_notebook_that_a_program_executes_keeps_the_page(trace, built):
    assert isinstance(display.shown(trace, executed(True)), pldb.Session)
    page = display.shown(trace, executed(False))._repr_mimebundle_()
    assert page["text/html"] == views.fragment(trace, pldb.check(trace))


def test_text_shows_text_only(trace):
    shown = display.shown(trace, NOTEBOOK, text=True)
    assert repr(shown) == views.summary(trace, pldb.check(trace))
    assert not hasattr(shown, "_repr_html_")


def test_trace_as_a_cells_value_shows_what_was_chosen(trace, built, monkeypatch):
    class Chosen:
        def _repr_mimebundle_(self, **options):
            return {"text/plain": "chosen", "text/html": "<b>chosen</b>"}, {}

    assert display.showing_itself(trace, NOTEBOOK, session=Chosen()) is trace
    assert trace._repr_mimebundle_()[0]["text/plain"] == "chosen"
    assert trace._repr_html_() == "<b>chosen</b>"
    display.showing_itself(trace, NOTEBOOK, text=True)
    assert trace._repr_mimebundle_() == {"text/plain": str(display.Text(trace))}
    assert trace._repr_html_() is None


def test_trace_as_a_cells_value_in_a_terminal_shows_its_summary(trace):
    display.showing_itself(trace, TERMINAL)
    assert trace._repr_html_() == views.html_summary(trace, pldb.check(trace))
