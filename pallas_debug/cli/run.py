"""Run a script, record its kernels, and print what they did."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import pallas_debug
from pallas_debug import arguments as words
from pallas_debug import errors, views
from pallas_debug.cli import codes, output, script, target


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    output.add_arguments(parser)
    words.add_to(parser.add_argument)
    parser.add_argument("script", help="path of the script")
    parser.add_argument(
        "words", nargs=argparse.REMAINDER, metavar="...", help="its arguments"
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs the script to its end and prints the summary."""
    path = target.script(arguments.script)
    if path is None:
        raise errors.BadOption(
            option="script", value=arguments.script, accepted="a Python file"
        )
    return recorded(path, arguments, summary=True)


def recorded(
    path: Any, arguments: argparse.Namespace, *, summary: bool, refusals: bool = False
) -> int:
    """Runs a script under a recording and reports it, however it ends."""
    recording = pallas_debug.recording(options=words.options(arguments))

    def report(ending: script.Ending) -> int:
        trace = made.trace
        if not trace.launches and not ending.failed:
            raise errors.NoLaunch(function=path.name)
        judged = pallas_debug.check(trace)
        output.show(
            trace,
            judged,
            arguments,
            summary=summary,
            family=views.REFUSALS if refusals else "",
            ending=ending,
        )
        return codes.verdict(
            trace, judged, failed=ending.failed, refusals_only=refusals
        )

    def report_exit(ending: script.Ending, is_main: bool) -> int:
        # A thread that kills a process that hangs must not wait for its launches.
        if is_main:
            recording.__exit__(None, None, None)
        try:
            return report(ending)
        except errors.PallasDebugError as error:
            print(error.render(), file=sys.stderr)
            return codes.USAGE

    with (
        recording as made,
        script.reported_exit(report_exit),
        output.script_output(arguments),
    ):
        ending = script.run(path, arguments.words)
    return report(ending)
