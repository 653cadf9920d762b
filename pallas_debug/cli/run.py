"""Run a script, record its kernels, and print what they did."""

from __future__ import annotations

import argparse
import contextlib
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
    parser.add_argument("target", metavar="script", help="path of the script")
    parser.add_argument(
        "words", nargs=argparse.REMAINDER, metavar="...", help="its arguments"
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs the script to its end and prints the summary."""
    path = target.script(arguments.target)
    if path is None:
        raise errors.BadOption(
            option="script", value=arguments.target, accepted="a Python file"
        )
    return recorded(path, arguments, summary=True)


def recorded(
    path: Any, arguments: argparse.Namespace, *, summary: bool, refusals: bool = False
) -> int:
    """Runs a script under a recording and reports it, however it ends."""
    recording = pallas_debug.recording(options=words.options(arguments))
    made = recording.__enter__()
    stdout = sys.stdout  # the script's may be elsewhere
    stopped: list[Exception] = []

    def close() -> None:
        try:
            recording.__exit__(None, None, None)
        except Exception as error:  # what was recorded is still shown
            stopped.append(error)

    def report_exit(ending: script.Ending, is_main: bool) -> int:
        # A thread that kills a process that hangs must not wait for its launches.
        if is_main:
            close()
        with contextlib.redirect_stdout(stdout):
            return _reported(made.trace, ending, arguments, summary, refusals, stopped)

    try:
        with script.reported_exit(report_exit), output.script_output(arguments):
            ending = script.run(path, arguments.words)
    finally:
        close()
    return _reported(made.trace, ending, arguments, summary, refusals, stopped)


def _reported(
    trace: Any,
    ending: script.Ending,
    arguments: argparse.Namespace,
    summary: bool,
    refusals: bool,
    stopped: list[Exception],
) -> int:
    """Shows what was recorded and what stopped it; returns the exit code."""
    if not (trace.launches or ending.failed or stopped):
        stopped = [errors.NoLaunch(function=arguments.target)]
    report = pallas_debug.check(trace)
    if trace.launches or arguments.json:
        family = views.REFUSALS if refusals else ""
        output.show(
            trace, report, arguments, summary=summary, family=family, ending=ending
        )
    for error in stopped:
        codes.show(error)
    code = codes.verdict(trace, report, failed=ending.failed, refusals_only=refusals)
    return codes.of_error(stopped[0]) if stopped and code != codes.FINDINGS else code
