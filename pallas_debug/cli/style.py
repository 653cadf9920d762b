"""How text looks in this terminal: colors where it has colors, ASCII where it has no more.

Views make plain text that says everything without color. Here a line gets its color by
its form, on the way out; nothing below knows of terminals.
"""

from __future__ import annotations

import codecs
import io
import os
import re
from typing import Any

RED, GREEN, YELLOW, BLUE, PURPLE = "31", "32", "33", "34", "35"
BOLD, DIM = "1", "2"

# The form of a line, from its first letter on → how what it matches is shown.
FORMS = (
    (r" *✗ \w+ PD\d+ [\w-]+|✗ error|\w+ \[PD\d+\]", f"{BOLD};{RED}"),
    (r" *! warning PD\d+ [\w-]+", f"{BOLD};{YELLOW}"),
    (r" *⊘ \w+ PD\d+ [\w-]+", f"{BOLD};{PURPLE}"),
    (r" *· info PD\d+ [\w-]+", f"{BOLD};{BLUE}"),
    (r"no findings|  ✓ .*", GREEN),
    (r"  [⊘≠∞] .*", RED),
    (r" → +\d+ \| .*|findings: .*|launch \d+.*?: \w+|#+ .*", BOLD),
    (r" +\d+ \| .*|  – .*", DIM),
    (r" +try: ", GREEN),
    (r"\* .*", RED),
)
FORM = re.compile("|".join(f"({pattern})" for pattern, _ in FORMS))

# What an encoding without the sign shows in its place.
PLAIN = str.maketrans(
    {
        "✗": "x",
        "✓": "v",
        "⊘": "0",
        "≠": "#",
        "∞": "~",
        "×": "x",
        "·": "-",
        "–": "-",
        "─": "-",
        "┬": "+",
        "│": "|",
        "→": ">",
        "←": "<",
        "▷": ">",
        "…": "...",
        "µ": "u",
    }
)
HANDLER = "pallas_debug.plain"


def painted(text: str, stream: Any) -> str:
    """The text with colors, if the stream is a terminal that shows them."""
    if not has_colors(stream):
        return text
    return "\n".join(_painted(line) for line in text.split("\n"))


def _painted(line: str) -> str:
    found = FORM.match(line)
    if not found or found.lastindex is None:
        return line
    style = FORMS[found.lastindex - 1][1]
    return f"\x1b[{style}m{found[0]}\x1b[0m{line[found.end() :]}"


def has_colors(stream: Any) -> bool:
    """Whether colors reach a person: no-color.org's and the terminal's own word count."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def make_legible(stream: Any) -> None:
    """Lets a stream show what its encoding has no sign for, and not fail."""
    if isinstance(stream, io.TextIOWrapper) and not stream.encoding.startswith("utf"):
        codecs.register_error(HANDLER, _replaced)
        stream.reconfigure(errors=HANDLER)


def _replaced(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError), "only output is made legible"
    text = error.object[error.start : error.end].translate(PLAIN)
    return text.encode("ascii", "backslashreplace").decode(), error.end
