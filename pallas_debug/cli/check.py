"""Run a function or a script and print what is wrong with its kernels."""

from __future__ import annotations

import argparse

import pallas_debug
from pallas_debug import arguments as words
from pallas_debug import errors, views
from pallas_debug.cli import codes, output, target
from pallas_debug.cli import run as run_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    output.add_arguments(parser)
    parser.add_argument(
        "--jax", action="store_true", help="only what JAX itself would refuse"
    )
    words.add_to(parser.add_argument)
    parser.add_argument("target", help=target.WANTED)
    parser.add_argument(
        "words", nargs=argparse.REMAINDER, metavar="...", help="a script's arguments"
    )


def run(arguments: argparse.Namespace) -> int:
    """Records the target and prints the findings."""
    path = target.script(arguments.target)
    if path is not None:
        return run_command.recorded(
            path, arguments, summary=False, refusals=arguments.jax
        )
    found = target.function(arguments.target)
    recording = pallas_debug.recording(options=words.options(arguments))
    with recording as made, output.script_output(arguments):
        target.called(found)
    trace = made.trace
    if not trace.launches:
        raise errors.NoLaunch(function=arguments.target)
    report = pallas_debug.check(trace)
    family = views.REFUSALS if arguments.jax else ""
    output.show(trace, report, arguments, summary=False, family=family)
    return codes.verdict(trace, report, failed=False, refusals_only=arguments.jax)
