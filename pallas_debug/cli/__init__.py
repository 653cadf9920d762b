"""The terminal door: `pallas-debug`, one file per subcommand.

Exit codes are part of the interface: scripts and CI read them.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from pallas_debug import errors
from pallas_debug.cli import (
    check,
    codes,
    completion,
    debug,
    demo,
    explain,
    export,
    output,
    portability,
    run,
    script,
    style,
    version,
    view,
)

# A command is a module with `add_arguments(parser)` and `run(arguments) -> int`; the
# first line of its docstring is its help.
COMMANDS = {
    "run": run,
    "check": check,
    "debug": debug,
    "explain": explain,
    "export": export,
    "portability": portability,
    "view": view,
    "demo": demo,
    "completion": completion,
}

EPILOG = """exit codes:
  0  clean
  1  findings of severity error
  2  wrong usage, or no kernel was launched
  3  something that pallas_debug does not support, or a fault of its own
  4  the script or the file itself failed, and nothing was found in its kernels
  130  interrupted, and nothing was found until then
"""


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    top = argparse.ArgumentParser(
        prog="pallas-debug",
        description="Record, check and look into JAX Pallas kernels on a CPU.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action=version.Show, help="say which version this is")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        text = (module.__doc__ or "").partition("\n")[0]
        sub = commands.add_parser(name, help=text, description=text)
        module.add_arguments(sub)
        sub.set_defaults(run=module.run, parser=sub)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code."""
    style.make_legible(sys.stdout)
    style.make_legible(sys.stderr)
    words = sys.argv[1:] if argv is None else list(argv)
    try:
        arguments, unknown = parser().parse_known_args(words or ["--help"])
    except SystemExit as stop:  # argparse has printed the help or the fault
        return int(stop.code or 0)
    if unknown:
        return _refused(arguments.command, unknown[0])
    try:
        return arguments.run(arguments)
    except BrokenPipeError:  # `… | head`: the reader has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return codes.CLEAN
    except SystemExit as stop:  # likewise, of an option after the target
        return script.exit_code(stop)
    except (
        Exception,
        KeyboardInterrupt,
    ) as error:  # Python's own exit code 1 would mean "findings"
        codes.show(error)
        output.say_error(error, arguments)
        return codes.of_error(error)


def _refused(command: str, word: str) -> int:
    """Says that a command does not know a word, and which it may have meant."""
    sub = argparse.ArgumentParser()
    COMMANDS[command].add_arguments(sub)
    known = [flag for action in sub._actions for flag in action.option_strings]
    close = errors.or_list(errors.nearest(word, known) if word[:1] == "-" else ())
    print(
        f"pallas-debug {command}: unrecognized argument `{word}`\n"
        f"  try: {close + ', or ' if close else ''}`pallas-debug {command} --help`",
        file=sys.stderr,
    )
    return codes.USAGE
