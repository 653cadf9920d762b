"""`check --format`, `--select`, `--ignore` and baselines, as a CI job uses them."""

import json

import pytest

from pallas_debug import cli

CASES = """
from pallas_debug import gallery
def faulty(): return gallery.ENTRIES["unwaited_copy"].faulty()
def fixed(): return gallery.ENTRIES["unwaited_copy"].fixed()
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    (tmp_path / "cases.py").write_text(CASES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_sarif_has_rule_result_and_place(home, capsys):
    assert cli.main(["check", "--format", "sarif", "cases.py:faulty"]) == 1
    log = json.loads(capsys.readouterr().out)
    run = log["runs"][0]
    assert log["version"] == "2.1.0"
    assert "PD102" in [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    result = next(r for r in run["results"] if r["ruleId"] == "PD102")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("unwaited_copy.py")
    assert place["region"]["startLine"] > 1
    assert result["level"] == "error"


def test_github_prints_a_command_for_each_finding(home, capsys):
    assert cli.main(["check", "--format", "github", "cases.py:faulty"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any(x.startswith("::error file=") and "title=PD102" in x for x in lines)
    assert all(x.startswith("::") for x in lines)


def test_clean_kernel_prints_no_command(home, capsys):
    assert cli.main(["check", "--format", "github", "cases.py:fixed"]) == 0
    assert "::error" not in capsys.readouterr().out


def test_ignored_and_unselected_checks_do_not_count(home, capsys):
    assert cli.main(["check", "--select", "PD301", "cases.py:faulty"]) == 0
    assert cli.main(["check", "--ignore", "PD1,PD2", "cases.py:faulty"]) == 0
    assert cli.main(["check", "--select", "PD102", "cases.py:faulty"]) == 1
    assert cli.main(["check", "--select", "PD1O2", "cases.py:faulty"]) == 2
    assert "PD102" in capsys.readouterr().err


def test_baseline_lets_known_findings_pass(home, capsys):
    first = ["check", "--write-baseline", "known.json", "cases.py:faulty"]
    assert cli.main(first) == 0
    again = ["check", "--baseline", "known.json", "cases.py:faulty"]
    assert cli.main(again) == 0
    (home / "known.json").write_text("{}")
    assert cli.main(again) == 2
    assert "cannot read the baseline" in capsys.readouterr().err
