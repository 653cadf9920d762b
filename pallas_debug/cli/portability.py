"""Try a function in every mode of the installed JAX and print what each does."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pallas_debug
from pallas_debug import arguments as words
from pallas_debug import errors
from pallas_debug.cli import codes, output, script, target
from pallas_debug.views.facts import plain_loc


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    output.add_json(parser)
    parser.add_argument(
        "--timeout",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="for each mode (60)",
    )
    words.add_to(parser.add_argument)
    parser.add_argument("target", help=target.FUNCTION)


def run(arguments: argparse.Namespace) -> int:
    """Prints the table; fails if no mode of JAX takes the function."""
    return target.with_function(arguments, lambda call: _asked(call, arguments))


def _asked(call: Callable[[], Any], arguments: argparse.Namespace) -> int:
    raised: list[Exception] = []

    def called() -> Any:
        try:
            return call()
        except Exception as error:
            raised.append(error)
            raise

    try:
        table = pallas_debug.portability(
            called, options=words.options(arguments), timeout=arguments.timeout
        )
    except Exception as error:
        if isinstance(error, errors.PallasDebugError) or error not in raised:
            raise
        script.show(error)  # the user's own
        output.say_error(error, arguments)
        return codes.SCRIPT_FAILED
    rows = [asdict(row) | {"loc": plain_loc(row.loc)} for row in table.rows]
    said = {"name": table.name, "jax": table.jax, "chip": table.chip, "rows": rows}
    output.say(table, said, arguments)
    taken = any(row.status in ("runs", "lowers") for row in table.rows[1:])
    return codes.CLEAN if taken else codes.FINDINGS
