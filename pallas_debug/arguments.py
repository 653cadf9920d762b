"""The options of a recording as words: one table for the command line and the magics.

It holds no default: what is not said keeps the default of `Options`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from typing import Any

_BLOCK = re.compile(r"\s*(?:\(([^()]*)\)|(\d+):(\d+)|(\d+))\s*(?:,|;|$)")


def _block_items(text: str) -> Iterator[int | tuple[int, ...]]:
    position = 0
    while position < len(text):
        found = _BLOCK.match(text, position)
        if not found:
            raise argparse.ArgumentTypeError(
                f"{text!r}: write linear indices `0,3`, ranges `0:4` (end excluded), "
                "or coordinates `(0,1),(2,3)`"
            )
        point, start, stop, index = found.groups()
        if point is not None:
            yield tuple(int(part) for part in point.split(",") if part.strip())
        elif start is not None:
            yield from range(int(start), int(stop))
        else:
            yield int(index)
        position = found.end()


def blocks(text: str) -> tuple[int | tuple[int, ...], ...]:
    """Reads a selection of grid points: `0,3`, `0:4` or `(0,1),(2,3)`."""
    return tuple(_block_items(text))


def count(text: str) -> int:
    """Reads a positive integer; `5_000_000` and `5e6` are fine."""
    try:
        number = float(text) if "e" in text else int(text)
    except ValueError:
        number = 0
    if number < 1 or number != int(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return int(number)


# Flag → keywords of `add_argument`; the destination is the name in `Options`.
TABLE: dict[str, dict[str, Any]] = {
    "--chip": {"metavar": "NAME", "help": "chip to pretend: h100, b200, tpu-v5e, …"},
    "--cores": {
        "metavar": "N",
        "type": count,
        "help": "number of cores of that chip; makes a persistent grid small",
    },
    "--blocks": {
        "metavar": "POINTS",
        "type": blocks,
        "help": "record these grid points only: 0,3 or 0:4 or (0,1),(2,3)",
    },
    "--max-events": {
        "metavar": "N",
        "type": count,
        "help": "stop after so many events; the trace says so",
    },
    "--max-seconds": {
        "metavar": "S",
        "type": float,
        "help": "stop after so many seconds; the trace says so",
    },
    "--values": {
        "choices": ("writes", "all", "none"),
        "help": "which values to keep beside the events",
    },
    "--exact": {
        "action": "store_true",
        "default": None,
        "help": "evaluate each op as JAX does, to the last bit (slower)",
    },
    "--policy": {"metavar": "NAME", "help": "how the next thread is chosen"},
    "--seed": {"metavar": "N", "type": int, "help": "seed of a random policy"},
    "--uninitialized": {
        "choices": ("nan", "zero"),
        "help": "what memory that nobody wrote reads as",
    },
    "--unsupported": {
        "choices": ("stop", "stub"),
        "help": "at an op without a rule: stop there, or go on with unset results",
    },
}


def add_to(add_argument: Callable[..., Any]) -> None:
    """Calls `add_argument` (argparse's, or one like it) for each option."""
    for flag, keywords in TABLE.items():
        add_argument(flag, **keywords)


def given(namespace: argparse.Namespace) -> dict[str, Any]:
    """The keywords of `Options` that were said."""
    names = [flag.lstrip("-").replace("-", "_") for flag in TABLE]
    pairs = ((name, getattr(namespace, name, None)) for name in names)
    return {name: value for name, value in pairs if value is not None}


def options(namespace: argparse.Namespace) -> Any:
    """The `Options` that the words say; a bad combination raises `BadOption`."""
    import pallas_debug

    return pallas_debug.Options(**given(namespace))
