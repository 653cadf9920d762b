"""Names of targets, usage errors, `explain`."""

import pytest

from pallas_debug import cli, errors
from pallas_debug.cli import explain, target

CASES = """
def launches(): return 1
def built(interpret=None): return (lambda a, b: a + b), (1, 2)
def with_words(): return (lambda *, k: k), (), {"k": 3}
def needs(x): return x
"""


@pytest.fixture
def cases(tmp_path, monkeypatch):
    (tmp_path / "some_cases.py").write_text(CASES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize("home", ["some_cases.py", "some_cases"])
@pytest.mark.parametrize(
    ("name", "value"), [("launches", 1), ("built", 3), ("with_words", 3)]
)
def test_target_is_called_and_so_is_what_it_builds(cases, home, name, value):
    assert target.called(target.function(f"{home}:{name}")) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("some_cases.py:needs", "a function without arguments"),
        ("some_cases.py:launch", "try: `launches`"),
        ("no_such_file.py:f", "a file that exists"),
        ("no_such_module_here:f", "a module that can be imported here"),
        ("some_cases", "file.py:function"),
    ],
)
def test_wrong_target_is_refused_with_what_would_be_right(cases, text, said):
    with pytest.raises(errors.BadOption) as caught:
        target.function(text)
    assert said in caught.value.render()


def test_usage_errors_have_code_two(capsys):
    assert cli.main(["nonsense"]) == 2
    assert cli.main(["check", "no_such_file.py"]) == 2
    assert cli.main(["view", "no_such_file.pldb"]) == 2
    assert cli.main(["run", "--cores", "0", "x.py"]) == 2
    assert "not a positive integer" in capsys.readouterr().err


def test_unknown_option_names_the_nearest_and_the_commands_own_help(capsys):
    assert cli.main(["run", "--corse", "3", "x.py"]) == 2
    said = capsys.readouterr().err
    assert "run: unrecognized argument `--corse`" in said
    assert "`--cores`" in said
    assert "pallas-debug run --help" in said


def test_trace_given_as_a_script_is_sent_to_view(tmp_path, capsys):
    path = tmp_path / "run.pldb"
    path.write_bytes(b"anything")
    assert cli.main(["run", str(path)]) == 2
    assert f"pallas-debug view {path}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["more"], "got 'more'; accepted: nothing after it but options"),
        (["--json", "more"], "got 'more'; accepted: nothing after it but options"),
        (["--corse", "3"], "got '--corse'"),
        (["--cores", "x"], "'x' is not a positive integer"),
    ],
)
def test_words_after_a_function_are_refused(cases, capsys, words, said):
    assert cli.main(["check", "some_cases.py:launches", *words]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert ("try: `--cores`" in told) == ("--corse" in words)


@pytest.mark.parametrize(
    ("body", "error"), [("def f(: pass", "SyntaxError"), ("1 / 0", "ZeroDivisionError")]
)
def test_file_that_cannot_be_imported_shows_its_own_error(
    tmp_path, capsys, body, error
):
    path = tmp_path / "broken.py"
    path.write_text(body)
    assert cli.main(["check", f"{path}:f"]) == 4
    said = capsys.readouterr().err
    assert error in said
    assert "pallas_debug" not in said
    assert "runpy" not in said


def test_pages_of_errors_leave_out_what_is_for_those_who_raise_them():
    assert not any("Data:" in page for _, page in explain.pages().values())


def test_help_names_every_command_and_exit_code(capsys):
    assert cli.main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in cli.COMMANDS)
    assert "3  something that pallas_debug does not support" in shown


@pytest.mark.parametrize("code", sorted(explain.pages()))
def test_every_code_is_explained(code, capsys):
    assert cli.main(["explain", code.lower()]) == 0
    assert capsys.readouterr().out.startswith(code)


def test_check_is_explained_by_name_too(capsys):
    assert cli.main(["explain", "deadlock"]) == 0
    assert "## " in capsys.readouterr().out


def test_list_of_codes_has_each_code_once(capsys):
    assert cli.main(["explain"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == sorted(explain.pages())


def test_unknown_code_offers_the_nearest(capsys):
    assert cli.main(["explain", "PDX"]) == 2
    assert "explain` lists them" in capsys.readouterr().err
    assert cli.main(["explain", "PD10"]) == 2
    assert "`PD101`" in capsys.readouterr().err
