"""`--version`: of this package and of what decides how a kernel is recorded."""

from __future__ import annotations

import argparse
import platform
from importlib import metadata
from typing import Any, NoReturn

import pallas_debug


class Show(argparse.Action):
    """Prints the versions that a bug report needs, and ends; imports none of them."""

    def __init__(self, option_strings: Any, dest: str, **keywords: Any) -> None:
        super().__init__(option_strings, dest=argparse.SUPPRESS, nargs=0, **keywords)

    def __call__(self, parser: argparse.ArgumentParser, *ignored: Any) -> NoReturn:
        print(text())
        parser.exit()


def text() -> str:
    """`pallas-debug 0.1.0, JAX 0.12.0, Python 3.12.1`."""
    return (
        f"pallas-debug {pallas_debug.__version__}, JAX {metadata.version('jax')}, "
        f"Python {platform.python_version()}"
    )
