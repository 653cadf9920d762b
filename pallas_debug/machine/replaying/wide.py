"""Many blocks of a path at once, where no block needs what another one did.

A path is wide if all that it does to values is reading boxes of arrays that it does not
write, sums and the like, and writing boxes that lie apart. Then each such act is done
for a run of blocks as one operation of NumPy on an array with a row for each block;
what is noted of a block stays a few lines of its own.
"""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.ir import pieces

FEWEST = 4  # blocks: with less it does not pay
MOST = 256
BYTES = 2 << 20  # of a value's rows

# Operations that give each element the same bits wherever it lies in an array.
_OPERAND = r"\{\d\}"
_EXACT = re.compile(
    rf"\({_OPERAND} ([-+*/<>&|^]|[<>=!]=) {_OPERAND}\)"
    rf"|\(?-{_OPERAND}\)?|np\.(abs|sqrt|maximum|minimum|negative)"
    rf"\({_OPERAND}(, {_OPERAND})?\)"
)
SIGNS = {"+": "add", "-": "subtract", "*": "multiply"}
OF_TWO = re.compile(r"\((\w+) ([-+*]) (\w+)\)")  # their result has their type
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
        made = f"laid({operation}, {', '.join(texts)})"
        if self._is_spare(texts[0]):
            # Its own place is as good, and near the processor.
            number = self._computed(texts[0])
            found = OF_TWO.fullmatch(self.lines[number].partition(" = ")[2])
            if found is not None:
                first, sign, second = found.groups()
                self.lines[number] = (
                    f"{texts[0]} = laid(np.{SIGNS[sign]}, {first}, {second})"
                )
                made = f"over({operation}, {', '.join(texts)})"
        self.lines[self._computed(f"W{name}")] = f"W{name} = {made}"

    def _computed(self, rows: str) -> int:
        """Which line computes an array of rows; -1: none."""
        assert self.lines is not None
        texts = [line.startswith(f"{rows} = ") for line in self.lines]
        return texts.index(True) if any(texts) else -1

    def _is_spare(self, rows: str) -> bool:
        """Whether an array was computed for one operation alone."""
        assert self.lines is not None
        uses = sum(len(re.findall(rf"\b{rows}\b", line)) for line in self.lines)
        return uses == 2 and self._computed(rows) >= 0

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
    count = len(found)
    for column in itertools.islice(zip(*found, strict=True), 1, None):
        step = column[1] - column[0] if count > 1 else 0
        even = [column[0] + step * n for n in range(count)]
        if any(map(operator.ne, column, even)):
            wrong = map(operator.ne, column, even)
            count = next(n for n, one in enumerate(wrong) if one)
    return count


Dims = Sequence[tuple[int, int, bool]]


def boxes(data: np.ndarray, firsts: Sequence[Any], dims: Dims, n: int) -> np.ndarray:
    """A view with a row for each block: its box, one step from that of the block before."""
    start, step, shape, strides = 0, 0, [n], list[int]()
    for first, (size, stride, kept), by in zip(firsts, dims, data.strides, strict=True):
        one = type(first) is int
        start += by * (first if one else first[0])
        step += 0 if one else by * (first[1] - first[0])
        if kept:
            shape.append(size)
            strides.append(by * stride)
    memory = data.reshape(-1).view(np.uint8)
    return np.ndarray(shape, data.dtype, memory, start, (step, *strides))


def apart(
    data: np.ndarray, firsts: Sequence[Any], dims: Dims, n: int
) -> np.ndarray | None:
    """The same, None where two of the boxes may share an element."""
    for first, (size, stride, _) in zip(firsts, dims, strict=True):
        if type(first) is not int and abs(first[1] - first[0]) > (size - 1) * stride:
            return boxes(data, firsts, dims, n)
    return None


def laid(operation: np.ufunc, left: Any, right: Any) -> Any:
    """`operation(left, right)` in a piece of memory that is used again."""
    like, other = (left, right) if type(left) is np.ndarray else (right, left)
    if other.dtype is not like.dtype or (other.ndim and other.shape != like.shape):
        return operation(left, right)
    return operation(left, right, pieces.unset(like.shape, like.dtype))


def over(operation: np.ufunc, left: np.ndarray, right: Any) -> Any:
    """`operation(left, right)` in the place of `left`, which nobody needs any more."""
    if right.dtype is not left.dtype or (right.ndim and right.shape != left.shape):
        return operation(left, right)
    return operation(left, right, left)


def fixed(rows: np.ndarray) -> np.ndarray:
    """The same, read-only: values are never written to."""
    rows = rows.view()
    rows.flags.writeable = False
    return rows


def last(rows: np.ndarray) -> np.ndarray:
    """What a buffer holds at the end of the last block."""
    return np.ascontiguousarray(fixed(rows)[-1])


SCOPE = {one.__name__: one for one in (steady, boxes, apart, laid, over, fixed, last)}
