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

from pallas_debug import ir

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
# Of two NaNs these give one, and which one is another question in a vector of the
# processor than in what is left of a row behind the last vector.
ORDERED = ("({0} + {1})", "({0} * {1})")
VECTOR = 64  # bytes
SIGNS = {"+": "add", "-": "subtract", "*": "multiply"}
OF_TWO = re.compile(r"\((\w+) ([-+*]) (\w+)\)")  # their result has their type
_NAME, _CONSTANT = re.compile(r"\bv\d+\b"), re.compile(r"c\d+")


def names_in(lines: Sequence[str]) -> list[str]:
    """The names of values in some lines."""
    return _NAME.findall("\n".join(lines))


class Act(str):
    """A line that acts on values: a wide function does it for many blocks at once."""

    __slots__ = ()


class Owed(str):
    """A line that leaves it to others to number values."""

    values: Sequence[str]

    @classmethod
    def of(cls, values: Sequence[str]) -> Owed:
        line = cls(f"owed += ({', '.join(values)}, )")
        line.values = values
        return line


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """What a read or a write of a path reaches.

    Attributes:
      ref, memory: The buffer, and the name of its memory.
      firsts: First element in each dimension: a number or a name.
      dims: Size, stride and whether the value has the dimension, for each.
      extent: The value's shape.
      argument: Whether it is one of the launch's own arrays.
      bytes, row_bytes: Size of the value, and of its last dimension.
    """

    ref: str
    memory: str
    firsts: tuple[str, ...]
    dims: tuple[tuple[int, int, bool], ...]
    extent: tuple[int, ...]
    argument: bool
    bytes: int
    row_bytes: int

    @property
    def at(self) -> str:
        """The arguments of `rows.boxes` for it."""
        return f"{self.memory}.data, ({', '.join(self.firsts)}, ), {self.dims}, n"


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
        self._uneven: set[str] = set()
        self._placed: list[tuple[str, str, str, str]] = []

    def fail(self) -> None:
        """The path does something else."""
        self.lines = None

    def read(self, box: Box, whole: bool, value: str) -> None:
        """A value is read: of an argument, or what the block itself wrote before."""
        if self.lines is None:
            return
        self.at_once = min(self.at_once, max(BYTES // max(box.bytes, 1), FEWEST))
        rows = f"W{value}"
        if box.row_bytes % VECTOR:
            self._uneven.add(rows)
        if box.argument and box.ref not in self._written:
            self._read.add(box.ref)
            self.lines += [
                f"{rows} = boxes({box.at})",
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
            self.lines += [
                f"if not {box.memory}.data.flags.writeable: {box.memory}.own()",
                f"O{value} = apart({box.at})",
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
        given = [one in self.rows or bool(_CONSTANT.fullmatch(one)) for one in operands]
        wide = any(one in self.rows for one in operands)
        if self.lines is None or not (name and wide and all(given) and is_exact(instr)):
            return self.fail()
        assert instr.pure is not None
        texts = [self.rows.get(one, one) for one in operands]
        if self._uneven.intersection(texts):
            if instr.pure.expr in ORDERED:
                return self.fail()
            self._uneven.add(f"W{name}")
        self.rows[name] = f"W{name}"
        self.lines.append(f"W{name} = {instr.pure.expr.format(*texts)}")

    def in_place(self, name: str, operation: str, left: str, right: str) -> None:
        """A value that is recorded is computed where it stays."""
        if name in self.rows:
            of = self.rows.get
            value = self.rows[name], operation, of(left, left), of(right, right)
            self._placed.append(value)

    def _place(self, rows: str, operation: str, left: str, right: str) -> None:
        """Rewrites the line of such a value, now that all others are there."""
        assert self.lines is not None
        made = "laid"
        if self._is_spare(left):
            # Its own place is as good, and near the processor.
            number = self._computed(left)
            found = OF_TWO.fullmatch(self.lines[number].partition(" = ")[2])
            if found is not None:
                one, sign, other = found.groups()
                self.lines[number] = f"{left} = laid(np.{SIGNS[sign]}, {one}, {other})"
                made = "over"
        made = f"{rows} = {made}({operation}, {left}, {right})"
        self.lines[self._computed(rows)] = made

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
        for value in self._placed:
            self._place(*value)
        book = [line for line in data if not isinstance(line, Act)]
        told, used = set(names_in(book)), set(names_in(self.lines))
        known = [line.partition(" = ")[0] for line in asked if " = " in line]
        names = dict.fromkeys(names_in(known))
        firsts = [name for name in names if name in used]
        others = [name for name in names if name in told and name not in used]
        needed = [name for name in self.rows if name in told]
        found = ", ".join(["bid", *firsts, *others])
        lines = [
            *([shared] if shared else []),
            "found = []",
            "for bid, at, _ in points:",
            *(f"    {line.replace('return False', 'break')}" for line in asked),
            f"    found.append(({found}, ))",
            f"n = steady(found, {len(firsts)})",
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

    def again(self, known: Sequence[str], lines: Sequence[str]) -> list[str]:
        """The lines of `all_again`; `known` is what it needs of a cue."""
        assert self.lines is not None
        rest = [line for line in lines if not isinstance(line, Act)]
        told = set(names_in(rest))
        needed = [name for name in self.rows if name in told]
        names = f"{', '.join(known)}, "
        lines = [
            "n = len(cues)",
            f"{names} = zip(*cues)",
            *self.lines,
            *self.ends,
            *self._listed(needed),
        ]
        owed = rest[0] if rest else None
        if isinstance(owed, Owed) and rest == [owed] and {*owed.values} <= {*needed}:
            lines.append(f"owed += chain(zip({', '.join(owed.values)}))")
        else:
            lines += [
                f"for ({names}), {''.join(f'{n}, ' for n in needed)}in zip(cues"
                f"{''.join(f', {n}' for n in needed)}):",
                *(f"    {line}" for line in [*rest, "pass"]),
            ]
        lines.append("return n")
        head = "def all_again(cues, owed, settle):"
        return [head, *(f"    {line}" for line in lines)]

    def _listed(self, names: Sequence[str]) -> list[str]:
        """Lines that make lists of rows: names of one value share theirs."""
        first = dict[str, str]()
        return [
            f"{name} = {other}" if other != name else f"{name} = list(fixed({rows}))"
            for name in names
            for rows in [self.rows[name]]
            for other in [first.setdefault(rows, name)]
        ]
