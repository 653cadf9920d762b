"""The public API in an editor: its types, and its docstrings on Shift-Tab."""

import builtins
import inspect
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import pallas_debug as pldb
from pallas_debug import errors, extend

ROOT = pathlib.Path(__file__).resolve().parent.parent
VERBS = ("trace", "check", "debug", "recording", "load", "compare", "portability")
SETTINGS = {
    "include": ["consumer.py"],
    "typeCheckingMode": "strict",
    "pythonVersion": "3.11",
    "extraPaths": [str(ROOT)],
    "reportMissingModuleSource": False,
}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_strict_types_of_the_public_api_are_known_to_an_editor(tmp_path):
    pytest.importorskip("pyright", reason="no pyright: pip install pyright")
    if shutil.which("node") is None:
        pytest.skip("pyright would download a Node")
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(SETTINGS))
    source = ROOT / "tests" / "consumer.py"
    (tmp_path / "consumer.py").write_text(source.read_text(encoding="utf-8"))
    pyright = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable]
    done = subprocess.run(
        [*pyright, "--outputjson", "-p", str(tmp_path)], capture_output=True, text=True
    )
    found = json.loads(done.stdout)
    said = [
        (one["range"]["start"]["line"] + 1, one["message"])
        for one in found["generalDiagnostics"]
    ]
    assert found["summary"]["filesAnalyzed"] == 1
    assert not said


def test_consumer_uses_every_public_name():
    text = (ROOT / "tests" / "consumer.py").read_text(encoding="utf-8")
    assert all(f"pldb.{name}" in text for name in pldb.__all__)
    assert all(f"@{name}(" in text for name in extend.__all__)


def sections(function):
    """The sections of a docstring: `Args` → its text."""
    parts = re.split(r"^(\w+):$", inspect.getdoc(function), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("name", VERBS)
def test_docstring_of_a_verb_has_arguments_result_and_errors(name):
    verb = getattr(pldb, name)
    found = sections(verb)
    told = set(re.findall(r"^  \*{0,2}(\w+):", found["Args"], re.MULTILINE))
    assert told == set(inspect.signature(verb).parameters)
    assert {"Returns", "Yields"} & set(found)
    raised = re.findall(r"^  (\w+): ", found["Raises"], re.MULTILINE)
    assert raised
    assert all(hasattr(errors, kind) or hasattr(builtins, kind) for kind in raised)


@pytest.mark.parametrize("name", [n for n in pldb.__all__ if n[0].isupper()])
def test_docstring_of_a_noun_has_its_attributes(name):
    assert sections(getattr(pldb, name))["Attributes"].strip()


def test_docstring_of_every_move_of_a_session_says_what_it_does():
    for name, member in inspect.getmembers(pldb.Session, callable):
        if not name.startswith("_"):
            said = inspect.getdoc(member)
            assert said, name
            assert said.partition("\n")[0].endswith("."), name
