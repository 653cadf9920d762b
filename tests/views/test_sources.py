"""The source that the viewer shows: from the file while it says what was recorded."""

import linecache
import sys

import pytest

from pallas_debug import ir
from pallas_debug.views import sources
from pallas_debug.views.sources import LONG, SHORT, Sources

BODY = '''"""A module."""


def helper(x):
    return x


def kernel(x_ref, o_ref):
    value = x_ref[...]  # the load
    o_ref[...] = value + 1
'''


@pytest.fixture
def file(tmp_path):
    """Writes a file and gives its name."""

    def write(text, name="kernels.py"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        linecache.clearcache()
        return str(path)

    yield write
    linecache.clearcache()


def loc(file, line, text):
    return ir.Loc(file=file, line=line, function="kernel", text=text)


def only(*locs, own=-1):
    kernel = ir.Kernel(name="k", backend="generic", tape=(), locs=locs, loc=own)
    (entry,) = Sources([kernel]).entries
    return entry


def test_short_file_is_shown_as_a_whole(file):
    name = file(BODY)
    entry = only(loc(name, 9, "value = x_ref[...]  # the load"))
    assert (entry.start, "\n".join(entry.lines) + "\n") == (1, BODY)
    assert entry.name == "kernels.py"
    assert entry.to_json()["file"] == name


def test_of_a_long_file_the_kernels_statements_are_shown(file):
    blank = "x = 0\n" * SHORT
    name = file(blank + BODY + blank)
    entry = only(loc(name, SHORT + 9, "value = x_ref[...]  # the load"))
    assert entry.start == SHORT + 8
    assert entry.lines[0] == "def kernel(x_ref, o_ref):"
    assert len(entry.lines) == 3


def test_between_kernels_far_apart_lines_stay_empty(file):
    name = file(BODY + "x = 0\n" * LONG + BODY)
    text = "value = x_ref[...]  # the load"
    entry = only(loc(name, 9, text), loc(name, LONG + 19, text))
    assert (entry.start, len(entry.lines)) == (8, LONG + 13)
    assert sum(map(bool, entry.lines)) == 6


def test_changed_file_is_not_shown_but_what_was_recorded(file):
    name = file(BODY.replace("x_ref[...]  #", "x_ref[0]  #"))
    entry = only(
        loc(name, 9, "value = x_ref[...]  # the load"),
        loc(name, 11, "a = (\n    1)"),
    )
    assert entry.start == 9
    assert entry.lines == ("value = x_ref[...]  # the load", "", "a = (", "    1)")


def test_missing_file_shows_what_was_recorded():
    entry = only(loc("nowhere/k.py", 41, "x = 1"))
    assert (entry.start, entry.lines, entry.name) == (41, ("x = 1",), "k.py")
    assert only(loc("nowhere/k.py", 41, "")).lines == ("",)


def test_cell_with_magics_is_shown_as_a_whole(file):
    name = file("%load_ext x\n" + "x = 0\n" * SHORT)
    assert len(only(loc(name, 5, "x = 0")).lines) == SHORT + 1


def test_cell_shows_the_magics_that_were_typed(file):
    name = file(
        "get_ipython().run_line_magic('pallas_debug_begin', '-o t')\n"
        "if x:\n"
        "    get_ipython().run_line_magic('time', \"f('a')\")\n"
        "get_ipython().run_line_magic('matplotlib', '')\n"
        "get_ipython().run_line_magic(name, line)\n"
    )
    assert only(loc(name, 2, "if x:")).lines == (
        "%%pallas_debug -o t",
        "if x:",
        "    %time f('a')",
        "%matplotlib",
        "get_ipython().run_line_magic(name, line)",
    )


def test_the_kernels_own_file_comes_first(file):
    locs = (loc("a.py", 1, "x"), loc("b.py", 2, "y"), loc("a.py", 3, "z"))
    kernel = ir.Kernel(name="k", backend="generic", tape=(), locs=locs, loc=1)
    found = Sources([kernel])
    assert [entry.file for entry in found.entries] == ["b.py", "a.py"]
    assert found.place(locs[2]) == [1, 3]
    assert found.place(None) == found.place(loc("c.py", 1, "")) == [-1, 0]


def test_words_are_colored_line_by_line():
    rows = sources.colors()('def f(x):\n    """A\n    b"""\n    return 0x1 + f"{x}"')
    assert [["".join(w for w, _ in row)] for row in rows] == [
        ["def f(x):"],
        ['    """A'],
        ['    b"""'],
        ['    return 0x1 + f"{x}"'],
    ]
    assert rows[0][0] == ["def", "k"]
    assert rows[0][2] == ["f", "nf"]
    assert rows[2] == [['    b"""', "sd"]]
    assert ["0x1", "mh"] in rows[3]
    classes = {color for row in rows for _, color in row}
    assert not classes & sources.UNCOLORED


@pytest.mark.parametrize("text", ["", "x", "x\n", "\n\nx", "'''\n", "\tx  \n  "])
def test_no_line_and_no_letter_is_lost(text):
    rows = sources.colors()(text)
    assert ["".join(w for w, _ in row) for row in rows] == text.split("\n")


def test_without_pygments_the_words_are_plain(monkeypatch):
    for name in [n for n in sys.modules if n.partition(".")[0] == "pygments"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pygments", None)
    assert sources.colors()("def f():\n\n  x") == [
        [["def f():", ""]],
        [],
        [["  x", ""]],
    ]
