"""The prompt: commands by name and letter, with input from a pipe as from a person."""

import io
import os
import pathlib
import subprocess
import sys

import pytest
from session import jax_kernels
from session.jax_kernels import rows

import pallas_debug as pldb
from pallas_debug import cli
from pallas_debug.cli.prompt import Prompt
from pallas_debug.cli.prompt_table import ALIASES, COMMANDS

ROOT = pathlib.Path(__file__).resolve().parents[2]

SCRIPT = """
import sys
import jax, jax.numpy as jnp
from jax.experimental import pallas as pl

def kernel(x_ref, o_ref):
    value = x_ref[...] * 2
    o_ref[...] = value

def main():
    x = jnp.arange(4.0)
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return pl.pallas_call(kernel, out_shape=shape)(x)

def nothing():
    return 1

if __name__ == "__main__":
    main()
    if "fail" in sys.argv:
        raise ValueError("of the script")
"""


@pytest.fixture(scope="module")
def recorded():
    return pldb.trace(jax_kernels.running_sum, rows())


@pytest.fixture
def prompt(recorded):
    """A prompt that is told lines and gives back what it says."""
    out = io.StringIO()
    made = Prompt(pldb.Session(recorded), interactive=False)
    made.stdout = out

    def tell(line):
        out.seek(0)
        out.truncate()
        made.onecmd(line)
        return out.getvalue()

    made.tell = tell
    return made


@pytest.fixture
def script(tmp_path, monkeypatch):
    path = tmp_path / "some_kernel.py"
    path.write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    return path


def piped(monkeypatch, capsys, text, *arguments):
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    code = cli.main(["debug", *map(str, arguments)])
    said = capsys.readouterr()
    return code, said.out, said.err


def started(text, *arguments):
    """A process of its own, with its input from a pipe."""
    return subprocess.run(
        [sys.executable, "-m", "pallas_debug", "debug", *arguments],
        input=text,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_every_command_of_the_session_is_there():
    moves = {
        name
        for name in dir(pldb.Session)
        if not name.startswith("_") and callable(getattr(pldb.Session, name))
    }
    elsewhere = {
        "add": "for a viewer",
        "attach": "takes a function",
        "contents": "`memory`",
        "evaluate": "`print`",
        "extend": "`record_more`",
        "follow": "for a viewer",
        "hit": "for a viewer",
        "judged": "`findings`",
        "source": "`list`",
        "variables": "`locals`",
        "widget": "for a notebook",
    }
    known = {*COMMANDS, *ALIASES}
    assert moves - known - set(elsewhere) == set()
    assert {"locals", "breakpoints", "quit", "help", "print"} <= known


def test_letters_mean_one_command_each():
    letters = [letter for one in COMMANDS.values() for letter in one.letter.split()]
    assert len(letters) == len(set(letters))
    assert not set(letters) & set(COMMANDS)


def test_a_fault_is_found_by_commands_alone(prompt):
    trace = prompt.session.trace
    place = trace[int(trace.events.where(op="state.set")[0])].place
    assert "breakpoint 1: line=" in prompt.tell(f"break {place} if acc[0] == 4")
    assert "write o_ref[1, 0:4]" in prompt.tell("c")
    assert "* acc: float32[4] = [ 4., 6., 8., 10.]" in prompt.tell("locals").replace(
        "  acc", "* acc"
    )
    assert "total = jax.lax.fori_loop" in prompt.tell("where")
    assert prompt.tell("print acc.sum()").strip() == "28.0"
    assert "read x_ref[0, 0:4]" in prompt.tell("origin")
    assert "o_ref[1, 0:2]: float32[3, 4]" in prompt.tell("memory o_ref[1, 0:2]")
    assert "the last write to o_ref[0, 0]" in prompt.tell("w o_ref[0, 0]")
    assert "run 1, what if acc=100" in prompt.tell("divert acc = 100")
    assert "write o_ref" in prompt.tell("open 1")
    assert "acc: float32[4] = [100., 100., 100., 100.]" in prompt.tell("v")
    assert "run 1" in prompt.tell("runs")
    assert "launch 0" in prompt.tell("open 0")
    assert not prompt.failed


def test_an_empty_line_repeats_the_last_command(prompt):
    prompt.tell("step 2")
    prompt.tell("")
    assert prompt.session.cursor == 4
    prompt.tell("N")
    prompt.tell("   ")
    assert prompt.session.cursor == 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("foo", "there is no command `foo`"),
        ("brek 3", "try: `break`"),
        ("step x", "`step` got 'x'; accepted: a number"),
        ("over 3", "`over` got '3'; accepted: nothing after it"),
        ("break lines=3", "`where` got 'lines'"),
        ("where true", "or all: every thread"),
        ("break line=15 if ac > 3", "`acc`"),
        ("watch o_ref on writes", "`write`, `read` or `change`"),
        ("watch", "a buffer such as"),
        ("w o_ref[a]", "indices such as"),
        ("divert acc", "a name, `=` and a value"),
        ("divert acc = x", "a number, or a list"),
        ("open 3", "no other run"),
        ("focus thred=1", "`focus` got 'thred'"),
        ("print acc", "has no value here"),
        ("jump 999", "an event: 0"),
        ("delete 4", "there is no breakpoint"),
        ("save", "a path"),
    ],
)
def test_wrong_lines_are_refused_with_what_would_be_right(prompt, line, said):
    prompt.session.step()
    assert said in prompt.tell(line)
    assert prompt.failed
    assert prompt.session.cursor == 1


