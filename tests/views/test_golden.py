"""The viewer's golden files are what Python makes today."""

import gzip
import json

import jax
import pytest
from golden import viewer

from pallas_debug.trace import loads

OTHER = f"JAX lowers other tapes: golden files are made by {viewer.JAX}"
MOST_BYTES = 150_000


@pytest.mark.parametrize("name", viewer.CASES)
def test_golden_bundle_and_answers_are_up_to_date(name):
    if name in viewer.BY_JAX and jax.__version__ != viewer.JAX:
        pytest.skip(OTHER)
    bundle, answers = viewer.made(name)
    kept, said = viewer.kept(name)
    again = "make them anew: python tests/golden/viewer.py"
    assert json.loads(answers) == json.loads(said), again
    assert bundle == kept, again


def test_golden_parts_are_up_to_date():
    for number, part in enumerate(viewer.parts()):
        kept = (viewer.FOLDER / f"{viewer.GROWING}.part{number}").read_bytes()
        assert gzip.decompress(kept) == part


@pytest.mark.parametrize("name", viewer.CASES)
def test_golden_files_are_small_and_open(name):
    bundle, said = viewer.kept(name)
    answers = json.loads(said)
    trace = loads(bundle)
    assert len(trace) == answers["events"] > 0
    packed = (viewer.FOLDER / f"{name}.bundle").stat().st_size
    assert packed + len(said) < MOST_BYTES
    assert str(viewer.HERE).encode() not in bundle  # nobody's folders


def test_golden_answers_cover_what_the_viewer_must_know():
    said = [json.loads(viewer.kept(name)[1]) for name in viewer.CASES]
    parts = "fold", "queries", "navigation", "clocks", "values", "what", "calls"
    for part in parts:
        assert sum(len(one[part]) for one in said) > 50, part
    calling = [row for one in said for row in one["stops"]]
    assert any(0 < len(row["events"]) < len(row["within"]) / 2 for row in calling)
    kinds = {row["what"].split()[0] for one in said for row in one["what"]}
    assert {"alloc", "read", "write", "pad", "spawn", "arrive", "phase"} <= kinds
    folds = [row for one in said for row in one["fold"]]
    assert any(not all(row["recorded"]["of"]) for row in folds)
    assert any("NaN" in row["values"]["of"] for row in folds)
    moved = [row["to"] for one in said for row in one["navigation"] if "to" in row]
    for command in moved[0]:
        assert any(row[command] is not None for row in moved), command
