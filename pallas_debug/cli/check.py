"""Run a function or a script and print what is wrong with its kernels."""

from __future__ import annotations

import argparse
from typing import Any

from pallas_debug import arguments as words
from pallas_debug import views
from pallas_debug.cli import codes, output, target
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
    return target.run_or_load(
        arguments,
        run=lambda start: run_command.recorded(
            start, arguments, summary=False, refusals=arguments.jax
        ),
        load=lambda trace: _judged(trace, arguments),
    )


def _judged(trace: Any, arguments: argparse.Namespace) -> int:
    """Judges a saved trace."""
    report = output.judged(trace, arguments)
    family = views.REFUSALS if arguments.jax else ""
    output.show(trace, report, arguments, summary=False, family=family)
    return codes.verdict(trace, report, failed=False, refusals_only=arguments.jax)
