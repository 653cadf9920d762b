"""`--json` of every command: one object, with the keys that the documentation lists."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

import pallas_debug as pldb
from pallas_debug import cli, gallery

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "howto" / "terminal.md").read_text(encoding="utf-8")

CASES = """
from pallas_debug import gallery
def fixed(): return gallery.ENTRIES["unwaited_copy"].fixed()
def raises(): raise ValueError("of the case")
def nothing(): return 1
if __name__ == "__main__":
    fn, args = fixed()
    fn(*args)
    print("noise")
"""
ERROR = {"code", "message", "hint", "loc"}

# Command → words after `--json`; the words of the documentation where they differ.
CALLS = {
    "run": ["cases.py"],
    "check": ["cases.py:fixed"],
    "view": ["run.pldb"],
    "demo": ["unwaited_copy"],
    "demo --list": [],
    "portability": ["cases.py:fixed"],
    "export": ["run.pldb", "out.csv"],
    "explain": [],
    "explain CODE": ["PD203"],
    "completion": ["bash"],
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    fn, args = gallery.ENTRIES["unwaited_copy"].faulty()
    path = tmp_path_factory.mktemp("saved") / "run.pldb"
    pldb.trace(fn, *args).save(path)
    return path


@pytest.fixture
def home(tmp_path, monkeypatch, saved):
    (tmp_path / "cases.py").write_text(CASES)
    (tmp_path / "run.pldb").write_bytes(saved.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def documented():
    """Command → keys, from the table of the page."""
    rows = re.findall(r"^\| `(.+?)` \| (`\w+`(?:, `\w+`)*) \|$", PAGE, re.MULTILINE)
    return {command: set(re.findall(r"`(\w+)`", keys)) for command, keys in rows}


def asked(capsys, *words):
    code = cli.main(list(words))
    return code, json.loads(capsys.readouterr().out)


def test_every_command_is_documented_and_called_here():
    assert set(documented()) == set(CALLS)
    assert {call.split()[0] for call in CALLS} == set(cli.COMMANDS) - {"debug"}


@pytest.mark.parametrize("call", list(CALLS))
def test_keys_are_the_documented_ones(home, capsys, call):
    name, *more = call.replace(" CODE", "").split()
    _, facts = asked(capsys, name, "--json", *more, *CALLS[call])
    assert set(facts) == documented()[call]


def test_keys_of_launches_findings_rows_and_places_are_documented(home, capsys):
    _, facts = asked(capsys, "view", "--json", "run.pldb")
    _, table = asked(capsys, "portability", "--json", "cases.py:fixed")
    finding = next(one for one in facts["findings"] if one["loc"])
    for entry in (facts["launches"][0], finding, finding["loc"], table["rows"][0]):
        assert all(f"`{key}`" in PAGE for key in entry), sorted(entry)
    assert all(set(row) == set(table["rows"][0]) for row in table["rows"])


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["run", "--json", "missing.py"], 2, "a file that exists"),
        (["check", "--json", "cases.py:nothing"], 2, "ran no Pallas kernel"),
        (["view", "--json", "cases.py"], 2, "not a trace"),
        (["explain", "--json", "PD10"], 2, "no check `PD10`"),
        (["debug", "--json", "cases.py"], 2, "it is a prompt"),
        (["export", "--json", "run.pldb", "x.cvs"], 2, "files named `.cvs`"),
        (["portability", "--json", "broken.py:f"], 4, "SyntaxError"),
        (["check", "--json", "broken.py:f"], 4, "SyntaxError"),
    ],
)
def test_error_is_an_object_too(home, capsys, words, code, said):
    (home / "broken.py").write_text("def f(: pass")
    ended, facts = asked(capsys, *words)
    assert ended == code
    assert set(facts["error"]) == ERROR
    assert said in facts["error"]["message"]


@pytest.mark.parametrize("command", ["check", "portability"])
def test_case_that_raises_has_the_exit_code_of_a_script_that_failed(
    home, capsys, command
):
    ended, facts = asked(capsys, command, "--json", "cases.py:raises")
    assert ended == 4
    said = facts["script"] if command == "check" else facts["error"]
    assert "of the case" in str(said)


def test_exit_codes_of_the_page_are_those_of_the_help():
    rows = re.findall(r"^\| (\d+) \| (.+?)[;|]", PAGE, re.MULTILINE)
    known = re.findall(r"^  (\d+)  (.+)$", cli.EPILOG, re.MULTILINE)
    assert [code for code, _ in rows] == [code for code, _ in known]
    for (_, mine), (_, other) in zip(rows, known, strict=True):
        assert mine.strip() == other.strip()


def test_version_names_ours_and_jaxs(capsys):
    assert cli.main(["--version"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"pallas-debug {pldb.__version__}, JAX ")


def test_asking_for_the_version_loads_neither_jax_nor_a_recording():
    script = (
        "import sys\nfrom pallas_debug.cli import main\nmain(['--version'])\n"
        "assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT)