def test_a_breakpoint_that_nothing_meets_says_so(prompt):
    assert "no event meets it" in prompt.tell("break 9999")
    assert "no event meets all of it" in prompt.tell("watch x_ref")
    assert "no event" not in prompt.tell("break kind='read'")


def test_lists_and_conditions(prompt):
    assert prompt.tell("breakpoints").strip() == "no breakpoints"
    prompt.tell('break op="state.set", block=0')
    prompt.tell("watch o_ref[0:2, 1] on change if value.max() > 5")
    listed = prompt.tell("bl")
    assert '1: op="state.set", block=0' in listed
    assert 'region="[0:2, 1]" when value.max() > 5 on change' in listed
    assert "(disabled)" in prompt.tell("disable 1")
    assert "(disabled)" not in prompt.tell("enable all")
    assert "1:" not in prompt.tell("delete 1")
    assert len(prompt.tell('find kind="write"').splitlines()) == 4
    assert "no such event" in prompt.tell("find nan=True")
    assert "no findings" in prompt.tell("findings")
    assert "→" in prompt.tell("list 2")
    assert "core 0" in prompt.tell("focus thread=1")
    assert "core 0" in prompt.tell("threads")


def test_help_names_every_command_and_each_alone(prompt):
    text = prompt.tell("help")
    assert all(name in text for name in COMMANDS)
    assert "Stops at events" in prompt.tell("help break")
    assert prompt.tell("?c").startswith("continue")
    assert "no command" in prompt.tell("help foo")


def test_completion_of_names_conditions_buffers_and_variables(prompt):
    assert prompt.completenames("rev") == ["reverse_continue"]
    assert "buffer=" in prompt.completedefault("bu", "break bu", 6, 8)
    assert prompt.completedefault("o_", "watch o_", 6, 8) == ["o_ref"]
    prompt.tell("break op='state.set'")
    prompt.tell("c")
    assert "acc" in prompt.completedefault("a", "print a", 6, 7)
    assert "step" in prompt.completedefault("st", "help st", 5, 7)


