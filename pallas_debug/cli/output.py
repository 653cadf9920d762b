"""What the commands print: text for people, `--json` for scripts."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import shlex
import sys
from collections.abc import Iterator
from typing import Any

import pallas_debug
from pallas_debug import errors, views
from pallas_debug.checks import suppression
from pallas_debug.cli import codes, style
from pallas_debug.views.facts import plain


def add_json(parser: argparse.ArgumentParser) -> None:
    """The option that every command has."""
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object and nothing else"
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of output that several commands share."""
    add_json(parser)
    parser.add_argument("--save", metavar="PATH", help="write the trace to this file")


def add_judging(parser: argparse.ArgumentParser) -> None:
    """The options that say which findings count, and how they are printed."""
    parser.add_argument(
        "--format",
        choices=("text", "json", "sarif", "github"),
        default="text",
        help="how the findings are printed (json is the same as --json)",
    )
    parser.add_argument(
        "--select", metavar="CODES", help="run these checks only: PD101,PD2"
    )
    parser.add_argument(
        "--ignore", metavar="CODES", help="leave the findings of these checks aside"
    )
    parser.add_argument(
        "--baseline", metavar="PATH", help="leave the findings of this file aside"
    )
    parser.add_argument(
        "--write-baseline",
        metavar="PATH",
        help="write the findings to a baseline file, and count none of them",
    )


def judged(trace: Any, arguments: argparse.Namespace) -> Any:
    """The report of a trace as the arguments ask."""
    report = pallas_debug.check(trace, select=arguments.select, ignore=arguments.ignore)
    if arguments.baseline:
        known = suppression.read_baseline(arguments.baseline)
        report = suppression.without(report, known)
    if arguments.write_baseline:
        suppression.write_baseline(report, arguments.write_baseline)
        known = map(suppression.fingerprint, report.findings)
        report = suppression.without(report, known)
    return report


def wants_json(arguments: argparse.Namespace) -> bool:
    """Whether standard output is one JSON object."""
    return arguments.json or getattr(arguments, "format", "text") == "json"


def wants_data(arguments: argparse.Namespace) -> bool:
    """Whether standard output is for a program alone."""
    return arguments.json or getattr(arguments, "format", "text") != "text"


def _ours_after_target(arguments: argparse.Namespace) -> Iterator[str]:
    """Options of this command, with their values, among the words after its target."""
    words = [*arguments.words, ""]
    actions = arguments.parser._option_string_actions
    for word, following in itertools.pairwise(words):
        action = actions.get(word.partition("=")[0])
        if action is None or not word.startswith("--"):
            continue
        apart = action.nargs != 0 and "=" not in word and following[:1] != "-"
        yield f"{word} {shlex.quote(following)}" if apart and following else word


def warn_of_ours(arguments: argparse.Namespace) -> None:
    """Says so if a script gets what was perhaps meant for us."""
    for word in _ours_after_target(arguments):
        print(
            f"note: the script gets `{word}`; an option of pallas-debug stands before "
            f"the script: pallas-debug {arguments.command} {word} {arguments.target}",
            file=sys.stderr,
        )


def take_options(arguments: argparse.Namespace) -> None:
    """Reads the options after a target that takes no words; refuses other words."""
    words, target, parser = arguments.words, arguments.target, arguments.parser
    if words and words[0].startswith("-"):
        arguments.words = []
        _, words = parser.parse_known_args([*words, "--", target], arguments)
        if arguments.target != target:
            words = [*words, arguments.target]
    if not words:
        return
    accepted: Any = "nothing after it but options"
    if words[0].startswith("-"):
        accepted = [flag for one in parser._actions for flag in one.option_strings]
    raise errors.BadOption(option=target, value=words[0], accepted=accepted)


def script_output(arguments: argparse.Namespace) -> Any:
    """Where the script's own output goes: beside ours, or away from the JSON."""
    if wants_data(arguments):
        return contextlib.redirect_stdout(sys.stderr)
    return contextlib.nullcontext()


def say(text: Any, facts: dict[str, Any], arguments: argparse.Namespace) -> None:
    """Prints what a command has to say: text for a person, or the facts as JSON."""
    if wants_json(arguments):
        print(json.dumps(plain(facts), indent=1))
    else:
        print(style.painted(str(text), sys.stdout))


def say_error(error: BaseException, arguments: argparse.Namespace) -> None:
    """Says what ended a command to a program; a person has been told."""
    if wants_json(arguments):
        say("", {"error": codes.facts(error)}, arguments)


def show(
    trace: Any,
    report: Any,
    arguments: argparse.Namespace,
    *,
    summary: bool,
    family: str = "",
    ending: Any = None,
    error: BaseException | None = None,
) -> None:
    """Prints a trace and its report as the arguments ask.

    Args:
      trace: What was recorded.
      report: What the checks say.
      arguments: With `json` and `save`.
      summary: Whether to say what was launched, or only what was found.
      family: Show findings of this family of codes only.
      ending: How the script ended, if there was one.
      error: What stopped the recording, if something did; only JSON says it here.
    """
    if getattr(arguments, "save", None):
        trace.save(arguments.save)
    form = getattr(arguments, "format", "text")
    if form in ("sarif", "github"):
        print(views.VIEWS.get(form).function(trace, report))
        return
    if wants_json(arguments):
        facts = views.facts(trace, report, family)
        if ending is not None:
            facts["script"] = {"how": ending.how, "code": ending.code} | (
                {"error": ending.error} if ending.error else {}
            )
        if error is not None:
            facts["error"] = codes.facts(error)
        print(json.dumps(facts, indent=1))
        return
    if summary:
        text = views.summary(trace, report, family)
    else:
        text = views.findings(report, family, trace)
    print(style.painted(text, sys.stdout))
    if ending is not None and (ending.failed or ending.how != "returned"):
        print(ending)
