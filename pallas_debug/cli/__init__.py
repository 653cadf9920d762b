"""The terminal door: `pallas-debug`, one file per subcommand.

Exit codes are part of the interface: scripts and CI read them.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pallas_debug.cli import check, codes, demo, explain, run, view

# A command is a module with `add_arguments(parser)` and `run(arguments) -> int`; the
# first line of its docstring is its help.
COMMANDS = {
    "run": run,
    "check": check,
    "explain": explain,
    "view": view,
    "demo": demo,
}

EPILOG = """exit codes:
  0  clean
  1  findings of severity error
  2  wrong usage, or no kernel was launched
  3  something that pallas_debug does not support, or a fault of its own
  4  the script itself failed, and nothing was found in its kernels
"""


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    top = argparse.ArgumentParser(
        prog="pallas-debug",
        description="Record, check and look into JAX Pallas kernels on a CPU.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        text = (module.__doc__ or "").partition("\n")[0]
        sub = commands.add_parser(name, help=text, description=text)
        module.add_arguments(sub)
        sub.set_defaults(run=module.run)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code."""
    try:
        arguments = parser().parse_args(argv)
    except SystemExit as stop:  # argparse has printed the help or the fault
        return int(stop.code or 0)
    try:
        return arguments.run(arguments)
    except Exception as error:  # Python's own exit code 1 would mean "findings"
        codes.show(error)
        return codes.of_error(error)
