"""JupyterLab and Notebook for real: a cell runs, keys are pressed, the session follows."""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import time
import urllib.request

import nbformat
import pytest
from browser import chromium, launch

pytest.importorskip("playwright", reason="no playwright: pip install playwright")
pytest.importorskip("jupyterlab", reason="no JupyterLab: pip install jupyterlab")
pytest.importorskip("anywidget")

from pallas_debug.views import scripts

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOKEN = "e2e"
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(chromium() is None, reason="no Chromium: set CHROMIUM"),
    pytest.mark.skipif(not scripts.is_built(), reason="the viewer is not built"),
]

SETUP = """
import jax, jax.numpy as jnp
from jax.experimental import pallas as pl
%load_ext pallas_debug

def double(x_ref, o_ref):
    value = x_ref[...]
    o_ref[...] = value * 2.0

call = pl.pallas_call(double, grid=(2,), out_shape=jax.ShapeDtypeStruct((4,), "float32"))
"""
CELLS = (
    SETUP,
    "%%pallas_debug -s s\ny = call(jnp.arange(4.0, dtype=jnp.float32))",
    "print(s.cursor, s.trace[s.cursor - 1].what)",
    "s.first(); s.step(); print(s.trace[0].what)",
    "%%pallas_debug --static\ny = call(jnp.arange(4.0, dtype=jnp.float32))",
)
RUN = """async (number) => {
  const app = window.jupyterapp, panel = app.shell.currentWidget;
  await panel.sessionContext.ready;
  panel.content.deselectAll();
  panel.content.activeCellIndex = number;
  const cell = panel.content.widgets[number];
  await app.commands.execute("notebook:run-cell");
  return JSON.stringify(cell.model.outputs.toJSON());
}"""


def environment(home):
    """Settings of nobody else, and no request to the outside."""
    settings = home / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text(
        '{"fetchNews": "false", "checkForUpdates": false}', encoding="utf-8"
    )
    names = {
        "IPYTHONDIR": "ipython",
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    }
    folders = {name: str(home / folder) for name, folder in names.items()}
    return os.environ | folders | {"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}


@contextlib.contextmanager
def served(folder, module, app):
    """A running front end; gives its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {
        "ip": "127.0.0.1",
        "port": port,
        "ServerApp.port_retries": 0,
        "IdentityProvider.token": TOKEN,
        "ServerApp.root_dir": folder,
        f"{app}.extension_manager": "readonly",
        f"{app}.news_url": "null",
        f"{app}.expose_app_in_browser": True,
    }
    flags = ["--no-browser", "--allow-root"]
    words = [f"--{name}={value}" for name, value in options.items()]
    with (folder / "server.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *flags, *words],
            env=environment(folder / ".home"),
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            yield _awaited(f"http://127.0.0.1:{port}", process, folder / "server.log")
        finally:
            process.terminate()
            process.wait(30)


def _awaited(address, process, log):
    for _ in range(600):
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{address}/api/status?token={TOKEN}", timeout=1)
            return address
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError(log.read_text(encoding="utf-8"))


FRONTS = {
    "lab": ("jupyterlab", "LabApp", "lab/tree"),
    "notebook": ("notebook", "JupyterNotebookApp", "notebooks"),
}


@pytest.fixture(params=FRONTS)
def notebook(tmp_path, request):
    """An open notebook in a browser."""
    module, app, path = FRONTS[request.param]
    pytest.importorskip(module, reason=f"no {module}: pip install {module}")
    from playwright.sync_api import sync_playwright

    book = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(book, tmp_path / "book.ipynb")
    with served(tmp_path, module, app) as address, sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.set_default_timeout(90_000)
        page.outside, page.failed = [], []
        page.on("pageerror", lambda error: page.failed.append(str(error)))
        page.on(
            "request",
            lambda request: (
                page.outside.append(request.url)
                if request.url.startswith("http") and "127.0.0.1" not in request.url
                else None
            ),
        )
        page.goto(f"{address}/{path}/book.ipynb?token={TOKEN}&reset")
        page.wait_for_function(
            "() => window.jupyterapp?.shell.currentWidget?.content?.widgets?.length > 4"
        )
        yield page
        browser.close()


def shown(page, number):
    """Runs a cell; the texts of its outputs."""
    outputs = json.loads(page.evaluate(RUN, number))
    return "".join(str(out.get("text", "")) for out in outputs), outputs


def test_cell_keys_and_session_agree(notebook, tmp_path, record_property, request):
    front = request.node.callspec.params["notebook"]
    shown(notebook, 0)
    shown(notebook, 1)
    now = notebook.locator("[data-pd=now]").first
    now.get_by_text("grid (0,)").wait_for()  # where the kernel begins
    notebook.locator(".pd-frame").first.focus()
    notebook.keyboard.press("Home")
    notebook.get_by_text("Before the first event").first.wait_for()
    for _ in range(5):
        notebook.keyboard.press("ArrowRight")
    for key in ("t", "ArrowLeft"):
        notebook.keyboard.press(key)
    notebook.wait_for_timeout(1000)  # the page tells the kernel a moment later
    said, _ = shown(notebook, 2)
    cursor, what = said.strip().split(" ", 1)
    assert int(cursor) == 5
    assert what in now.inner_text()
    first, _ = shown(notebook, 3)
    now.get_by_text(first.strip().splitlines()[-1].split()[-1]).first.wait_for()
    screenshot = pathlib.Path(os.environ.get("SCREENSHOTS", tmp_path)) / f"{front}.png"
    notebook.screenshot(path=screenshot)
    record_property("screenshot", str(screenshot))
    _, outputs = shown(notebook, 4)
    assert any("srcdoc=" in str(out) for out in outputs)
    frame = notebook.frame_locator("iframe").first
    frame.locator("[data-pd=now]").get_by_text("grid (0,)").wait_for()
    assert not notebook.outside
    assert not notebook.failed
