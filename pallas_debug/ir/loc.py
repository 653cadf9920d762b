"""A place in the user's source: what every message and every panel points at.

Carries its own text, so that a saved trace shows the line on a machine that has no
such file. Knows neither JAX nor how a place is found; `jaxlink.locations` does that.
"""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePath


@dataclass(frozen=True, slots=True, kw_only=True)
class Loc:
    """A line, or a few, of a function in a file.

    Attributes:
      file: The file's name as Python knows it; a notebook cell has one, too.
      line: The first line, counted from 1.
      function: The innermost function's own name, without the names around it.
      column: The first column, counted from 0.
      end_line: The last line, or None where Python does not know it.
      text: The source lines as they were when the kernel was traced, dedented. Two
        places are the same whether or not they carry their text.
    """

    file: str
    line: int
    function: str
    column: int = 0
    end_line: int | None = None
    text: str = field(default="", compare=False)

    @property
    def excerpt(self) -> str:
        """The source text: the stored one, else what the file says now."""
        return self.text or source_text(self.file, self.line, self.end_line)

    def is_at(self, other: Loc) -> bool:
        """Whether it is the same line of the same function."""
        same = self.line == other.line and self.file == other.file
        return same and self.function == other.function

    def __str__(self) -> str:
        return f"{self.function}, {PurePath(self.file).name}:{self.line}"


def called_from(loc: Loc, calls: Sequence[Loc]) -> str:
    """`called from line 41 in f, from line 9 in kernel of other.py`; empty without."""
    said, file = list[str](), loc.file
    for site in calls:
        of = f" of {PurePath(site.file).name}" if site.file != file else ""
        said.append(f"from line {site.line} in {site.function}{of}")
        file = site.file
    return f"called {', '.join(said)}" if said else ""


def source_text(file: str, line: int, end_line: int | None = None) -> str:
    """The lines `line` to `end_line` of a file, dedented; "" if there are none."""
    last = line if end_line is None else max(line, end_line)
    lines = [linecache.getline(file, number) for number in range(line, last + 1)]
    return textwrap.dedent("".join(lines)).rstrip()
