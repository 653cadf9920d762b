"""Record a kernel that JAX ships, the Hopper matmul, or a faulty one of the gallery."""

from __future__ import annotations

import argparse

import pallas_debug
from pallas_debug import errors
from pallas_debug.cli import codes, output
from pallas_debug.gallery import ENTRIES, Entry, hopper_matmul

SHIPPED = "hopper_matmul"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "name",
        nargs="?",
        default=SHIPPED,
        help=f"{SHIPPED} (the default) or a kernel of the gallery: {', '.join(ENTRIES)}",
    )
    parser.add_argument(
        "--fixed", action="store_true", help="the gallery kernel's twin without a fault"
    )
    parser.add_argument(
        "--list", action="store_true", help="list the kernels and what is wrong in each"
    )
    output.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Records the kernel, prints its story and its summary."""
    if arguments.list:
        return _listed(arguments)
    if arguments.name == SHIPPED:
        return _shipped(arguments)
    if arguments.name not in ENTRIES:
        raise errors.BadOption(
            option="name", value=arguments.name, accepted=(SHIPPED, *ENTRIES)
        )
    return _gallery(ENTRIES[arguments.name], arguments)


def _listed(arguments: argparse.Namespace) -> int:
    lines = [f"{entry.name:<18} {entry.title}" for entry in ENTRIES.values()]
    known = [{"name": e.name, "title": e.title} for e in ENTRIES.values()]
    output.say("\n".join(lines), {"kernels": known}, arguments)
    return codes.CLEAN


def _gallery(entry: Entry, arguments: argparse.Namespace) -> int:
    fn, args = entry.fixed() if arguments.fixed else entry.faulty()
    trace = pallas_debug.trace(fn, *args)
    report = pallas_debug.check(trace)
    if not arguments.json:
        print(f"{entry.story}\n")
    output.show(trace, report, arguments, summary=True)
    return codes.verdict(trace, report, failed=False, refusals_only=False)


def _shipped(arguments: argparse.Namespace) -> int:
    """The matmul on a pretended H100 with four cores, compared with NumPy's."""
    options = pallas_debug.Options(chip="h100", cores=4)
    trace = pallas_debug.trace(hopper_matmul.run, options=options)
    report = pallas_debug.check(trace)
    output.show(trace, report, arguments, summary=True)
    finished = all(launch.outcome.kind == "finished" for launch in trace.launches)
    if finished and not arguments.json:
        difference = hopper_matmul.difference(trace.outputs)
        print(f"largest difference from plain `a @ b`: {difference:.2g}")
    return codes.verdict(trace, report, failed=False, refusals_only=False)
