"""Run a function or a script and print what is wrong with its kernels."""

from __future__ import annotations

import argparse

import pallas_debug
from pallas_debug import arguments as words
from pallas_debug import errors, views
from pallas_debug.cli import codes, output, script, target
from pallas_debug.cli import run as run_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    output.add_arguments(parser)
    output.add_judging(parser)
    parser.add_argument(
        "--jax", action="store_true", help="only what JAX itself would refuse"
    )
    words.add_to(parser.add_argument)
    parser.add_argument("target", help=target.WANTED)
    parser.add_argument(
        "words", nargs=argparse.REMAINDER, metavar="...", help="a script's arguments"
    )


def run(arguments: argparse.Namespace) -> int:
    """Records the target, or loads it, and prints the findings."""
    if target.is_trace(arguments.target):
        output.refuse_words(arguments)
        return _of_file(arguments)
    path = target.script(arguments.target)
    if path is not None:
        output.warn_of_ours(arguments)
        return run_command.recorded(
            lambda: script.run(path, arguments.words),
            arguments,
            summary=False,
            refusals=arguments.jax,
        )
    output.refuse_words(arguments)
    try:
        found = target.function(arguments.target)
    except errors.PallasDebugError:
        raise
    except Exception as error:  # of the user's file
        script.show(error)
        return codes.SCRIPT_FAILED
    return run_command.recorded(
        lambda: script.ending(lambda: target.called(found)),
        arguments,
        summary=False,
        refusals=arguments.jax,
    )


def _of_file(arguments: argparse.Namespace) -> int:
    """Judges a saved trace."""
    trace = pallas_debug.load(arguments.target)
    report = output.judged(trace, arguments)
    family = views.REFUSALS if arguments.jax else ""
    output.show(trace, report, arguments, summary=False, family=family)
    return codes.verdict(trace, report, failed=False, refusals_only=arguments.jax)
