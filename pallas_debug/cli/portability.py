"""Try a function in every mode of the installed JAX and print what each does."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

import pallas_debug
from pallas_debug import arguments as words
from pallas_debug.cli import codes, target
from pallas_debug.views.facts import plain


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--timeout",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="for each mode (60)",
    )
    words.add_to(parser.add_argument)
    parser.add_argument("target", help="file.py:function or module:function")


def run(arguments: argparse.Namespace) -> int:
    """Prints the table; fails if no mode of JAX takes the function."""
    found = target.function(arguments.target)
    table = pallas_debug.portability(
        lambda: target.called(found),
        options=words.options(arguments),
        timeout=arguments.timeout,
    )
    print(json.dumps(plain(asdict(table)), indent=1) if arguments.json else table)
    taken = any(row.status in ("runs", "lowers") for row in table.rows[1:])
    return codes.CLEAN if taken else codes.FINDINGS
