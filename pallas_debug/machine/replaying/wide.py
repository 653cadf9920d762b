"""Many blocks of a path at once, where no block needs what another one did.

A path is wide if all that it does to values is reading boxes of arrays that it does not
write, sums and the like, and writing boxes that lie apart. Then each such act is done
for a run of blocks as one operation of NumPy on an array with a row for each block;
what is noted of a block stays a few lines of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.ir import pieces

FEWEST = 4  # blocks: with less it does not pay
MOST = 256
BYTES = 1 << 20  # of a value's rows

# Operations that give each element the same bits wherever it lies in an array.
_OPERAND = r"\{\d\}"
_EXACT = re.compile(
    rf"\({_OPERAND} ([-+*/<>&|^]|[<>=!]=) {_OPERAND}\)"
    rf"|\(?-{_OPERAND}\)?|np\.(abs|sqrt|maximum|minimum|negative)"
    rf"\({_OPERAND}(, {_OPERAND})?\)"
)
_NAME = re.compile(r"\bv\d+\b")


class Act(str):
    """A line that acts on values: a wide function does it for many blocks at once."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """What a read or a write of a path reaches.

    Attributes:
      ref, memory: The buffer, and the name of its memory.
      firsts: First element in each dimension: a number or a name.
      dims: Size, stride and whether the value has the dimension, for each.
      extent: The value's shape.
      argument: Whether it is one of the launch's own arrays.
      bytes: Size of the value.
    """

    ref: str
    memory: str
    firsts: tuple[str, ...]
    dims: tuple[tuple[int, int, bool], ...]
    extent: tuple[int, ...]
    argument: bool
    bytes: int


def is_exact(instr: ir.Instr) -> bool:
    """Whether an operation on arrays may be done for many blocks at once."""
    return instr.pure is not None and _EXACT.fullmatch(instr.pure.expr) is not None


class Wide:
    """The wide function of a path while it grows; `lines` are None if there is none.

    Attributes:
      lines: What computes the values.
      rows: The array whose rows a value of the block is one of, by the value's name.
      ends: What is done to memory once all values are there.
      at_once: How many blocks it does at most: their values stay near the processor.
    """

    def __init__(self) -> None:
        self.lines: list[str] | None = []
        self.rows: dict[str, str] = {}
        self.ends: list[str] = []
        self.at_once = MOST
        self._held: dict[str, str] = {}
        self._read: set[str] = set()
        self._written: set[str] = set()
        self._recorded: set[str] = set()

    def fail(self) -> None:
        """The path does something else."""
        self.lines = None

    def read(self, box: Box, whole: bool, value: str) -> None:
        """A value is read: of an argument, or what the block itself wrote before."""
        if self.lines is None:
            return
        self.at_once = min(self.at_once, max(BYTES // max(box.bytes, 1), FEWEST))
        rows = f"W{value}"
        if box.argument and box.ref not in self._written:
            self._read.add(box.ref)
            at = f"{box.memory}.data, ({', '.join(box.firsts)}, ), {box.dims}, n"
            self.lines += [
                f"{rows} = boxes({at})",
                f"if {box.memory}.data.flags.writeable: {rows} = {rows}.copy()",
            ]
        elif whole and box.ref in self._held:
            self.lines.append(f"{rows} = {self._held[box.ref]}[...]")
        else:
            self.fail()
        self.rows[value] = rows

    def write(self, box: Box, whole: bool, value: str, kept: str, dtype: str) -> None:
        """A value is written, under another name if it is recorded."""
        rows = self.rows.get(value)
        if self.lines is None or rows is None or rows in self._recorded:
            return self.fail()
        self._recorded.add(rows)
        self.rows[kept] = rows
        self.lines.append(f"if {rows}.shape[1:] != {box.extent}: return 0")
        if box.argument:
            if box.ref in self._read | self._written:
                return self.fail()
            self._written.add(box.ref)
            at = f"{box.memory}.data, ({', '.join(box.firsts)}, ), {box.dims}, n"
            self.lines += [
                f"if not {box.memory}.data.flags.writeable: {box.memory}.own()",
                f"O{value} = apart({at})",
                f"if O{value} is None: return 0",
            ]
            self.ends.append(f"O{value}[...] = {rows}")
        elif whole:
            self.lines.append(f"if {rows}.dtype is not {dtype}: return 0")
            self._held[box.ref] = rows
            if box.memory:
                self.ends.append(f"{box.memory}.data = last({rows})")
        else:
            self.fail()

    def compute(self, name: str, instr: ir.Instr, operands: Sequence[str]) -> None:
        """An operation on values."""
        if self.lines is None or not is_exact(instr) or name in self.rows:
            return self.fail()
        assert instr.pure is not None
        if not any(one in self.rows for one in operands):
            return self.fail()
        texts = [self.rows.get(one, one) for one in operands]
        self.rows[name] = f"W{name}"
        self.lines.append(f"W{name} = {instr.pure.expr.format(*texts)}")

    def in_place(self, name: str, operation: str, left: str, right: str) -> None:
        """A value that is recorded is computed where it stays."""
        if self.lines is None or name not in self.rows:
            return
        texts = [self.rows.get(one, one) for one in (left, right)]
        for number, line in enumerate(self.lines):
            if line.startswith(f"W{name} = "):
                made = f"laid({operation}, {', '.join(texts)})"
                self.lines[number] = f"W{name} = {made}"

    def function(
        self, asked: Sequence[str], data: Sequence[str], shared: str, born: int
    ) -> list[str]:
        """The lines of `blocks(points, first)`: how many of the points were done."""
        assert self.lines is not None
        book = [line for line in data if not isinstance(line, Act)]
        mine = set(_NAME.findall("\n".join([*book, *self.lines])))
        known = [line.partition(" = ")[0] for line in asked if " = " in line]
        names = [n for names in known for n in _NAME.findall(names) if n in mine]
        needed = [n for n in self.rows if re.search(rf"\b{n}\b", "\n".join(book))]
        found = ", ".join(["bid", *dict.fromkeys(names)])
        lines = [
            *([shared] if shared else []),
            "found = []",
            "for bid, at, _ in points:",
            *(f"    {line.replace('return False', 'break')}" for line in asked),
            f"    found.append(({found}, ))",
            "n = steady(found)",
            f"if n < {FEWEST}: return 0",
            "del found[n:]",
            f"{found}, = zip(*found)",
            *self.lines,
            *self.ends,
            *self._listed(needed),
            f"for ({found}, ), {''.join(f'{n}, ' for n in needed)}in zip(found"
            f"{''.join(f', {n}' for n in needed)}):",
            "    m.bid = bid",
            *(f"    {line}" for line in book),
            f"    first += {born}",
            "return n",
        ]
        return ["def blocks(points, first):", *(f"    {line}" for line in lines)]


    def _listed(self, names: Sequence[str]) -> list[str]:
        """Lines that make lists of rows: names of one value share theirs."""
        first = dict[str, str]()
        return [
            f"{name} = {other}" if other != name else f"{name} = list(fixed({rows}))"
            for name in names
            for rows in [self.rows[name]]
            for other in [first.setdefault(rows, name)]
        ]


def steady(found: Sequence[tuple[Any, ...]]) -> int:
    """How many blocks, from the first on, are one step from each other."""
    if len(found) < 2:
        return len(found)
    steps = np.diff(np.array([row[1:] for row in found]), axis=0)
    other = (steps != steps[0]).any(axis=1) if steps.size else np.zeros(1, bool)
    return int(other.argmax()) + 1 if other.any() else len(found)


def boxes(
    data: np.ndarray, firsts: Sequence[Any], dims: Sequence[tuple[int, int, bool]], n: int
) -> np.ndarray:
    """A view with a row for each block: its box, one step from that of the block before."""
    index, step = list[Any](), 0
    for first, (size, stride, kept), by in zip(firsts, dims, data.strides, strict=True):
        start = first if isinstance(first, int) else first[0]
        index.append(slice(start, start + (size - 1) * stride + 1, stride) if kept else start)
        step += 0 if isinstance(first, int) else (first[1] - first[0]) * by
    one = data[tuple(index)]
    return np.lib.stride_tricks.as_strided(one, (n, *one.shape), (step, *one.strides))


def apart(
    data: np.ndarray, firsts: Sequence[Any], dims: Sequence[tuple[int, int, bool]], n: int
) -> np.ndarray | None:
    """The same, None where two of the boxes may share an element."""
    for first, (size, stride, _) in zip(firsts, dims, strict=True):
        if not isinstance(first, int):
            if abs(first[1] - first[0]) >= (size - 1) * stride + 1:
                return boxes(data, firsts, dims, n)
    return None


def laid(operation: np.ufunc, left: Any, right: Any) -> Any:
    """`operation(left, right)` in a piece of memory that is used again."""
    like, other = (left, right) if type(left) is np.ndarray else (right, left)
    if other.dtype is not like.dtype or (other.ndim and other.shape != like.shape):
        return operation(left, right)
    return operation(left, right, pieces.unset(like.shape, like.dtype))


def fixed(rows: np.ndarray) -> np.ndarray:
    """The same, read-only: values are never written to."""
    rows = rows.view()
    rows.flags.writeable = False
    return rows


def last(rows: np.ndarray) -> np.ndarray:
    """What a buffer holds at the end of the last block."""
    return np.ascontiguousarray(fixed(rows)[-1])


SCOPE = {
    one.__name__: one for one in (steady, boxes, apart, laid, fixed, last)
}
