"""The notebooks run from top to bottom in a real kernel, and show what they promise."""

import pathlib

import nbclient
import nbformat
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
# What each of them shows somewhere, in this order.
PROMISES = {
    "01_first_look": ["PD102", "o_ref[window] = tile[...] * 2", "no findings"],
    "02_find_a_race": [
        "PD201",
        "wrong under the seeds [2",
        "differs in ",
        "findings: 1 info",
    ],
    "03_travel_in_time": [
        "breakpoint 1",
        "part",
        "the last write",
        "differs at [[128 129]]",
    ],
    "04_why_is_it_nan": ["PD401", "row_max", "expected"],
    "05_the_deadlock": ["PD210", "free", "deadlock"],
    "06_will_jax_run_it": ["PD303", "PD301", "PD302", "GPU interpret mode", "differs"],
    "07_inside_a_hopper_matmul": ["hopper_matmul", "copies 32", "multiplications"],
    "08_a_tpu_pipeline": ["PD201", "no findings"],
    "09_flash_attention": ["11 writes", "args[8]"],
}


def executed(path, monkeypatch):
    """The notebook's cells with their outputs; a cell that raises fails the test."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    book = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(book, timeout=200, kernel_name="python3").execute()
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


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_ends_in_the_readers_own_kernel(path):
    last = nbformat.read(path, as_version=4).cells[-1]
    assert last.cell_type == "markdown"
    assert last.source.startswith("## Your turn")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_shows_what_it_promises(path, monkeypatch):
    text = "\n".join(map(text_of, executed(path, monkeypatch)))
    place = 0
    for word in PROMISES[path.stem]:
        place = text.find(word, place)
        assert place >= 0, f"no {word!r} in its place in\n{text}"
