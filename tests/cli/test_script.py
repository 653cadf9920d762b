"""A script's recording is reported however the script ends; no JAX needed."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

TESTS = pathlib.Path(__file__).resolve().parent.parent

# Runs the command line over the fake session; the script launches through it.
DRIVER = """
import builtins, sys
sys.path[:0] = [{tests!r}, {root!r}]
import pallas_debug, fakes
from pallas_debug import views
session = fakes.FakeSession()
session.findings = {findings}
vars(pallas_debug).update(
    recording=session.recording, check=session.check, Options=session.Options
)
views.summary = lambda trace, report, family="": f"SUMMARY {{trace.values}}"
views.findings = lambda report, family="", trace=None: f"FINDINGS {{len(report.findings)}}"
views.facts = lambda trace, report, family="": {{"launches": len(trace.launches)}}
builtins.launch = session.launch
from pallas_debug.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def command(tmp_path):
    """Runs `pallas-debug` words… over a script's text."""

    def run(body, *words, before=("run",), findings="()"):
        script = tmp_path / "script.py"
        script.write_text(textwrap.dedent(body))
        driver = DRIVER.format(
            tests=str(TESTS), root=str(TESTS.parent), findings=findings
        )
        return subprocess.run(
            [sys.executable, "-c", driver, *before, str(script), *words],
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run


ENDINGS = {
    "returns": ("", 0, ""),
    "sys.exit": ("import sys; sys.exit(3)", 4, "ended by sys.exit with code 3"),
    "sys.exit with text": ("raise SystemExit('bad')", 4, "with code 1"),
    "os._exit": ("import os; os._exit(3)", 4, "ended by os._exit with code 3"),
    "os._exit clean": ("import os; os._exit(0)", 0, "ended by os._exit with code 0"),
    "interrupted": ("raise KeyboardInterrupt", 130, "the script was interrupted"),
    "raises": ("1 / 0", 4, "raised ZeroDivisionError: division by zero"),
}


@pytest.mark.parametrize(("end", "code", "said"), ENDINGS.values(), ids=list(ENDINGS))
def test_recording_is_reported_however_the_script_ends(command, end, code, said):
    done = command(f"launch(7)\n{end}\n")
    assert done.stdout.startswith("SUMMARY (7,)"), done.stderr
    assert said in done.stdout
    assert done.returncode == code


def test_exit_from_a_watchdog_thread_is_reported(command):
    body = """
        import os, threading, time
        launch(1)
        threading.Timer(0.05, lambda: os._exit(5)).start()
        time.sleep(30)
    """
    done = command(body)
    assert "ended by os._exit with code 5" in done.stdout, done.stderr
    assert done.returncode == 4


def test_exit_inside_a_handler_of_everything_is_reported(command):
    body = """
        import os
        launch(1)
        try:
            os._exit(0)
        except BaseException:
            print("came back from os._exit")
    """
    done = command(body)
    assert done.stdout.startswith("SUMMARY (1,)"), done.stderr
    assert "came back" not in done.stdout


def test_forked_child_ends_by_itself(command):
    body = """
        import os
        launch(1)
        child = os.fork()
        if not child:
            os._exit(9)
        print("child:", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    done = command(body)
    assert "child: 9" in done.stdout
    assert done.stdout.count("SUMMARY") == 1


def test_findings_decide_the_exit_code(command):
    done = command("launch(1)\nimport os; os._exit(0)", findings="(fakes.CODE_ERROR,)")
    assert done.returncode == 1


def test_script_sees_its_arguments_name_and_folder(command, tmp_path):
    (tmp_path / "neighbor.py").write_text("x = 5")
    body = """
        import sys, neighbor
        launch(0)
        print(__name__, sys.argv[1:], neighbor.x)
    """
    done = command(body, "--flag", "a b")
    assert "__main__ ['--flag', 'a b'] 5" in done.stdout, done.stderr


def test_traceback_begins_in_the_script(command):
    done = command("launch(1)\ndef f():\n    return 1 / 0\nf()\n")
    files = [line for line in done.stderr.splitlines() if "File" in line]
    assert len(files) == 2
    assert all("script.py" in line for line in files)


def test_script_that_launches_nothing_is_told_so(command):
    done = command("x = 1")
    assert "script.py` ran no Pallas kernel" in done.stderr
    assert done.returncode == 2


def test_script_that_fails_before_any_launch_shows_its_error(command):
    done = command("1 / 0")
    assert "ZeroDivisionError" in done.stderr
    assert "ran no Pallas kernel" not in done.stderr
    assert done.returncode == 4


def test_json_is_the_only_thing_on_stdout(command):
    body = "launch(1)\nprint('noise')\nimport os; os._exit(0)"
    done = command(body, before=("run", "--json"))
    assert json.loads(done.stdout) == {
        "launches": 1,
        "script": {"how": "os._exit", "code": 0},
    }
    assert "noise" in done.stderr


def test_check_prints_findings_only(command):
    done = command("launch(1)", before=("check",))
    assert done.stdout.strip() == "FINDINGS 0"
    assert done.returncode == 0


def test_script_that_leaves_before_any_launch_says_so(command):
    done = command("import sys; sys.exit(3)")
    assert "ended by sys.exit with code 3; no kernel was launched" in done.stdout
    assert done.returncode == 4


def test_our_option_after_the_script_goes_to_it_with_a_note(command):
    done = command("import sys\nlaunch(1)\nprint(sys.argv[1:])", "--json", "--own")
    assert "['--json', '--own']" in done.stdout
    assert "note: the script gets `--json`" in done.stderr
    assert "--own" not in done.stderr


def test_note_about_our_option_keeps_its_value(command):
    words = ("--blocks", "(0, 1)", "--chip=h100", "--cores", "--json", "x")
    done = command("launch(1)", *words)
    for said in ("--blocks '(0, 1)' /", "--chip=h100 /", "--cores /", "--json /"):
        assert f"pallas-debug run {said}" in done.stderr


INTERRUPTED = """
import os, signal, sys, threading, time
import jax, jax.numpy as jnp
from jax.experimental import pallas as pl

def slow(x_ref, o_ref):
    def body(i, carry):
        o_ref[...] += x_ref[...]
        return carry
    o_ref[...] = x_ref[...]
    jax.lax.fori_loop(0, 10**7, body, 0)

def runs(frame):
    while frame and frame.f_code.co_name != "advance":
        frame = frame.f_back
    return frame is not None

def interrupt():
    while not any(map(runs, sys._current_frames().values())):
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)

