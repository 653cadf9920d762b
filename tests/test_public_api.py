"""The public surface: at most twelve names, each loads, none is shadowed."""

import inspect
import subprocess
import sys

import pytest

import pallas_debug as pldb

PUBLIC = {
    "trace",
    "check",
    "debug",
    "recording",
    "load",
    "compare",
    "portability",
    "Options",
    "Trace",
    "Session",
    "Report",
    "Finding",
}


def test_public_names_are_the_listed_ones():
    assert set(pldb.__all__) == PUBLIC
    assert len(pldb.__all__) <= 12
    assert set(dir(pldb)) == PUBLIC | {"__version__"}


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_public_name_loads_and_is_documented(name):
    assert inspect.getdoc(getattr(pldb, name))


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'tracer'"):
        pldb.tracer


@pytest.mark.parametrize(
    "first",
    [
        "import pallas_debug.trace",
        "from pallas_debug.trace import Trace",
        "import pallas_debug.session",
        "from pallas_debug import trace",
    ],
)
def test_trace_is_the_verb_whatever_was_imported_first(first):
    script = f"{first}\nimport pallas_debug as p\nassert callable(p.trace), p.trace"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_trace_can_be_replaced_for_a_test(monkeypatch):
    monkeypatch.setattr(pldb, "trace", len)
    assert pldb.trace is len
    monkeypatch.undo()
    assert pldb.trace is not len


def test_version_is_a_release_number():
    assert all(part.isdigit() for part in pldb.__version__.split("."))
