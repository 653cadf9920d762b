"""Takes the picture of the viewer that the README shows: JupyterLab with a race.

    python docs/picture.py

runs the first cells of a notebook in a server of its own and a headless Chromium, chooses
the finding, and writes `docs/_static/viewer.png`. It needs what the browser's tests need.
"""

import json
import pathlib
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from browser import launch
from jupyter import RUN, opened, served
from playwright.sync_api import sync_playwright

NOTEBOOK = ROOT / "notebooks" / "02_find_a_race.ipynb"
PICTURE = ROOT / "docs" / "_static" / "viewer.png"
SIZE = {"width": 1500, "height": 1080}
WIDGET = "application/vnd.jupyter.widget-view+json"
KIND = "(i) => window.jupyterapp.shell.currentWidget.content.widgets[i].model.type"
ALONE = "() => window.jupyterapp.shell.collapseLeft()"
TO_TOP = "(i) => shell.currentWidget.content.widgets[i].node.scrollIntoView()".replace(
    "shell", "window.jupyterapp.shell"
)


def take(page, count):
    """Runs cells up to the first viewer and takes a picture of it."""
    page.set_viewport_size(SIZE)
    page.evaluate(ALONE)
    for number in range(count):
        if page.evaluate(KIND, number) != "code":
            continue
        outputs = json.loads(page.evaluate(RUN, number))
        if any(WIDGET in out.get("data", {}) for out in outputs):
            break
    page.evaluate(TO_TOP, number)
    frame = page.locator(".pd-frame").first
    frame.get_by_text("Findings").wait_for()
    frame.focus()
    page.keyboard.press("f")
    frame.get_by_text("Replay its schedule").wait_for()
    page.wait_for_timeout(1500)  # fonts, and canvases that are drawn when nobody waits
    page.screenshot(path=PICTURE)


def main():
    """The picture, anew."""
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        shutil.copy(NOTEBOOK, home / NOTEBOOK.name)
        count = len(json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"])
        server = served(home, PYTHONPATH=str(ROOT))
        with server as address, sync_playwright() as playwright:
            browser = launch(playwright)
            page = opened(browser, address, NOTEBOOK.name, cells=count)
            take(page, count)
            browser.close()


if __name__ == "__main__":
    main()
