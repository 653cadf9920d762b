"""The completion scripts, asked by the shells themselves."""

import shutil
import subprocess
import sys

import pytest

from pallas_debug import cli
from pallas_debug.cli import completion

pytest.importorskip("shtab", reason="no shtab: pip install 'pallas-debug[completion]'")

ASK = {
    # As bash itself does at a Tab: the words so far, then the registered function.
    "bash": """
source {script}
COMP_WORDS=({words} '{last}'); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
registered=$(complete -p pallas-debug); registered=${{registered##*-F }}
"${{registered%% *}}" pallas-debug '{last}' ''
printf '%s\\n' "${{COMPREPLY[@]}}"
""",
    "fish": "source {script}; complete -C '{words} {last}'",
}


def needs(shell):
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")


@pytest.fixture
def ask(tmp_path, monkeypatch, capsys):
    """What a shell offers after some words, the last of which is begun."""

    def asked(shell, *words):
        needs(shell)
        assert cli.main(["completion", shell]) == 0
        script = tmp_path / f"completion.{shell}"
        script.write_text(capsys.readouterr().out)
        (tmp_path / "kernels.py").write_text("")
        *before, last = ("pallas-debug", *words)
        text = ASK[shell].format(script=script, words=" ".join(before), last=last)
        flags = ("--norc", "--noprofile") if shell == "bash" else ("--no-config",)
        done = subprocess.run(
            [shell, *flags, "-c", text],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return {line.partition("\t")[0].strip() for line in done.stdout.splitlines()}

    return asked


@pytest.mark.parametrize("shell", sorted(ASK))
@pytest.mark.parametrize(
    ("words", "offered", "absent"),
    [
        (("e",), {"explain", "export"}, {"run"}),
        (("run", "--uninit"), {"--uninitialized"}, {"--save"}),
        (("run", "--values", ""), {"writes", "all", "none"}, {"kernels.py"}),
        (("run", "--chip", "v5"), {"v5e", "v5p"}, {"h100"}),
        (("run", "--policy", ""), {"random", "last-first"}, {"kernels.py"}),
        (("check", "--format", "s"), {"sarif"}, {"json"}),
        (("check", "ker"), {"kernels.py"}, set()),
        (("run", "--save", "ker"), {"kernels.py"}, set()),
        (("explain", "PD20"), {"PD203"}, {"PD101"}),
        (("demo", "ring_"), {"ring_race"}, {"hopper_matmul"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_shell_offers_commands_options_values_and_files(
    ask, shell, words, offered, absent
):
    found = ask(shell, *words)
    assert offered <= found
    assert not absent & found


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_shell_can_read_its_script_and_every_command_is_in_it(tmp_path, capsys, shell):
    needs(shell)
    assert cli.main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in cli.COMMANDS)
    script = tmp_path / "completion"
    script.write_text(text)
    flag = "--no-execute" if shell == "fish" else "-n"
    done = subprocess.run([shell, flag, script], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_missing_package_is_named_with_the_way_to_get_it(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert cli.main(["completion", "bash"]) == 2
    assert "pip install 'pallas-debug[completion]'" in capsys.readouterr().err
