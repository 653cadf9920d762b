"""JupyterLab and Notebook for real: a cell runs, keys are pressed, the session follows."""

import json
import os
import pathlib

import nbformat
import pytest
from jupyter import FRONTS, RUN, opened, served

pytest.importorskip("jupyterlab", reason="no JupyterLab: pip install jupyterlab")
pytest.importorskip("anywidget")

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.timeout(300),
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
    "import pallas_debug\n"
    "few = pallas_debug.debug(call, jnp.full(4, 7.5, dtype=jnp.float32))\n"
    "few.last()\nfew.widget(values_bytes=1)",
    "%pallas_debug call(jnp.ones(4, dtype=jnp.float32))",
)
RESTART = """async () => {
  const panel = window.jupyterapp.shell.currentWidget;
  await panel.sessionContext.session.kernel.restart();
}"""


@pytest.fixture(params=FRONTS)
def notebook(browser, tmp_path, request):
    """An open notebook in a browser."""
    module, *_ = FRONTS[request.param]
    pytest.importorskip(module, reason=f"no {module}: pip install {module}")

    book = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(book, tmp_path / "book.ipynb")
    with served(tmp_path, request.param, PYTHONPATH=str(ROOT)) as address:
        page = opened(
            browser, address, "book.ipynb", cells=len(CELLS), front=request.param
        )
        yield page
        page.close()


def shown(page, number):
    """Runs a cell; the texts of its outputs."""
    outputs = json.loads(page.evaluate(RUN, number))
    return "".join(str(out.get("text", "")) for out in outputs), outputs


def test_cell_keys_and_session_agree(notebook, tmp_path, record_property, request):
    front = request.node.callspec.params["notebook"]
    shown(notebook, 0)
    shown(notebook, 1)
    now = notebook.locator("[data-pd=now]").first
    now.get_by_text("read x_ref[0:4]").wait_for()  # where the kernel begins
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
    notebook.locator("iframe").first.scroll_into_view_if_needed()  # it opens when seen
    frame = notebook.frame_locator("iframe").first
    frame.locator("[data-pd=now]").get_by_text("read x_ref[0:4]").wait_for()
    assert not notebook.outside
    assert not notebook.failed


def test_viewer_asks_for_large_values_and_outlives_its_kernel(notebook):
    shown(notebook, 0)
    _, (few,) = shown(notebook, 5)
    assert "application/vnd.jupyter.widget-view+json" in few["data"]
    frame = notebook.locator(".pd-frame").first
    frame.get_by_text("values in the kernel").wait_for()
    frame.get_by_text("7.5").first.wait_for()  # the kernel was asked
    _, (line,) = shown(notebook, 6)
    assert "application/vnd.jupyter.widget-view+json" in line["data"]
    assert "launch 0: double" in line["data"]["text/plain"]
    notebook.evaluate(RESTART)
    frame.get_by_text("The kernel has ended").wait_for()
    assert frame.get_by_text("recorded", exact=True).count() == 1
    frame.focus()
    notebook.keyboard.press("Home")
    frame.get_by_text("Before the first event").wait_for()
    assert not notebook.failed
