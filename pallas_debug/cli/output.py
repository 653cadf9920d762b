"""What the commands print: text for people, `--json` for scripts."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from typing import Any

from pallas_debug import errors, views


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of output that several commands share."""
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object and nothing else"
    )
    parser.add_argument("--save", metavar="PATH", help="write the trace to this file")


def _ours_after_target(arguments: argparse.Namespace) -> list[str]:
    """Options of this command among the words after its target."""
    given = [word.partition("=")[0] for word in arguments.words]
    ours = {f"--{name.replace('_', '-')}" for name in vars(arguments)}
    return [word for word in given if word in ours]


def warn_of_ours(arguments: argparse.Namespace) -> None:
    """Says so if a script gets what was perhaps meant for us."""
    for word in _ours_after_target(arguments):
        print(
            f"note: the script gets `{word}`; an option of pallas-debug stands before "
            f"the script: pallas-debug {arguments.command} {word} {arguments.target}",
            file=sys.stderr,
        )


def refuse_words(arguments: argparse.Namespace) -> None:
    """Refuses words after a target that takes none."""
    if arguments.words:
        raise errors.BadOption(
            option=arguments.target,
            value=" ".join(arguments.words),
            accepted="nothing after it; options stand before it",
        )


def script_output(arguments: argparse.Namespace) -> Any:
    """Where the script's own output goes: beside ours, or away from the JSON."""
    if arguments.json:
        return contextlib.redirect_stdout(sys.stderr)
    return contextlib.nullcontext()


def show(
    trace: Any,
    report: Any,
    arguments: argparse.Namespace,
    *,
    summary: bool,
    family: str = "",
    ending: Any = None,
) -> None:
    """Prints a trace and its report as the arguments ask.

    Args:
      trace: What was recorded.
      report: What the checks say.
      arguments: With `json` and `save`.
      summary: Whether to say what was launched, or only what was found.
      family: Show findings of this family of codes only.
      ending: How the script ended, if there was one.
    """
    if getattr(arguments, "save", None):
        trace.save(arguments.save)
    if arguments.json:
        facts = views.facts(trace, report, family)
        if ending is not None:
            facts["script"] = {"how": ending.how, "code": ending.code} | (
                {"error": ending.error} if ending.error else {}
            )
        print(json.dumps(facts, indent=1))
        return
    if summary:
        print(views.summary(trace, report, family))
    else:
        print(views.findings(report, family, trace))
    if ending is not None and (ending.failed or ending.how != "returned"):
        print(ending)
