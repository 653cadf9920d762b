"""What is left of a notebook that is saved, closed and opened again, or made a page."""

import os
import pathlib
import subprocess
import sys

import nbformat
import pytest
from browser import Page
from jupyter import RUN, environment, opened, served

pytest.importorskip("nbconvert", reason="no nbconvert: pip install nbconvert")

from magic import test_jupyterlab  # and what it needs, this needs, too
from magic.test_jupyterlab import ROOT, SETUP

pytestmark = test_jupyterlab.pytestmark

CALL = "y = call(jnp.arange(4.0, dtype=jnp.float32))"
CELLS = (SETUP, f"%%pallas_debug --static\n{CALL}", f"%%pallas_debug\n{CALL}")
SAVE = """async () => {
  const { commands, shell } = window.jupyterapp;
  await commands.execute("docmanager:save");
  await shell.currentWidget.sessionContext.shutdown();
  await commands.execute("application:close");
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("saved")


@pytest.fixture(scope="module")
def saved(browser, folder):
    """A browser, a server, and a notebook that was run, saved and closed."""
    book = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(book, folder / "book.ipynb")
    with served(folder, PYTHONPATH=str(ROOT)) as address:
        page = opened(browser, address, "book.ipynb", cells=len(CELLS))
        for number in range(len(CELLS)):
            page.evaluate(RUN, number)
        page.evaluate(SAVE)
        page.close()
        yield browser, address


def screenshot(page, name, folder):
    page.screenshot(path=pathlib.Path(os.environ.get("SCREENSHOTS", folder)) / name)


def walk(page, frame):
    """Steps through a static view by keys."""
    frame.locator("[data-pd=now]").get_by_text("read x_ref[0:4]").wait_for()
    frame.locator(".pd-frame").focus()
    page.keyboard.press("Home")
    frame.get_by_text("Before the first event").wait_for()
    page.keyboard.press("End")
    frame.locator("[data-pd=now]").get_by_text("end").wait_for()


def test_notebook_that_is_opened_again_shows_its_static_view(saved, folder):
    browser, address = saved
    page = opened(browser, address, "book.ipynb", cells=len(CELLS))
    page.locator("iframe").first.scroll_into_view_if_needed()
    walk(page, page.frame_locator("iframe").first)
    screenshot(page, "reopened.png", folder)
    assert not page.outside
    assert not page.failed
    page.close()


def converted(browser, folder, name, *options):
    """The page that nbconvert makes of the notebook, opened from disk."""
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "book.ipynb"]
    subprocess.run(
        [*command, "--output", name, *options],
        cwd=folder,
        env=environment(folder / f".{name}", PYTHONPATH=str(ROOT)),
        check=True,
    )
    return Page(browser, width=1100, height=1400).open_static(folder / name).page


def test_page_of_a_notebook_that_nbconvert_executes_has_the_view(saved, folder):
    browser, _ = saved
    page = converted(browser, folder, "executed.html", "--execute")
    live = page.locator(".jp-Cell").nth(2)
    live.scroll_into_view_if_needed()
    walk(page, live.frame_locator("iframe"))


def test_page_made_of_the_notebook_has_the_view_and_a_summary(saved, folder):
    browser, _ = saved
    page = converted(browser, folder, "book.html")
    page.locator("iframe").first.scroll_into_view_if_needed()
    walk(page, page.frame_locator("iframe").first)
    screenshot(page, "nbconvert.png", folder)
    summary = page.locator(".jp-Cell").nth(2)
    summary.scroll_into_view_if_needed()
    assert "double" in summary.inner_text()
    assert "no findings" in summary.inner_text()
    assert summary.locator("script, iframe").count() == 0
