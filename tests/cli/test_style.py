"""Colors in a terminal, none elsewhere; signs that every encoding can show."""

import io
import os
import pathlib
import pty
import re
import subprocess
import sys
import threading

import pytest

import pallas_debug as pldb
from pallas_debug import gallery
from pallas_debug.cli import style

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLOR = re.compile(r"\x1b\[[\d;]*m")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    fn, args = gallery.ENTRIES["unwaited_copy"].faulty()
    path = tmp_path_factory.mktemp("saved") / "run.pldb"
    pldb.trace(fn, *args).save(path)
    return path


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "LC_ALL", "PYTHONIOENCODING"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def command(*words):
    return [sys.executable, "-m", "pallas_debug", *map(str, words)]


def in_terminal(*words, **environment):
    """What a process writes to a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command(*words), stdout=theirs, stderr=theirs, env=os.environ | environment
    )
    os.close(theirs)
    parts = []

    def read():
        try:
            while part := os.read(ours, 65536):
                parts.append(part)
        except OSError:  # Linux says so at the end
            pass

    reader = threading.Thread(target=read)
    reader.start()
    process.wait(100)
    reader.join(10)
    os.close(ours)
    return b"".join(parts).decode().replace("\r\n", "\n")


def in_pipe(*words, encoding="utf-8", **environment):
    done = subprocess.run(
        command(*words), capture_output=True, timeout=100, env=os.environ | environment
    )
    return done.returncode, done.stdout.decode(encoding), done.stderr.decode(encoding)


def test_terminal_has_colors_and_the_same_words_as_a_pipe(saved):
    colored = in_terminal("view", saved)
    _, plain, _ = in_pipe("view", saved)
    assert re.search(r"\x1b\[1;31m✗ error PD201 [\w-]+\x1b\[0m", colored)
    assert not COLOR.search(plain)
    assert COLOR.sub("", colored) == plain


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_terminal_without_colors_gets_none(saved, name, value):
    assert not COLOR.search(in_terminal("view", saved, **{name: value}))


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_encoding_without_our_signs_gets_others_in_their_place(saved, encoding):
    locale = {"LC_ALL": "C", "PYTHONIOENCODING": encoding}
    code, said, complaint = in_pipe("view", saved, encoding=encoding, **locale)
    _, plain, _ = in_pipe("view", saved)
    assert code == 1
    assert not complaint
    assert "x error PD102" in said
    assert "\\u" not in said
    assert "?" not in said
    assert len(said.splitlines()) == len(plain.splitlines())
    if encoding == "ascii":
        assert said.isascii()
    else:
        assert "×" in said


def test_errors_and_pages_are_legible_in_ascii(saved, tmp_path):
    locale = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    code, _, complaint = in_pipe("explain", encoding="ascii", **locale)
    assert code == 0
    assert not complaint
    code, _, complaint = in_pipe("view", tmp_path / "naïve.pldb", **locale)
    assert code == 2
    assert "na" in complaint
    assert "Traceback" not in complaint


def test_every_sign_that_we_print_has_a_plain_one():
    homes = ("views", "cli", "checks", "session", "trace", "gallery")
    files = [
        path
        for home in homes
        for path in (ROOT / "pallas_debug" / home).rglob("*.py")
        if "static" not in path.parts
    ] + [ROOT / "pallas_debug" / "errors.py"]
    used = {sign for path in files for sign in path.read_text(encoding="utf-8")}
    unknown = {sign for sign in used if not sign.isascii()} - {*map(chr, style.PLAIN)}
    assert not unknown, "add them to style.PLAIN"
    assert all(text.isascii() for text in style.PLAIN.values())


@pytest.mark.parametrize(
    ("line", "colored"),
    [
        ("! warning PD401 nan-origin: x", "! warning PD401 nan-origin"),
        ("⊘ error PD301 refused-thing: x", "⊘ error PD301 refused-thing"),
        ("BadOption [PD910]: x", "BadOption [PD910]"),
        ("    try: this", "    try: "),
        ("* no such thing", "* no such thing"),
        ("  [0. 2. 4.]", None),
        ("x = 3 | 4", None),
    ],
)
def test_line_is_colored_by_its_form(line, colored):
    text = style.painted(f"a\n{line}\n", Terminal())
    assert COLOR.sub("", text) == f"a\n{line}\n"
    painted = re.findall(r"\x1b\[[\d;]+m(.+?)\x1b\[0m", text)
    assert painted == ([colored] if colored else [])
