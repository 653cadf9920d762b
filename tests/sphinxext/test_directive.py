"""The directive in small projects, built by Sphinx itself."""

import html
import io
import json
import re
import shutil
import sys
import zipfile

import pytest

import pallas_debug as pldb
from pallas_debug import gallery, views

pytest.importorskip("sphinx", reason="the docs extra is not installed")

RECORDED = """
Title
=====

.. pallas-debug::
   :caption: A *tile* is read too early
   :height: 500
   :cursor: 3
   :show-code:

   from pallas_debug import gallery
   fn, args = gallery.ENTRIES["unwaited_copy"].faulty()
   fn(*args)

.. pallas-debug:: run.pldb
"""


def build(folder, builder, index, *, suffix=".rst", conf=""):
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    source = folder / "source"
    source.mkdir(exist_ok=True)
    (source / "conf.py").write_text(
        f"extensions = ['pallas_debug.sphinxext']\nlatex_engine = 'xelatex'\n{conf}\n"
    )
    (source / f"index{suffix}").write_text(index)
    out, warnings = folder / builder, io.StringIO()
    with patch_docutils(), docutils_namespace():  # several builds in one process
        app = Sphinx(
            str(source),
            str(source),
            str(out),
            str(folder / "doctrees"),
            builder,
            status=None,
            warning=warnings,
            freshenv=True,
        )
        app.build()
    return out, warnings.getvalue()


@pytest.fixture
def project(tmp_path):
    (tmp_path / "source").mkdir()
    fn, args = gallery.ENTRIES["past_the_end"].faulty()
    pldb.trace(fn, *args).save(tmp_path / "source" / "run.pldb")
    return tmp_path


def without_scripts(text):
    """The pictures that a page shows where no script runs."""
    return sorted(
        re.findall(r'<noscript>\s*<img [^>]*src="[./]*_images/([^"]+)"', text)
    )


def test_html_has_two_viewers_code_and_caption(project):
    out, warnings = build(project, "html", RECORDED)
    text = (out / "index.html").read_text()
    assert not warnings
    assert text.count("<iframe") == 2
    assert without_scripts(text) == sorted(p.name for p in out.glob("_images/*.png"))
    assert "height:500px" in text
    assert "<em>tile</em> is read too early" in text
    assert "gallery" in text
    assert "PD102" in text
    assert "PD101" in text
    assert "https://" not in text.partition("<iframe")[2].partition("srcdoc")[0]


CONF = """
project = 'python'
version = '1'
copyright = 'nobody'
man_pages = [('index', 'python', '', [], 1)]
"""


@pytest.mark.parametrize(
    ("builder", "file", "picture"),
    [
        ("text", "index.txt", r"\[image: a run of double\]"),
        ("man", "python.1", r"a run of double"),
        ("latex", "python.tex", r"includegraphics.*\{\{run-\w+\}\.pdf\}"),
        ("epub", "index.xhtml", r"_images/run-\w+\.png"),
    ],
)
def test_other_builders_show_picture_and_summary(project, builder, file, picture):
    out, warnings = build(project, builder, RECORDED, conf=CONF)
    text = (out / file).read_text()
    assert not warnings
    assert "iframe" not in text
    assert "PD102" in text
    assert "uninitialized" in text
    assert len(set(re.findall(picture, text))) == (
        1 if builder in ("text", "man") else 2
    )
    if builder == "latex":
        assert len(list(out.glob("run-*.pdf"))) == 2
    if builder == "epub":
        names = zipfile.ZipFile(next(out.glob("*.epub"))).namelist()
        assert sum("_images/run-" in name for name in names) == 2


def test_every_page_of_dirhtml_finds_its_pictures(project):
    (project / "source" / "below").mkdir()
    page = "T\n=\n\n.. pallas-debug:: /run.pldb\n"
    (project / "source" / "below" / "page.rst").write_text(page)
    index = f"{RECORDED}\n.. toctree::\n\n   below/page\n"
    out, warnings = build(project, "dirhtml", index)
    assert not warnings
    for place, count in (("index.html", 2), ("below/page/index.html", 1)):
        text = (out / place).read_text()
        assert len(without_scripts(text)) == count
        for source in re.findall(r'<noscript>\s*<img [^>]*src="([^"]+)"', text):
            assert (out / place).parent.joinpath(source).is_file()


