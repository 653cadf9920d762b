"""The prompt as a person at a terminal has it: Tab, arrow keys, Ctrl-C, colors."""

import os
import pathlib
import signal
import sys

import pytest

import pallas_debug as pldb
from pallas_debug import gallery

pexpect = pytest.importorskip("pexpect", reason="no pexpect: pip install pexpect")
pytest.importorskip("readline", reason="this Python has no readline")

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROMPT = r"\(pallas-debug\) "
UP, TAB, INTERRUPT = "\x1b[A", "\t", "\x03"


def hear_ctrl_c():
    """A shell that starts tests in the background has them ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    fn, args = gallery.ENTRIES["unwaited_copy"].faulty()
    path = tmp_path_factory.mktemp("saved") / "run.pldb"
    pldb.trace(fn, *args).save(path)
    return path


@pytest.fixture
def opened(saved, tmp_path):
    """Starts a prompt in a terminal of its own; a second one finds what the first kept."""
    started = []

    def start(**environment):
        ours = {
            "PYTHONPATH": str(ROOT),
            "XDG_STATE_HOME": str(tmp_path),
            "TERM": "xterm",
            "INPUTRC": "/dev/null",
        }
        child = pexpect.spawn(
            sys.executable,
            ["-m", "pallas_debug", "debug", str(saved)],
            env=os.environ | ours | environment,
            encoding="utf-8",
            timeout=60,
            dimensions=(40, 200),
            preexec_fn=hear_ctrl_c,
        )
        started.append(child)
        child.expect(PROMPT)
        return child

    yield start
    for child in started:
        child.close(force=True)


def said(child, line):
    """What a line is answered with."""
    child.send(f"{line}\r")
    child.expect(PROMPT)
    return child.before


def left(child):
    child.send("quit\r")
    child.expect(pexpect.EOF)
    child.close()
    return child.exitstatus


def test_tab_completes_commands_and_what_follows_them(opened):
    child = opened(NO_COLOR="1")
    assert "event #0 of" in said(child, f"ste{TAB}")
    assert "beginning" in said(child, f"reverse-c{TAB}")
    assert "breakpoint 1" in said(child, f'break kind="write", bu{TAB}"ti{TAB}')
    assert 'buffer="tile"' in said(child, "breakpoints")
    assert left(child) == 0


def test_arrow_brings_back_lines_of_this_and_of_the_last_session(opened, tmp_path):
    child = opened()
    said(child, "step 3")
    assert "event #5 of" in said(child, UP)
    assert left(child) == 0
    assert (tmp_path / "pallas_debug" / "history").read_text().endswith("quit\n")
    again = opened()
    assert "event #2 of" in said(again, f"{UP}{UP}")
    assert left(again) == 0


def test_interrupt_leaves_the_prompt_open(opened):
    child = opened()
    child.send(f"step{INTERRUPT}")
    child.expect("`quit` leaves")
    child.expect(PROMPT)
    assert "event #0 of" in said(child, "step")
    assert left(child) == 0


def test_refusal_is_red_and_does_not_count_where_a_person_sees_it(opened):
    child = opened(NO_COLOR="")
    assert "\x1b[31m* there is no command `foo`" in said(child, "foo")
    assert left(child) == 0


def test_home_that_cannot_be_written_to_keeps_nothing_and_fails_nothing(opened):
    child = opened(XDG_STATE_HOME="/proc/no")
    assert "event #0 of" in said(child, "step")
    assert left(child) == 0
