"""Show a saved trace."""

from __future__ import annotations

import argparse

import pallas_debug
from pallas_debug.cli import codes, output, target


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("trace", help="a file written by trace.save")
    parser.add_argument("--text", action="store_true", help="as text, the default")
    output.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints the summary of the file."""
    trace = target.saved(arguments.trace)
    report = pallas_debug.check(trace)
    output.show(trace, report, arguments, summary=True)
    return codes.verdict(trace, report, failed=False, refusals_only=False)
