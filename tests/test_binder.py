"""`binder/` keeps repo2docker's conventions; `verify_binder.py` builds it for real."""

import os
import re
import subprocess
import sys

import pytest
import verify_binder
from verify_binder import ROOT, START

BINDER = ROOT / "binder"
WRITTEN = ("README.md", "docs/howto/binder.md")


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_python_is_named_and_new_enough_for_the_package():
    version = re.search(
        r"- python=(\d+)\.(\d+)$", text_of("binder/environment.yml"), re.M
    )
    least = re.search(r'requires-python = ">=(\d+)\.(\d+)"', text_of("pyproject.toml"))
    assert [*map(int, version.groups())] >= [*map(int, least.groups())]


def test_nothing_that_builds_is_asked_for():
    names = {path.name for path in BINDER.iterdir()}
    assert names == {"environment.yml", "postBuild"}
    packages = re.findall(r"^  - ([\w-]+)", text_of("binder/environment.yml"), re.M)
    assert set(packages) <= {"conda-forge", "python", "pip"}


def test_post_build_can_be_run_and_stops_at_the_first_failure():
    script = BINDER / "postBuild"
    assert os.access(script, os.X_OK)
    lines = script.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "#!/bin/bash"
    assert "set -euo pipefail" in lines
    assert "python -m pip install --no-cache-dir '.[notebook]'" in lines
    subprocess.run(["bash", "-n", script], check=True)


def test_start_notebook_exists_and_the_documented_address_opens_it():
    assert (ROOT / START).is_file()
    for name in WRITTEN:
        found = re.findall(
            r"mybinder\.org/v2/gh/\S+?\?urlpath=(\S+?)[\s)`\"]", text_of(name)
        )
        assert found, f"no Binder link in {name}"
        assert set(found) == {f"lab/tree/{START}"}


@pytest.mark.parametrize(
    ("name", "stops", "said"),
    [
        ("chromium", None, "no Chromium"),
        ("wanted_python", "no Python 9.9", "no Python"),
    ],
)
def test_what_is_missing_is_said(monkeypatch, capsys, name, stops, said):
    def raises():
        raise verify_binder.Missing(stops)

    monkeypatch.setattr(verify_binder, "chromium", lambda: "chromium")
    monkeypatch.setattr(verify_binder, name, raises if stops else lambda: None)
    assert verify_binder.main([]) == 0
    assert f"SKIPPED, {said}" in capsys.readouterr().out


@pytest.mark.slow
def test_build_that_calls_a_tool_is_found(tmp_path, monkeypatch):
    """The stubs stand before the system's commands and answer with an error."""
    root = tmp_path / "root"
    (root / "binder").mkdir(parents=True)
    script = root / "binder" / "postBuild"
    script.write_text("#!/bin/bash\nnode --version || true\n")
    script.chmod(0o755)
    monkeypatch.setattr(verify_binder, "ROOT", root)
    monkeypatch.setattr(verify_binder, "BASE", ("--help",))
    (tmp_path / "work").mkdir()
    with pytest.raises(AssertionError, match="node --version"):
        verify_binder.built(tmp_path / "work", sys.executable)