def case():
    threading.Thread(target=interrupt, daemon=True).start()
    x = jnp.ones(4)
    return pl.pallas_call(slow, out_shape=x)(x)

if __name__ == "__main__":
    case()
"""


@pytest.mark.parametrize("words", [("run",), ("check",), ("check", ":case")])
def test_interrupted_kernel_is_reported_without_a_traceback(tmp_path, words):
    script = tmp_path / "slow.py"
    script.write_text(INTERRUPTED)
    name, suffix = words[0], "".join(words[1:])
    done = subprocess.run(
        [sys.executable, "-m", "pallas_debug", name, f"{script}{suffix}"],
        capture_output=True,
        text=True,
        timeout=100,
        env=os.environ | {"PYTHONPATH": str(TESTS.parent)},
    )
    assert "Traceback" not in done.stderr
    assert "PD903" in done.stdout
    assert done.stdout.rstrip().endswith("the script was interrupted")
    assert done.returncode == 130


def test_an_interrupted_kernel_is_debugged_after_one_line_about_it(tmp_path):
    script = tmp_path / "slow.py"
    script.write_text(INTERRUPTED)
    done = subprocess.run(
        [sys.executable, "-m", "pallas_debug", "debug", str(script)],
        input="last\n",
        capture_output=True,
        text=True,
        timeout=100,
        env=os.environ | {"PYTHONPATH": str(TESTS.parent)},
    )
    assert done.stderr == "the script was interrupted\n"
    assert done.stdout.startswith("slow, launch 0, was interrupted")
    assert "this is the last event" in done.stdout
