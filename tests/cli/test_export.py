"""`pallas-debug export`: the suffix picks the view."""

import json

import pytest

import pallas_debug as pldb
from pallas_debug import cli, gallery, views


@pytest.fixture
def saved(tmp_path):
    fn, args = gallery.ENTRIES["unwaited_copy"].faulty()
    path = tmp_path / "run.pldb"
    pldb.trace(fn, *args).save(path)
    return path


@pytest.mark.parametrize(
    "suffix", [".json", ".perfetto.json", ".csv", ".sarif", ".txt"]
)
def test_suffix_picks_the_view(saved, tmp_path, suffix, capsys):
    path = tmp_path / f"out{suffix}"
    assert cli.main(["export", str(saved), str(path)]) == 0
    text = path.read_text()
    assert text
    if suffix.endswith("json"):
        assert ("traceEvents" in json.loads(text)) == ("perfetto" in suffix)
    assert views.view_for(path).name in capsys.readouterr().out


def test_unknown_suffix_names_the_known_ones(saved, tmp_path, capsys):
    assert cli.main(["export", str(saved), str(tmp_path / "out.cvs")]) == 2
    assert ".csv" in capsys.readouterr().err


def test_missing_trace_is_refused(tmp_path, capsys):
    assert cli.main(["export", str(tmp_path / "no.pldb"), "out.csv"]) == 2
    assert "a file that exists" in capsys.readouterr().err


def test_missing_folder_is_refused(saved, tmp_path, capsys):
    assert cli.main(["export", str(saved), str(tmp_path / "no" / "x.csv")]) == 2
    assert "a folder that exists" in capsys.readouterr().err
