"""The pytest plugin, on test files of its own in a fresh process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TESTS = """
import numpy as np
import pytest
from pallas_debug import gallery


def launch(name, fixed):
    entry = gallery.ENTRIES[name]
    fn, args = entry.fixed() if fixed else entry.faulty()
    return fn(*args)


@pytest.mark.pallas_debug
def test_marked_faulty():
    launch("unwaited_copy", fixed=False)


@pytest.mark.pallas_debug(chip="h200", ignore=["PD1", "PD2"])
def test_marked_ignored():
    launch("unwaited_copy", fixed=False)


@pytest.mark.pallas_debug
def test_marked_fixed():
    launch("unwaited_copy", fixed=True)


def test_unmarked():
    launch("unset_accumulator", fixed=False)


def test_fixture(pallas_debug):
    launch("unwaited_copy", fixed=True)
    assert pallas_debug.trace.launches[0].outcome.kind == "finished"


@pytest.mark.pallas_debug
def test_without_kernels():
    assert True


@pytest.mark.pallas_debug
def test_that_fails_itself():
    assert launch("past_the_end", fixed=False) is None, "own reason"
"""


@pytest.fixture
def pytest_run(tmp_path):
    (tmp_path / "test_kernels.py").write_text(TESTS)

    def run(*args):
        env = dict(os.environ, JAX_PLATFORMS="cpu", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
        env["PYTHONPATH"] = str(ROOT)
        env.pop("PYTEST_ADDOPTS", None)
        command = [sys.executable, "-m", "pytest", "-p", "pallas_debug.pytest_plugin"]
        done = subprocess.run(
            [*command, "-rA", "-p", "no:cacheprovider", *args],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
        )
        words = ("PASSED", "FAILED", "ERROR")
        lines = [x for x in done.stdout.splitlines() if x.startswith(words)]
        ended = {}
        for line in lines:
            word, _, name = line.partition(" ")
            ended[name.partition("::")[2].partition(" ")[0]] = word
        return ended, done.stdout

    return run


def test_marked_tests_are_judged_and_others_left_alone(pytest_run):
    ended, text = pytest_run("--deselect", "test_kernels.py::test_unmarked")
    assert ended == {
        "test_marked_faulty": "FAILED",
        "test_marked_ignored": "PASSED",
        "test_marked_fixed": "PASSED",
        "test_fixture": "PASSED",
        "test_without_kernels": "PASSED",
        "test_that_fails_itself": "FAILED",
    }
    assert "PD102 error, uninitialized-read" in text
    assert "own reason" in text
    assert "PD101 error, out-of-bounds" in text  # beside the test's own failure


def test_option_judges_every_test(pytest_run):
    ended, text = pytest_run("--pallas-debug", "-k", "unmarked or fixture")
    assert ended == {"test_unmarked": "FAILED", "test_fixture": "PASSED"}
    assert "unset_accumulator.py" in text


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ('fail_on="worse"', "fail_on='worse'"),
        ('chp="h200"', "pallas_debug(chp=…); accepted: select, ignore, fail_on, chip"),
    ],
)
def test_wrong_setting_is_refused(pytest_run, tmp_path, wrong, said):
    path = tmp_path / "test_kernels.py"
    path.write_text(TESTS.replace('chip="h200"', wrong))
    ended, text = pytest_run("-k", "test_marked_ignored")
    assert said in text
    assert ended != {"test_marked_ignored": "PASSED"}
