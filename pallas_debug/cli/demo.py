"""Record a kernel that JAX ships, the Hopper matmul, and print its summary."""

from __future__ import annotations

import argparse

import pallas_debug
from pallas_debug.cli import codes, output
from pallas_debug.gallery import hopper_matmul


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    output.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Records the matmul on a pretended H100 with four cores."""
    options = pallas_debug.Options(chip="h100", cores=4)
    trace = pallas_debug.trace(hopper_matmul.run, options=options)
    report = pallas_debug.check(trace)
    output.show(trace, report, arguments, summary=True)
    finished = all(launch.outcome.kind == "finished" for launch in trace.launches)
    if finished and not arguments.json:
        difference = hopper_matmul.difference(trace.outputs)
        print(f"largest difference from plain `a @ b`: {difference:.2g}")
    return codes.verdict(trace, report, failed=False, refusals_only=False)
