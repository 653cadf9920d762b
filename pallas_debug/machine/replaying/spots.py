"""Where the accesses of a path land, found as late and as cheaply as possible.

A region gets its number where a block meets it first. A box whose place follows from the
block's coordinates is a few comparisons before anything happens, and a slice; others are
looked up where they are met. Nothing here reads or writes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pallas_debug import ir
from pallas_debug.machine.memory import BOX, dtype_of
from pallas_debug.machine.places import dynamic_slots
from pallas_debug.machine.quick import locator
from pallas_debug.machine.replaying.lines import Book, Given, Lines, row_of_all
from pallas_debug.machine.replaying.values import ASKED, KNOWN, form
from pallas_debug.machine.replaying.wide import Box


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """An access as the lines of a path name it.

    Attributes:
      ref: The buffer.
      inside: Whether it is a box inside the buffer; else the rule has to do it. None
        where the way is another one then, so that it is one here.
      index, shape: The box.
      region: Its number.
      extent: The box's shape, if `inside` is None.
      firsts, dims: As `wide.Box` has them.
    """

    ref: str
    inside: str | None
    index: str
    shape: str
    region: str
    extent: tuple[int, ...] = ()
    firsts: tuple[str, ...] = ()
    dims: tuple[tuple[int, int, bool], ...] = ()

    @property
    def is_sure(self) -> bool:
        """Whether it is a box here, and an array."""
        return self.inside is None and bool(self.extent)


class Spots(Lines):
    """Lines that find places.

    Attributes:
      placed: Those that were found, by text.
    """

    def __init__(self, given: Given) -> None:
        super().__init__(given)
        self.placed: dict[str, Spot | None] = {}
        self._firsts: dict[str, str] = {}
        self._tested: set[str] = set()
        self._regions: dict[str, str] = {}

    def box(self, spot: Spot) -> Box:
        """The same for a wide function."""
        argument, core = spot.ref in self.arguments, spot.ref.startswith("R[")
        dtype = dtype_of(self.plain[spot.ref].dtype)
        return Box(
            ref=spot.ref,
            memory=self.memory(spot.ref) if core else "",
            firsts=spot.firsts,
            dims=spot.dims,
            extent=spot.extent,
            argument=argument,
            bytes=math.prod(spot.extent) * dtype.itemsize,
            row_bytes=(spot.extent or (1,))[-1] * dtype.itemsize,
        )

    def is_all(self, spot: Spot) -> bool:
        """Whether a box is its whole buffer."""
        return spot.extent == self.plain[spot.ref].shape

    def is_box(self, access: ir.Access, thread: int) -> bool:
        """Whether an access may be a box of a buffer that the path knows."""
        ref = self.r.value(thread, access.ref).text
        return ref in self.plain and form(access) is not None

    def touch(self, access: ir.Access, thread: int) -> None:
        """Regions get their numbers where they are met first."""
        target = self.source.target(access, self.r.texts(thread))
        if self.is_box(access, thread):
            self.spot(access, thread)
        elif target not in self.placed:
            self.placed[target], self.steady = None, False
            self.data.append(f"m.place({target})")

    def spot(self, access: ir.Access, thread: int) -> Spot:
        """Where a box is; its region has a number from here on."""
        target = self.source.target(access, self.r.texts(thread))
        found = self.placed.get(target)
        if found is None:
            found = self._box(access, thread) or self._looked_up(access, thread)
            self.placed[target] = found
        return found

    def _looked_up(self, access: ir.Access, thread: int) -> Spot:
        """A place that the machine finds."""
        self.steady = False
        texts = self.r.texts(thread)
        ref, plan, dyn = self.source.pieces(access, texts)
        if self.r.level(thread, dynamic_slots(access)) == KNOWN:
            dyn = self.once(dyn)
        cache, place = self.once(f"{plan}.cache"), self.r.name()
        new = f"m.spot({ref}, {plan}, {dyn})"
        self.data.append(f"{place} = {cache}.get({dyn})")
        self.data.append(f"if {place} is None: {place} = {new}")
        return Spot(
            ref=ref,
            inside=f"{place}.fast",
            index=f"{place}.index",
            shape=f"{place}.shape",
            region=f"{place}.region",
        )

    def _box(self, access: ir.Access, thread: int) -> Spot | None:
        """A box that follows from the coordinates; None for others, and if outside."""
        ref = self.r.value(thread, access.ref).text
        operands = dynamic_slots(access)
        if not access.steps:
            return self._all_of(ref)
        if self.r.level(thread, operands) > ASKED or locator(access.steps) is None:
            return None
        (step,) = [s for s in access.steps if isinstance(s, ir.Index)]
        firsts = [self._first(operand, thread) for operand in operands]
        dims = [
            (dim.size, dim.stride, True) if isinstance(dim, ir.Slice) else (1, 1, False)
            for dim in step.dims
        ]
        if not self._are_inside(firsts, dims, self.plain[ref].shape):
            return None
        index, row = list[str](), [str(BOX)]
        for first, (size, stride, kept) in zip(firsts, dims, strict=True):
            row += [first, str(size), str(stride)]
            by = f":{stride}" if stride != 1 else ""
            stop = f":{first} + {(size - 1) * stride + 1}{by}" if kept else ""
            index.append(first + stop)
        shape = tuple(size for size, _, kept in dims if kept)
        return Spot(
            ref=ref,
            inside=None,
            index=", ".join(index),
            shape=repr(shape),
            region=self._region_of(form(access), firsts, row),
            extent=shape,
            firsts=tuple(firsts),
            dims=tuple(dims),
        )

    def _are_inside(
        self,
        firsts: Sequence[str],
        dims: Sequence[tuple[int, int, bool]],
        shape: Sequence[int],
    ) -> bool:
        """False if a box is never inside; where it is not, the way is another one."""
        tests = list[str]()
        for first, (size, stride, _), limit in zip(firsts, dims, shape, strict=True):
            test = f"0 <= {first} <= {limit - (size - 1) * stride - 1}"
            if not _is_number(first):
                tests += [test] if test not in self._tested else []
            elif not eval(test):
                return False
        if tests:
            self._tested.update(tests)
            self.looks.append(f"if not ({' and '.join(tests)}): return False")
        return True

    def _all_of(self, ref: str) -> Spot | None:
        shape = self.plain[ref].shape
        if not shape or not all(shape):
            return None
        row = [*map(str, row_of_all(shape))]
        return Spot(
            ref=ref,
            inside=None,
            index="...",
            shape=repr(shape),
            region=self._region_of(None, [], row),
            extent=shape,
            firsts=("0",) * len(shape),
            dims=tuple((size, 1, True) for size in shape),
        )

    def _first(self, operand: ir.Operand, thread: int) -> str:
        """The first element in a dimension: a number, or its name."""
        value = self.r.value(thread, operand)
        text = f"scalar({value.text})"
        if value.level == KNOWN:
            return repr(eval(text, self.source.scope))
        if text not in self._firsts:
            name = self._firsts[text] = self.r.name()
            self.looks.append(f"{name} = {text}")
        return self._firsts[text]

    def _region_of(self, boxes: Any, firsts: list[str], row: list[str]) -> str:
        """The region of a box."""
        new = f"region(({', '.join(row)}))"
        if new not in self._regions:
            if all(map(_is_number, firsts)):  # the same in every block
                self._regions[new] = self.when_met(new)
            else:
                found = self._regions[new] = self.r.name()
                at = f"({', '.join(firsts)}, )"
                regions = self.once(f"m.regions({boxes})")
                self.data += [
                    Book(f"{found} = {regions}.get({at})"),
                    Book(f"if {found} is None: {found} = {regions}[{at}] = {new}"),
                ]
        return self._regions[new]


def _is_number(first: str) -> bool:
    return first.lstrip("-").isdigit()
