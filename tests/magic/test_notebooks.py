"""The notebooks run from top to bottom in a real kernel, and show what they promise."""

import pathlib

import nbclient
import nbformat
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def executed(path, monkeypatch):
    """The notebook's cells with their outputs."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    book = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(book, timeout=100, kernel_name="python3").execute()
    return book.cells


def text_of(cell):
    """What a code cell shows, as plain text."""
    shown = [
        out.get("text") or out.get("data", {}).get("text/plain", "")
        for out in cell.get("outputs", ())
    ]
    return "\n".join(shown)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_committed_without_outputs(path):
    book = nbformat.read(path, as_version=4)
    assert all(not cell.get("outputs") for cell in book.cells)
    assert all(cell.get("execution_count") is None for cell in book.cells)


def test_first_look_finds_both_faults_and_passes_the_fix(monkeypatch):
    cells = executed(ROOT / "notebooks" / "01_first_look.ipynb", monkeypatch)
    runs = [cell for cell in cells if cell.source.startswith("%%pallas_debug")]
    faulty, fixed = map(text_of, runs)
    assert "PD303" in faulty
    assert "x_ref[pl.ds(i > 0, 4)]" in faulty
    assert "PD102" in faulty
    assert "+ tile[...]" in faulty
    assert faulty.count("launch 0:") == 1
    assert "nan" in faulty
    assert "no findings" in fixed
    assert "nan" not in fixed
    html = [out["data"].get("text/html", "") for out in runs[0].outputs]
    assert sum("PD303" in page for page in html) == 1
