"""What the README shows is what the commands print."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(mark):
    """The fenced block below a comment."""
    return re.search(rf"<!-- {mark} -->\n```\w+\n(.*?)```", README, re.DOTALL)[1]


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    script = tmp_path_factory.mktemp("readme") / "double.py"
    script.write_text(block("example"))
    done = subprocess.run(
        [sys.executable, "-m", "pallas_debug", "run", str(script)],
        capture_output=True,
        text=True,
        timeout=100,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 1, done.stderr
    return done.stdout


def test_example_prints_what_the_readme_shows(printed):
    assert printed.splitlines() == block("example output").splitlines()


def test_there_are_exactly_two_setup_commands():
    commands = re.findall(r"^python3 .*$", README, re.MULTILINE)
    assert len(commands) == 2
    assert commands[0].endswith("pallas-debug demo")
    assert commands[1].endswith("pytest -n 2")
    assert block("test command").strip() == commands[1]
