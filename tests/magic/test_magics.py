"""The magics in a real IPython shell, over a session that needs no JAX."""

import sys

import pytest

pytest.importorskip("IPython")

from fakes import CODE_ERROR, FakeSession, FakeTrace
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import pallas_debug as pldb
from pallas_debug import errors


@pytest.fixture
def session(monkeypatch):
    fake = FakeSession()
    fake.install(monkeypatch, pldb)
    return fake


@pytest.fixture
def shell(session):
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(colors="NoColor")
    shell.run_line_magic("load_ext", "pallas_debug")
    shell.user_ns["launch"] = session.launch
    yield shell
    shell.run_line_magic("unload_ext", "pallas_debug")
    shell.history_manager.end_session()
    InteractiveShell.clear_instance()


def run(shell, cell):
    """Runs a cell as a user's shell does; returns its result and what it showed."""
    with capture_output() as shown:
        result = shell.run_cell(cell, store_history=True)
    texts = [out.data["text/plain"] for out in shown.outputs]
    return result, shown.stdout + "".join(texts)


def test_cell_runs_under_a_recording_that_ends_with_it(shell, session):
    result, shown = run(shell, "%%pallas_debug -o t\nx = launch(5)\n")
    assert result.success, shown
    assert (session.opened, session.closed) == (1, 1)
    assert shell.user_ns["x"] == 5
    assert shell.user_ns["t"].values == (5,)


def test_trace_is_shown_once_and_the_value_as_usual(shell):
    result, shown = run(shell, "%%pallas_debug\nlaunch(41) + 1")
    assert result.result == 42
    assert shown.count("FakeTrace of 1 launches") == 1
    assert shell.user_ns["_"] == 42


def test_quiet_shows_nothing(shell):
    _, shown = run(shell, "%%pallas_debug -q -o t\nx = launch(1)")
    assert shown.strip() == ""
    assert isinstance(shell.user_ns["t"], FakeTrace)


def test_line_numbers_in_a_traceback_are_those_of_the_cell(shell):
    result, shown = run(shell, "%%pallas_debug\nlaunch(1)\n\nboom = 1 / 0\n")
    assert isinstance(result.error_in_exec, ZeroDivisionError)
    assert "----> 4 boom = 1 / 0" in shown
    assert "pallas_debug/magic" not in shown


def test_recording_of_a_failed_cell_is_kept(shell, session):
    run(shell, "%%pallas_debug -o t\nlaunch(1)\n1 / 0")
    assert shell.user_ns["t"].values == (1,)
    assert not session.is_open


def test_syntax_error_names_the_right_line_and_opens_nothing(shell, session):
    result, _ = run(shell, "%%pallas_debug\nx = 1\ny = = 2\n")
    assert isinstance(result.error_before_exec, SyntaxError)
    assert result.error_before_exec.lineno == 3
    assert session.opened == 0


def test_line_magics_in_the_cell_work(shell):
    result, shown = run(shell, "%%pallas_debug -q -o t\n%time x = launch(2)\n")
    assert result.success, shown
    assert shell.user_ns["x"] == 2


def test_top_level_await_in_the_cell_works(shell, session):
    cell = "%%pallas_debug -q -o t\nimport asyncio\nawait asyncio.sleep(0)\nlaunch(3)"
    result, shown = run(shell, cell)
    assert result.success, shown
    assert shell.user_ns["t"].values == (3,)
    assert not session.is_open


def test_future_import_stays_first(shell):
    cell = (
        "%%pallas_debug -q -o t\n# a comment\nfrom __future__ import annotations\n"
        "def f(x: Undefined): return launch(x)\nf(4)"
    )
    result, shown = run(shell, cell)
    assert result.success, shown
    assert shell.user_ns["t"].values == (4,)


def test_cell_magic_below_ours_works(shell):
    result, shown = run(shell, "%%pallas_debug -q -o t\n%%time\nx = launch(6)\n")
    assert result.success, shown
    assert shell.user_ns["t"].values == (6,)
    assert "Wall time" in shown


def test_cell_magic_above_ours_works(shell, session):
    result, shown = run(shell, "%%time\n%%pallas_debug -q -o t\nx = launch(7)\n")
    assert result.success, shown
    assert shell.user_ns["t"].values == (7,)
    assert not session.is_open


