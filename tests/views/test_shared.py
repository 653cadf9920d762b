"""Fragments with one script: in plain HTML and in a site that mkdocs builds."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from browser import Page
from helpers import TraceBuilder

from pallas_debug import checks, cli, views

HOWTO = Path(__file__).parents[2] / "docs" / "howto" / "embed.md"
TEXTS = """() => [...document.querySelectorAll(".pallas-debug-viewer")].map(
  (one) => one.shadowRoot?.querySelector(".pd-root")?.innerText ?? "")"""


def example(name):
    """The file of a name as the how-to page has it."""
    found = re.search(
        rf"```\w+\n# {re.escape(name)}\n(.*?)```", HOWTO.read_text(), re.S
    )
    return found[1]


def recorded(name):
    b = TraceBuilder(grid=(1,), name=name)
    t = b.thread("warpgroup", block=0)
    t.read(b.buffer("x", (4,), role="input", initial=np.zeros(4)), [(2, 4)])
    return b.close()


def seen(browser, path, width=1280):
    """The texts of the viewers of a page, read without a network."""
    page = Page(browser, width=width).open_static(path)
    page.page.wait_for_function(
        f"() => {{ const all = ({TEXTS})(); return all.length && all.every(Boolean); }}",
        timeout=30_000,
    )
    texts = page.page.evaluate(TEXTS)
    # The search of a site cannot start its worker from disk.
    assert not [error for error in page.errors if "search/worker.js" not in error]
    page.close()
    return texts


def test_fragment_has_no_script_of_its_own_and_nothing_that_ends_it():
    trace = recorded("</script><marquee>")
    part = views.shared_fragment(
        trace, checks.run_checks(trace), state={"filter": "</"}
    )
    kinds = re.findall(r'<script type="([^"]+)">', part)
    assert kinds == ["application/octet-stream", "application/json"]
    assert part.count("</script>") == 2
    assert "<marquee>" not in part
    assert "\n\n" not in part  # where Markdown would end an HTML block
    assert not re.search(r"(src|href)=", part)


@pytest.mark.browser
def test_two_fragments_of_a_plain_page_share_one_script(browser, tmp_path):
    for name in ("first", "second"):
        recorded(name).save(tmp_path / f"{name}.pldb")
        export = [str(tmp_path / f"{name}{end}") for end in (".pldb", ".fragment.html")]
        assert cli.main(["export", *export]) == 0
    script = str(tmp_path / "pallas-debug.viewer.js")
    assert cli.main(["export", str(tmp_path / "first.pldb"), script]) == 0
    page = re.search(r"```html\n(.*?)```", HOWTO.read_text(), re.S)[1]
    for place, name in (("ring", "first"), ("fixed", "second")):
        part = (tmp_path / f"{name}.fragment.html").read_text()
        comment = f"<!-- the contents of {place}.fragment.html -->"
        assert comment in page
        page = page.replace(comment, part)
    (tmp_path / "page.html").write_text(page)
    first, second = seen(browser, tmp_path / "page.html")
    assert "PD101" in first
    assert "first" in first
    assert "second" in second


@pytest.mark.browser
def test_mkdocs_site_of_the_howto_shows_its_viewers(browser, tmp_path):
    pytest.importorskip("mkdocs", reason="mkdocs is not installed")
    (tmp_path / "docs" / "traces").mkdir(parents=True)
    recorded("ring").save(tmp_path / "docs" / "traces" / "ring.pldb")
    line = "[pallas-debug: traces/ring.pldb]"
    (tmp_path / "docs" / "index.md").write_text(f"# T\n\n{line}\n\nand\n\n{line}\n")
    (tmp_path / "hooks.py").write_text(example("hooks.py"))
    # From disk a page has no folder of its own.
    config = example("mkdocs.yml") + "use_directory_urls: false\n"
    config += "theme: {name: mkdocs, highlightjs: false}\n"
    (tmp_path / "mkdocs.yml").write_text(config)
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-q"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(HOWTO.parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    for width in (1280, 390):
        texts = seen(browser, tmp_path / "site" / "index.html", width)
        assert len(texts) == 2
        assert all("PD101" in text for text in texts)