def test_interrupting_a_command_keeps_the_session(prompt, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    prompt.tell("step 3")
    monkeypatch.setattr(prompt.session, "continue_", interrupted)
    assert "interrupted" in prompt.tell("c")
    assert prompt.session.cursor == 3
    assert "event" in prompt.tell("step")


def test_a_fault_of_ours_does_not_end_the_prompt(prompt, monkeypatch, capsys):
    monkeypatch.setattr(prompt.session, "over", lambda: 1 / 0)
    prompt.tell("o")
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert prompt.failed
    assert "event" in prompt.tell("step")


@pytest.mark.parametrize("form", ["{}", "{}:main", "some_kernel:main"])
def test_targets_open_a_prompt(script, monkeypatch, capsys, form):
    target = form.format(script)
    text = "break line=8\nc\nprint value.sum()\nq\nstep\n"
    code, out, _ = piped(monkeypatch, capsys, text, target)
    assert code == 0
    assert "12.0" in out
    assert "write o_ref[0:4] by core 0 at some_kernel.py:8" in out


def test_a_saved_trace_opens_a_prompt(recorded, tmp_path, monkeypatch, capsys):
    path = tmp_path / "x.pldb"
    recorded.save(path)
    text = "break op='state.set'\nc\nlocals\n"
    code, out, _ = piped(monkeypatch, capsys, text, path)
    assert code == 2
    assert "came from a file" in out
    assert "write o_ref[0, 0:4]" in out


def test_commands_of_the_command_line_come_first(script, monkeypatch, capsys):
    code, out, _ = piped(
        monkeypatch, capsys, "p\n", "-c", "step 4", "--command", "where", script
    )
    assert code == 0
    assert "event #3 of" in out
    assert "event #2 of" in out


def test_exit_codes(script, tmp_path, monkeypatch, capsys):
    assert piped(monkeypatch, capsys, "", "no_such_file.py")[0] == 2
    assert piped(monkeypatch, capsys, "", f"{script}:nothing")[0] == 2
    assert piped(monkeypatch, capsys, "foo\nq\n", script)[0] == 2
    code, out, err = piped(monkeypatch, capsys, "q\n", script, "fail")
    assert code == 0
    assert "of the script" in err
    assert "before the first of" in out
    empty = tmp_path / "empty.py"
    empty.write_text("raise ValueError('no kernel')")
    assert piped(monkeypatch, capsys, "", empty)[0] == 4
    exits = tmp_path / "exits.py"
    exits.write_text(SCRIPT + "\nimport os; os._exit(3)")
    done = started("last\n", exits)
    assert done.returncode == 0
    assert "this is the last event" in done.stdout


def test_piped_end_of_input_ends_the_prompt(script):
    done = started("step\n\n", script)
    assert done.returncode == 0
    assert "event #1 of" in done.stdout
    assert not done.stderr


def test_letters_with_words_are_those_of_pdb(prompt):
    assert "breakpoint 1: line=9999" in prompt.tell("b 9999")
    prompt.tell("last")
    assert prompt.tell("p 1 + 1") == "2\n"
    assert prompt.tell("l 2") == prompt.tell("list 2")
    assert "beginning" in prompt.tell("rc")
    assert "event #2 of" in prompt.tell("step 3")
    assert "event #1 of" in prompt.tell("p")
    assert "event #0 of" in prompt.tell("p 1")
    assert "break" in prompt.tell("break")


def test_a_missing_trace_is_said_to_be_missing(monkeypatch, capsys):
    code, _, err = piped(monkeypatch, capsys, "", "missing.pldb")
    assert code == 2
    assert "missing.pldb" in err
    assert "exist" in err


def test_a_trace_that_was_cut_short_says_so(script, monkeypatch, capsys):
    said = "record_more 1\nrecord_more\nq\n"
    code, out, _ = piped(monkeypatch, capsys, said, "--max-events", "2", script)
    assert code == 0
    assert "kernel, launch 0, was truncated" in out
    assert "recorded 1 more events, truncated" in out
    assert "more events, finished" in out
