"""Source lines in the words of a finding: the file is said where it is another one."""

from __future__ import annotations

from pathlib import PurePath

from pallas_debug import ir


def place(loc: ir.Loc | None) -> str:
    """`kernel.py:41`, or empty."""
    return f"{PurePath(loc.file).name}:{loc.line}" if loc else ""


def line(loc: ir.Loc, home: ir.Loc | None) -> str:
    """`line 41`; `helpers.py:41` in a finding whose own line is in another file."""
    return said(loc.file, loc.line, home.file if home else "")


def said(file: str, number: int, home: str) -> str:
    """The same of a line's file and number, and of the finding's file, if known."""
    apart = home and file and home != file
    return f"{PurePath(file).name}:{number}" if apart else f"line {number}"