def test_cell_run_inside_the_cell_does_not_end_the_recording(shell, session):
    cell = (
        "%%pallas_debug -q -o t\nget_ipython().run_cell('launch(1)')\n"
        "get_ipython().run_cell('')\nlaunch(2)"
    )
    result, shown = run(shell, cell)
    assert result.success, shown
    assert shell.user_ns["t"].values == (1, 2)


def test_magic_called_by_name_records_too(shell):
    with capture_output():
        shell.run_cell_magic("pallas_debug", "-o t", "launch(8)")
    assert shell.user_ns["t"].values == (8,)


def test_options_reach_the_recording(shell, session):
    line = "--chip h100 --cores 4 --blocks 0:2,(1,1) --max-events 1e3 --exact"
    result, shown = run(shell, f"%%pallas_debug {line}\nlaunch()")
    assert result.success, shown
    assert vars(session.options[0]) == {
        "chip": "h100",
        "cores": 4,
        "blocks": (0, 1, (1, 1)),
        "max_events": 1000,
        "exact": True,
    }


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("--chips h100", "unrecognized arguments"),
        ("--cores 0", "'0' is not a positive integer"),
        ("--values some", "invalid choice"),
        ("--blocks x", "linear indices"),
        ("--chip h10", "`h100`"),
        ("-o 2x", "-o 2x: not a name"),
        ("-o for", "-o for: a word of Python, not a name"),
        ("-s None", "-s None: a word of Python, not a name"),
    ],
)
def test_bad_option_is_a_usage_error_and_runs_nothing(shell, session, line, complaint):
    result, _ = run(shell, f"%%pallas_debug {line}\nlaunch()")
    assert isinstance(result.error_in_exec, UsageError)
    assert complaint in str(result.error_in_exec)
    assert session.opened == 0


def test_line_magic_in_a_recorded_cell_records_in_both(shell, session):
    cell = "%%pallas_debug -q\nlaunch()\n%pallas_debug launch()"
    result, shown = run(shell, cell)
    assert result.success, shown
    assert session.opened == session.closed == 2


def test_recorded_cell_in_a_recorded_cell_is_one_clear_error(shell, session):
    inner = "_ = get_ipython().run_cell('%%pallas_debug -q\\nlaunch()')"
    _, shown = run(shell, f"%%pallas_debug -q\nlaunch()\n{inner}")
    assert "a cell is already being recorded" in shown
    assert shown.count("PD932") == 1
    assert session.opened == session.closed


def test_line_magic_returns_the_trace(shell):
    result, shown = run(shell, "t = %pallas_debug launch(9)\nt.values")
    assert result.result == (9,), shown


def test_line_magic_shows_the_trace_once(shell):
    _, shown = run(shell, "%pallas_debug launch(9)")
    assert shown.count("FakeTrace of 1 launches") == 1


@pytest.mark.parametrize("option", ["-q", "--jax"])
def test_line_magic_returns_the_trace_that_it_does_not_show(shell, option):
    result, shown = run(shell, f"%pallas_debug {option} launch(9)")
    assert result.result is None
    assert "FakeTrace" not in shown
    _, shown = run(shell, f"a = %pallas_debug {option} launch(9)")
    assert "FakeTrace" not in shown
    assert shell.user_ns["a"].values == (9,)
    cell = (
        f"def g():\n    b = %pallas_debug {option} launch(8)\n    return b\ng().values"
    )
    assert run(shell, cell)[0].result == (8,)


def test_line_magic_keeps_the_code_as_it_is(shell):
    run(shell, "%pallas_debug -q -o t launch(b'a  b' + b' -o {x} $y')")
    assert shell.user_ns["t"].values == (b"a  b -o {x} $y",)


def test_line_magic_sees_local_names_of_a_function(shell):
    cell = "def f(k):\n    t = %pallas_debug launch(k)\n    return t\nf(3).values"
    result, shown = run(shell, cell)
    assert result.result == (3,), shown


def test_line_magic_without_code_is_a_usage_error(shell):
    result, _ = run(shell, "%pallas_debug --cores 3")
    assert "nothing to run" in str(result.error_in_exec)


def test_error_in_the_expression_keeps_its_kind(shell, session):
    result, _ = run(shell, "%pallas_debug launch(1) / 0")
    assert isinstance(result.error_in_exec, ZeroDivisionError)
    assert not session.is_open


def test_jax_option_reports_refusals_only(shell, session):
    session.findings = (CODE_ERROR,)
    _, shown = run(shell, "%%pallas_debug --jax\nx = launch(1)")
    assert shown.strip() == "no findings of PD3xx"


