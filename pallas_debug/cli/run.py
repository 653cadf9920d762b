"""Run a script, record its kernels, and print what they did."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable
from typing import Any

import pallas_debug
from pallas_debug import arguments as words
from pallas_debug import errors, views
from pallas_debug.cli import codes, output, script, target


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    output.add_arguments(parser)
    output.add_judging(parser)
    words.add_to(parser.add_argument)
    parser.add_argument("target", metavar="script", help="path of the script")
    parser.add_argument(
        "words", nargs=argparse.REMAINDER, metavar="...", help="its arguments"
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs the script to its end and prints the summary."""
    target.refuse_trace(arguments.target)
    path = target.script_path(arguments.target)
    if path is None:
        raise errors.BadOption(
            option="script",
            value=arguments.target,
            accepted="a Python file; a function of one is for `pallas-debug check`",
        )
    output.warn_of_ours(arguments)
    return recorded(lambda: script.run(path, arguments.words), arguments, summary=True)


def recorded(
    run: Callable[[], script.Ending],
    arguments: argparse.Namespace,
    *,
    summary: bool,
    refusals: bool = False,
) -> int:
    """Runs something of the user's under a recording and reports it, however it ends."""
    recording = pallas_debug.recording(options=words.options(arguments))
    made = recording.__enter__()
    stdout = sys.stdout  # the script's may be elsewhere
    stopped: list[BaseException] = []

    def reported(ending: script.Ending) -> int:
        return _reported(made.trace, ending, arguments, summary, refusals, stopped)

    def report_exit(ending: script.Ending, is_main: bool) -> int:
        # A thread that kills a process that hangs must not wait for its launches.
        if is_main:
            _closed(recording, ending, stopped)
        with contextlib.redirect_stdout(stdout):
            return reported(ending)

    with script.reported_exit(report_exit), output.script_output(arguments):
        ending = run()
    return reported(_closed(recording, ending, stopped))


def _closed(
    recording: Any, ending: script.Ending, stopped: list[BaseException]
) -> script.Ending:
    """Closes a recording; says how the script ended and adds what stopped it to a list.

    JAX raises in the script where a recording has stopped; that is not the script's own.
    """
    error = ending.raised
    try:
        if error is None:
            recording.__exit__(None, None, None)
        else:
            recording.__exit__(type(error), error, error.__traceback__)
    except KeyboardInterrupt as stop:  # what was recorded is still shown
        stopped.append(stop)
        return script.INTERRUPTED
    except Exception as stop:
        stopped.append(stop)
        return ending if error is None else script.STOPPED
    if isinstance(error, errors.RefusedGrid):  # names the line: no frames needed
        stopped.append(error)
        return script.STOPPED
    if error is not None:
        script.show(error)
    return ending


def _reported(
    trace: Any,
    ending: script.Ending,
    arguments: argparse.Namespace,
    summary: bool,
    refusals: bool,
    stopped: list[BaseException],
) -> int:
    """Shows what was recorded and what stopped it; returns the exit code."""
    if not (trace.launches or ending.failed or stopped):
        stopped = [errors.NoLaunch(function=arguments.target)]
    report = output.judged(trace, arguments)
    family = views.REFUSALS if refusals else ""
    if trace.launches or output.wants_data(arguments):
        output.show(
            trace,
            report,
            arguments,
            summary=summary,
            family=family,
            ending=ending,
            error=stopped[0] if stopped else None,
        )
    elif ending.failed and ending != script.STOPPED:  # then its error says why
        print(f"{ending}; no kernel was launched")
    for error in stopped:
        if not isinstance(error, KeyboardInterrupt):  # the ending has said it
            codes.show(error)
    code = codes.verdict(trace, report, failed=ending.failed, refusals_only=refusals)
    if code == codes.FINDINGS:
        return code
    if ending == script.INTERRUPTED:
        return codes.INTERRUPTED
    return codes.of_error(stopped[0]) if stopped else code
