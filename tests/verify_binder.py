"""Builds what Binder builds, in a fresh environment, and opens the start notebook in it.

    python tests/verify_binder.py [SCREENSHOT.png]

Follows `binder/` as repo2docker does, less conda: the Python of `environment.yml`, the
packages of repo2docker's own base, then `postBuild` from the root, where no build tool
answers. Needs a package index, that Python, and a Chromium; says so where one is
missing, and ends well. Ends with an error where Binder's users would see one.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from browser import chromium, launch
from jupyter import RUN, opened, served

ROOT = pathlib.Path(__file__).resolve().parent.parent
START = "notebooks/01_first_look.ipynb"
BASE = ("jupyterlab==4.4.9", "ipywidgets==8.1.7")  # repo2docker 2026.4
MOST_BYTES = 1_500_000_000
TOOLS = ("node", "npm", "npx", "yarn", "cc", "gcc", "g++", "make", "cmake", "cargo")
SHOW = """(number) => {
  const cell = window.jupyterapp.shell.currentWidget.content.widgets[number];
  cell.node.scrollIntoView({ block: "end" });
}"""
STUB = '#!/bin/sh\necho "$0 $*" >> "{log}"\nexit 97\n'


class Missing(Exception):
    """What this machine lacks."""


def wanted_python():
    """The Python of `environment.yml`."""
    text = (ROOT / "binder" / "environment.yml").read_text(encoding="utf-8")
    version = re.search(r"- python=(\d+\.\d+)", text)[1]
    found = [sys.executable, shutil.which(f"python{version}")]
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    for python in filter(None, found):
        done = subprocess.run([python, "-c", ask], capture_output=True, text=True)
        if done.stdout.strip() == version:
            return python
    raise Missing(f"no Python {version}")


def built(folder, python):
    """The environment's Python, after `postBuild`; no build tool has been called."""
    subprocess.run([python, "-m", "venv", folder / "venv"], check=True)
    tools, log = folder / "tools", folder / "called"
    tools.mkdir()
    for name in TOOLS:
        (tools / name).write_text(STUB.format(log=log), encoding="utf-8")
        (tools / name).chmod(0o755)
    path = os.pathsep.join([str(folder / "venv" / "bin"), str(tools), os.defpath])
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"PATH": path}
    pip = [folder / "venv" / "bin" / "python", "-m", "pip", "install", "-q", *BASE]
    if subprocess.run(pip, env=env, cwd=folder).returncode:
        raise Missing("no package index")
    subprocess.run([ROOT / "binder" / "postBuild"], env=env, cwd=ROOT, check=True)
    assert not log.exists(), f"the build called a tool: {log.read_text()}"
    return pip[0]


def size_of(folder):
    """Bytes of a folder's files."""
    files = (path.lstat() for path in folder.rglob("*") if not path.is_dir())
    return sum(one.st_size for one in files)


def walked(folder, python, screenshot):
    """Runs the start notebook as a reader does, cell by cell, up to the last viewer."""
    from playwright.sync_api import sync_playwright

    root = folder / "home"
    shutil.copytree(ROOT / "notebooks", root / "notebooks")
    cells = json.loads((ROOT / START).read_text(encoding="utf-8"))["cells"]
    with served(root, python=python) as address, sync_playwright() as playwright:
        page = opened(launch(playwright), address, START, cells=len(cells))
        shown = 0
        for number, cell in enumerate(cells):
            outputs = json.loads(page.evaluate(RUN, number))
            broken = [one for one in outputs if one["output_type"] == "error"]
            assert not broken, broken
            if "".join(cell["source"]).startswith("%%pallas_debug"):
                page.evaluate(SHOW, number)  # a viewer opens when it is seen
                page.locator(".pd-frame").nth(shown).wait_for()
                shown += 1
                if shown == 1:
                    step(page)
                    page.screenshot(path=screenshot)
        assert shown, "the notebook shows no viewer"
        assert not page.outside, page.outside
        assert not page.failed, page.failed
    return shown


def step(page):
    """The viewer is alive: an arrow key goes to the next event."""
    frame, now = page.locator(".pd-frame").first, page.locator("[data-pd=now]").first
    before = now.inner_text()
    frame.scroll_into_view_if_needed()
    frame.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "([now, before]) => now.innerText !== before",
        arg=[now.element_handle(), before],
    )


def main(words):
    """Builds, measures, looks; returns the exit code."""
    screenshot = words[0] if words else None
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        try:
            if chromium() is None:
                raise Missing("no Chromium: set CHROMIUM")
            python = built(folder, wanted_python())
        except Missing as missing:
            print(f"binder: SKIPPED, {missing}")
            return 0
        size = size_of(folder / "venv")
        assert size < MOST_BYTES, f"{size:,} bytes"
        shown = walked(folder, python, screenshot or folder / "binder.png")
    print(f"binder: {size / 1e6:,.0f} MB, no build tool called, {shown} viewers shown")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
