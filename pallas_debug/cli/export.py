"""Write a saved trace as a file for another tool; the suffix says which."""

from __future__ import annotations

import argparse
import pathlib

import pallas_debug
from pallas_debug import errors, views
from pallas_debug.cli import codes, output, target


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    output.add_json(parser)
    parser.add_argument("trace", help="a file written by trace.save")
    parser.add_argument(
        "output",
        help=f"the file to write, named {', '.join(views.SUFFIXES)}",
    )


def run(arguments: argparse.Namespace) -> int:
    """Loads, judges and writes."""
    trace = target.saved(arguments.trace)
    folder = pathlib.Path(arguments.output).parent
    if not folder.is_dir():
        raise errors.BadOption(
            option="output", value=arguments.output, accepted="a folder that exists"
        )
    view = views.view_for(arguments.output)
    made = view.function(trace, pallas_debug.check(trace))
    data = made.encode() if isinstance(made, str) else made
    pathlib.Path(arguments.output).write_bytes(data)
    said = {"path": arguments.output, "view": view.name, "bytes": len(data)}
    output.say(f"{arguments.output}: {view.name}, {len(data):,} bytes", said, arguments)
    return codes.CLEAN
