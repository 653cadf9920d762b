"""The directive in small projects, built by Sphinx itself."""

import io

import pytest

import pallas_debug as pldb
from pallas_debug import gallery

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


def test_html_has_two_viewers_code_and_caption(project):
    out, warnings = build(project, "html", RECORDED)
    text = (out / "index.html").read_text()
    assert not warnings
    assert text.count("<iframe") == 2
    assert "height:500px" in text
    assert "<em>tile</em> is read too early" in text
    assert "gallery" in text
    assert "PD102" in text
    assert "PD101" in text
    assert "https://" not in text.partition("<iframe")[2].partition("srcdoc")[0]


@pytest.mark.parametrize(
    ("builder", "file"),
    [("text", "index.txt"), ("man", "python.1"), ("latex", "python.tex")],
)
def test_other_builders_show_the_summary(project, builder, file):
    conf = "project = 'python'\nman_pages = [('index', 'python', '', [], 1)]\n"
    out, warnings = build(project, builder, RECORDED, conf=conf)
    text = (out / file).read_text()
    assert not warnings
    assert "iframe" not in text
    assert "PD102" in text
    assert "uninitialized" in text


@pytest.mark.parametrize(
    ("directive", "said"),
    [
        (".. pallas-debug::\n", "a trace file or code"),
        (".. pallas-debug:: missing.pldb\n", "there is no trace file"),
        (".. pallas-debug::\n\n   x = 1\n", "launches no kernel"),
        (".. pallas-debug::\n\n   1 / 0\n", "ZeroDivisionError"),
        (".. pallas-debug:: index.rst\n", "is not a trace"),
        (".. pallas-debug::\n   :cores: none\n\n   x = 1\n", "invalid option value"),
    ],
)
def test_mistake_is_a_warning_with_its_place(project, directive, said):
    _, warnings = build(project, "html", f"T\n=\n\n{directive}")
    assert said in warnings
    assert "index.rst:" in warnings


def test_myst_documents_use_it_as_well(project):
    pytest.importorskip("myst_parser", reason="the docs extra is not installed")
    index = "# T\n\n```{pallas-debug} run.pldb\n:caption: From a file\n```\n"
    conf = "extensions.append('myst_parser')"
    out, warnings = build(project, "html", index, suffix=".md", conf=conf)
    assert not warnings
    assert "<iframe" in (out / "index.html").read_text()