def test_without_matplotlib_there_is_text_and_no_picture(project, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    out, warnings = build(project, "text", "T\n=\n\n.. pallas-debug:: run.pldb\n")
    assert not warnings
    assert "[image" not in (out / "index.txt").read_text()


def test_options_become_the_view_state(project):
    index = (
        "T\n=\n\n.. pallas-debug:: run.pldb\n   :cursor: 3\n   :panels: events, grid\n"
    )
    out, warnings = build(project, "html", index)
    assert not warnings
    inner = html.unescape(re.search(r'srcdoc="([^"]*)"', read(out))[1])
    state = json.loads(re.search(r'<script id="state"[^>]*>(.*?)</script>', inner)[1])
    assert state["cursor"] == 3
    assert state["panel"] == {"order": ["events", "grid"]}


def read(out):
    return (out / "index.html").read_text()


@pytest.mark.parametrize(
    ("directive", "said"),
    [
        (".. pallas-debug::\n", "a trace file or code"),
        (".. pallas-debug:: missing.pldb\n", "there is no trace file"),
        (".. pallas-debug::\n\n   x = 1\n", "launches no kernel"),
        (".. pallas-debug::\n\n   1 / 0\n", "ZeroDivisionError"),
        (".. pallas-debug:: index.rst\n", "is not a trace"),
        (".. pallas-debug::\n   :cores: none\n\n   x = 1\n", "invalid option value"),
        (".. pallas-debug:: run.pldb\n   :cursor: 9999\n", "accepted: 0 … "),
        (".. pallas-debug:: run.pldb\n   :panels: grd\n", "`source`, `grid`, "),
    ],
)
def test_mistake_is_a_warning_with_its_place(project, directive, said):
    _, warnings = build(project, "html", f"T\n=\n\n{directive}")
    assert said in warnings
    assert "index.rst:4:" in warnings


def test_myst_documents_use_it_as_well(project):
    pytest.importorskip("myst_parser", reason="the docs extra is not installed")
    index = "# T\n\n```{pallas-debug} run.pldb\n:caption: From a file\n```\n"
    conf = "extensions.append('myst_parser')"
    out, warnings = build(project, "html", index, suffix=".md", conf=conf)
    assert not warnings
    assert "<iframe" in (out / "index.html").read_text()


def notebook(folder, markdown):
    """A notebook with a viewer in an output, and a directive in a raw cell."""
    import nbformat
    from nbformat import v4

    trace = pldb.load(folder / "source" / "run.pldb")
    part = views.fragment(trace, pldb.check(trace))
    output = v4.new_output("display_data", {"text/html": part, "text/plain": "…"})
    cells = [
        v4.new_raw_cell(
            "Title\n=====\n", metadata={"raw_mimetype": "text/restructuredtext"}
        ),
        v4.new_code_cell("views.fragment(trace, report)", outputs=[output]),
        v4.new_raw_cell(
            ".. pallas-debug:: run.pldb\n   :caption: From a file\n",
            metadata={"raw_mimetype": "text/restructuredtext"},
        ),
    ]
    if markdown:
        cells.insert(1, v4.new_markdown_cell("Some *words* between."))
    made = v4.new_notebook(cells=cells)
    nbformat.write(made, folder / "source" / "run.ipynb")


@pytest.mark.filterwarnings("ignore:.*nbsphinx.*")
@pytest.mark.parametrize("markdown", [False, True])
def test_nbsphinx_shows_outputs_and_directives_of_a_notebook(project, markdown):
    """Without Markdown cells nbsphinx needs no pandoc."""
    pytest.importorskip("nbsphinx", reason="nbsphinx is not installed")
    if markdown and not shutil.which("pandoc"):
        pytest.skip("nbsphinx converts Markdown cells with pandoc, which is not here")
    notebook(project, markdown)
    index = "T\n=\n\n.. toctree::\n\n   run\n"
    conf = "extensions.append('nbsphinx')\nnbsphinx_execute = 'never'"
    out, warnings = build(project, "html", index, conf=conf)
    text = (out / "run.html").read_text()
    assert not warnings
    assert text.count("<iframe") == 2
    assert len(without_scripts(text)) == 1
    assert ("<em>words</em>" in text) == markdown
