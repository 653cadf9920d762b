"""Explain a code such as PD101, or list all codes."""

from __future__ import annotations

import argparse

from pallas_debug.cli import codes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("code", nargs="?", help="a finding's or an error's code")


def run(arguments: argparse.Namespace) -> int:
    """Prints the documentation of a code."""
    return codes.CLEAN