def test_help_lists_the_options(shell):
    with capture_output() as shown:
        shell.run_cell("%%pallas_debug?")
    text = shown.stdout + shell.magics_manager.magics["cell"]["pallas_debug"].__doc__
    for option in ("--blocks", "--max-events", "--values", "--jax", "-o NAME"):
        assert option in text


def test_other_cells_are_left_alone(shell, session):
    assert run(shell, "x = 3\nx")[0].result == 3
    assert session.opened == 0


def test_loading_twice_and_unloading_is_clean(shell):
    shell.run_line_magic("reload_ext", "pallas_debug")
    transforms = shell.input_transformer_manager.line_transforms
    assert sum(type(t).__name__ == "CellTransformer" for t in transforms) == 1


def test_line_magic_keeps_what_the_expression_returned(shell, session):
    run(shell, "%pallas_debug -q launch(9) + 1")
    assert session.made.outputs == 10


BEHIND = "options stand before the expression: %pallas_debug "


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("y = launch(1)", "not an expression: statements stand under %%pallas_debug"),
        ("launch(1) --cores 4", f"{BEHIND}--cores 4 launch(1)"),
        ("-q launch(1) --jax", f"{BEHIND}-q --jax launch(1)"),
        ("launch(1) -o t", f"{BEHIND}-o t launch(1)"),
    ],
)
def test_no_expression_is_a_usage_error(shell, session, code, said):
    result, _ = run(shell, f"%pallas_debug {code}")
    assert isinstance(result.error_in_exec, UsageError)
    assert said in str(result.error_in_exec)
    assert session.opened == 0


def test_what_is_subtracted_is_no_option(shell, session):
    shell.user_ns.update(q=2, jax=[3])
    for code in ("launch(9) -q", "launch(9) --jax[0]", "launch(len(' --jax'))"):
        result, _ = run(shell, f"%pallas_debug -q {code}")
        result.raise_error()
    assert session.opened == 3


def test_expression_stands_at_its_line_of_the_cell(shell):
    shell.user_ns["line"] = lambda: sys._getframe(1).f_lineno
    run(shell, "x = 1\n\n%pallas_debug -q -o t launch(line())")
    assert shell.user_ns["t"].values == (3,)


def test_recording_of_an_interrupted_expression_is_kept_and_shown(shell, session):
    def interrupted():
        session.launch(1)
        raise KeyboardInterrupt

    shell.user_ns["interrupted"] = interrupted
    result, shown = run(shell, "%pallas_debug -o t interrupted()")
    assert isinstance(result.error_in_exec, KeyboardInterrupt)
    assert shell.user_ns["t"].values == (1,)
    assert shown.count("FakeTrace of 1 launches") == 1
    assert "pallas_debug/magic" not in shown


def test_what_jax_says_of_a_stopped_recording_is_not_shown(shell, session):
    def stopped():
        session.launch(1)
        session.echo = RuntimeError("pallas_debug stopped recording")
        session.stop = errors.BadOption(option="blocks", value=9, accepted="fewer")
        raise session.echo

    shell.user_ns["stopped"] = stopped
    result, shown = run(shell, "%%pallas_debug\nstopped()")
    assert result.error_in_exec is session.stop
    assert "RuntimeError" not in shown
    assert shown.count("`blocks` got 9") == 1
    _, shown = run(shell, "%%pallas_debug\nraise RuntimeError('mine')")
    assert "RuntimeError: mine" in shown


def test_bad_option_that_only_the_recording_sees_is_a_usage_error(shell, session):
    session.refused = errors.BadOption(option="chip", value="x", accepted=("h100",))
    for cell in ("%%pallas_debug\nlaunch()", "%pallas_debug launch()"):
        result, _ = run(shell, cell)
        assert isinstance(result.error_in_exec, UsageError)


def test_session_over_the_trace_is_bound_to_a_name(shell):
    run(shell, "%%pallas_debug -q -s s -o t\nlaunch(3)")
    assert shell.user_ns["s"].trace is shell.user_ns["t"]
    run(shell, "%pallas_debug -q -s other launch(4)")
    assert shell.user_ns["other"].trace.values == (4,)
    for options in ("-s 3x", "-o t -s t"):
        result, _ = run(shell, f"%%pallas_debug {options}\nlaunch(3)")
        assert isinstance(result.error_in_exec, UsageError)
