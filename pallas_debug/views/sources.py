"""The user's source as the viewer shows it: lines of colored words.

A place carries its own text, so the lines that were executed are always there. The lines
around them come from the file, where it still says what was recorded. Pygments colors
them; without it the words are plain.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import PurePath
from typing import Any

from pallas_debug import ir
from pallas_debug.ir.assignments import source_lines
from pallas_debug.views.bundle_schema import SourceView

SHORT = 300  # lines: a file that is shown from its first line to its last
LONG = 4000  # lines: above that, those outside the kernels' functions stay empty
MAGIC = re.compile(
    r"(?P<indent>\s*)get_ipython\(\)\.run_line_magic\("
    r"(?P<words>'\w+', (?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"))\)"
)
BEGIN = "_begin"  # of the magic that stands in for our `%%`
UNCOLORED = frozenset({"n", "p", "w"})

Word = list[str]  # its text, and Pygments' short name of its class
Colors = Callable[[str], list[list[Word]]]


@dataclass(frozen=True, kw_only=True)
class Source:
    """A part of a file.

    Attributes:
      file: The file's name as Python knows it.
      start: Number of the first line.
      lines: The text.
    """

    file: str
    start: int
    lines: tuple[str, ...]

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return PurePath(self.file).name

    def to_json(self) -> SourceView:
        """The source for a bundle's header."""
        return {
            "file": self.file,
            "name": self.name,
            "start": self.start,
            "tokens": colors()("\n".join(self.lines)),
        }


class Sources:
    """The files that kernels come from, in the order in which they are met."""

    def __init__(self, kernels: Iterable[ir.Kernel]) -> None:
        locs: dict[str, list[ir.Loc]] = {}
        for kernel in kernels:
            first = kernel.locs[kernel.loc : kernel.loc + 1] if kernel.loc >= 0 else ()
            for loc in (*first, *kernel.locs):
                locs.setdefault(loc.file, []).append(loc)
        self._locs = locs
        self._numbers = {file: number for number, file in enumerate(locs)}

    @cached_property
    def entries(self) -> tuple[Source, ...]:
        """The parts of the files that are shown."""
        return tuple(_source(file, locs) for file, locs in self._locs.items())

    def number(self, loc: ir.Loc | None) -> int:
        """Row of a place's file, -1 where the place is not known."""
        return self._numbers.get(loc.file, -1) if loc else -1

    def place(self, loc: ir.Loc | None) -> list[int]:
        """`[source, line]`; `[-1, 0]` where the place is not known."""
        number = self.number(loc)
        return [number, loc.line] if loc and number >= 0 else [-1, 0]


def _source(file: str, locs: list[ir.Loc]) -> Source:
    linecache.checkcache(file)
    lines = [line.rstrip("\r\n") for line in source_lines(file)]
    known = {number: text for loc in locs for number, text in _recorded(loc)}
    lines = [_as_typed(line) for line in lines]
    is_same = all(
        0 < number <= len(lines) and lines[number - 1].strip() == text.strip()
        for number, text in known.items()
    )
    if lines and is_same:
        first, last, kept = _shown(lines, [loc.line for loc in locs])
        shown = [
            lines[number - 1] if number in kept else ""
            for number in range(first, last + 1)
        ]
        return Source(file=file, start=first, lines=tuple(shown))
    known = {loc.line: "" for loc in locs} | known
    first, last = min(known), max(known)
    shown = [known.get(number, "") for number in range(first, last + 1)]
    return Source(file=file, start=first, lines=tuple(shown))


def _as_typed(line: str) -> str:
    """A cell's line as the user typed it: IPython keeps what it made of a magic."""
    found = MAGIC.fullmatch(line)
    if found is None:
        return line
    name, words = ast.literal_eval(f"({found['words']})")
    name = f"%{name.removesuffix(BEGIN)}" if name.endswith(BEGIN) else name
    return f"{found['indent']}%{name} {words}".rstrip()


def _recorded(loc: ir.Loc) -> Iterator[tuple[int, str]]:
    """The lines that a place remembers; their indentation is lost."""
    return enumerate(loc.text.splitlines(), loc.line)


def _shown(lines: list[str], wanted: list[int]) -> tuple[int, int, Any]:
    """First and last line to show of a file, and which lines between."""
    if len(lines) <= SHORT:
        return 1, len(lines), range(1, len(lines) + 1)
    spans = _statements(lines)
    around = [
        span for span in spans if any(span.start <= line < span.stop for line in wanted)
    ] or [range(line, line + 1) for line in wanted]
    first = min(span.start for span in around)
    last = min(max(span.stop for span in around) - 1, len(lines))
    whole = range(first, last + 1)
    kept = {n for span in around for n in span}
    return first, last, kept if len(whole) > LONG else whole


def _statements(lines: list[str]) -> list[range]:
    """The lines of each statement at the top level, decorators included."""
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError):  # a cell with magics, or no Python at all
        return [range(1, len(lines) + 1)]
    spans: list[range] = []
    for node in tree.body:
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(one.lineno for one in decorators)])
        spans.append(range(first, (node.end_lineno or node.lineno) + 1))
    return spans


def colors() -> Colors:
    """What turns text into lines of words: Pygments, or the plain line."""
    try:
        from pygments.lexers.python import PythonLexer
        from pygments.token import STANDARD_TYPES
    except ModuleNotFoundError:
        return _plain
    lexer = PythonLexer(stripnl=False)

    def colored(text: str) -> list[list[Word]]:
        rows: list[list[Word]] = [[]]
        for kind, words in lexer.get_tokens(text):
            known = (one for one in reversed(kind.split()) if one in STANDARD_TYPES)
            color = STANDARD_TYPES[next(known)]
            for number, part in enumerate(words.split("\n")):
                if number:
                    rows.append([])
                if part:
                    rows[-1].append([part, "" if color in UNCOLORED else color])
        return [_joined(row) for row in rows[: text.count("\n") + 1]]

    return colored


def _plain(text: str) -> list[list[Word]]:
    return [[[line, ""]] if line else [] for line in text.split("\n")]


def _joined(row: list[Word]) -> list[Word]:
    """Neighbors of one class as one word."""
    groups = groupby(row, key=lambda word: word[1])
    return [["".join(text for text, _ in words), color] for color, words in groups]
