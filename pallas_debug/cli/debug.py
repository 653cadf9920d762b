"""Record a function or a script, then step through what its kernels did."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator

import pallas_debug
from pallas_debug import arguments as words
from pallas_debug import errors
from pallas_debug.cli import codes, script, target
from pallas_debug.cli.prompt import Prompt


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "-c",
        "--command",
        action="append",
        default=[],
        metavar="COMMAND",
        help="a command of the prompt to begin with; may be given several times",
    )
    words.add_to(parser.add_argument)
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("target", help=f"{target.WANTED}, or a saved trace")
    parser.add_argument(
        "words", nargs=argparse.REMAINDER, metavar="...", help="a script's arguments"
    )


def run(arguments: argparse.Namespace) -> int:
    """Records the target, or loads it, and opens the prompt."""
    if arguments.json:
        raise errors.BadOption(
            option="debug",
            value="--json",
            accepted="no `--json`: it is a prompt; `check --json` and `view --json` "
            "say what was found and what was launched",
        )
    return target.run_or_load(
        arguments,
        run=lambda start: _recorded(start, arguments),
        load=lambda trace: _prompt(pallas_debug.Session(trace), arguments),
    )


def _recorded(run: Callable[[], script.Ending], arguments: argparse.Namespace) -> int:
    """Runs something of the user's under a recording, then opens the prompt."""
    options = words.options(arguments)
    recording = pallas_debug.recording(options=options)
    made = recording.__enter__()

    def opened(ending: script.Ending, is_main: bool = True) -> int:
        error, stopped = ending.raised, None
        try:
            recording.__exit__(type(error) if error else None, error, None)
        except KeyboardInterrupt:  # JAX's own error says it once more, at length
            ending = script.INTERRUPTED
        except Exception as stop:  # what stopped it is said
            codes.show(stop)
            stopped = stop
            ending = ending if error is None else script.STOPPED
        else:
            if isinstance(error, errors.RefusedGrid):  # names the line
                codes.show(error)
                stopped, ending = error, script.STOPPED
            elif error is not None:
                script.show(error)
        if ending.failed and ending != script.STOPPED:  # then its error says why
            print(ending, file=sys.stderr)
        if not made.trace.launches:
            return _nothing(ending, arguments, stopped)
        return _prompt(pallas_debug.Session(made.trace, options=options), arguments)

    with script.reported_exit(opened):
        ending = run()
    return opened(ending)


def _nothing(
    ending: script.Ending, arguments: argparse.Namespace, stopped: Exception | None
) -> int:
    """The exit code where there is nothing to step through."""
    if stopped is not None:
        return codes.of_error(stopped)
    if ending.code == codes.INTERRUPTED:
        return codes.INTERRUPTED
    if ending.failed:
        return codes.SCRIPT_FAILED
    raise errors.NoLaunch(function=arguments.target)


def _prompt(session: pallas_debug.Session, arguments: argparse.Namespace) -> int:
    """Runs the prompt until the user leaves; the exit code.

    A command that failed counts where nobody sees it: in a script's input.
    """
    prompt = Prompt(session, interactive=sys.stdin.isatty())
    prompt.say("\n".join([*_cut_short(session), str(session)]))
    prompt.cmdqueue.extend(arguments.command)
    with contextlib.suppress(BrokenPipeError):
        prompt.run()
    return codes.USAGE if prompt.failed and not prompt.interactive else codes.CLEAN


def _cut_short(session: pallas_debug.Session) -> Iterator[str]:
    """A line for each launch whose recording did not come to its end."""
    for launch in session.trace.launches:
        outcome = launch.outcome
        if outcome.is_cut:
            said = f": {outcome.message}" if outcome.message else ""
            yield f"{launch.name}, launch {launch.number}, was {outcome.kind}{said}"
