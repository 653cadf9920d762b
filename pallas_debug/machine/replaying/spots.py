"""Where the accesses of a path land, found as late and as cheaply as possible.

A region gets its number where a block meets it first. A box whose place follows from the
block's coordinates is a few comparisons before anything happens, and a slice; others are
looked up where they are met. Nothing here reads or writes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pallas_debug import ir
from pallas_debug.machine.memory import BOX, dtype_of
from pallas_debug.machine.places import dynamic_slots
from pallas_debug.machine.quick import locator
from pallas_debug.machine.replaying.lines import Given, Lines, row_of_all
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
            self.placed[target] = None
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
        if not access.steps and ref in self.plain:
            return self._all_of(ref)
        if (
            ref not in self.plain
            or self.r.level(thread, operands) > ASKED
            or locator(access.steps) is None
        ):
            return None
        (step,) = [s for s in access.steps if isinstance(s, ir.Index)]
        firsts = [self._first(operand, thread) for operand in operands]
        extent, index, row, tests = list[int](), list[str](), [str(BOX)], list[str]()
        sizes = list[tuple[int, int, bool]]()
        for dim, first, limit in zip(
            step.dims, firsts, self.plain[ref].shape, strict=True
        ):
            plain = isinstance(dim, ir.Slice)
            size, stride = (dim.size, dim.stride) if plain else (1, 1)
            span = (size - 1) * stride + 1
            row += [first, str(size), str(stride)]
            tests.append(f"0 <= {first} <= {limit - span}")
            by = f":{stride}" if stride != 1 else ""
            index.append(f"{first}:{first} + {span}{by}" if plain else first)
            extent += [size] if plain else []
            sizes.append((size, stride, plain))
        known = [first.lstrip("-").isdigit() for first in firsts]
        sure = [test for test, one in zip(tests, known, strict=True) if one]
        if not all(map(eval, sure)):
            return None
        asked = [t for t in tests if t not in sure and t not in self._tested]
        if asked:
            self._tested.update(asked)
            self.looks.append(f"if not ({' and '.join(asked)}): return False")
        shape = tuple(extent)
        return Spot(
            ref=ref,
            inside=None,
            index=", ".join(index),
            shape=repr(shape),
            region=self._region_of(form(access), firsts, row, all(known)),
            extent=shape,
            firsts=tuple(firsts),
            dims=tuple(sizes),
        )

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
            region=self._region_of(None, [], row, True),
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

    def _region_of(
        self, boxes: Any, firsts: list[str], row: list[str], same: bool
    ) -> str:
        """The region of a box; `same`: in every block."""
        new = f"region(({', '.join(row)}))"
        if new not in self._regions:
            if same:
                self._regions[new] = self.when_met(new)
            else:
                found = self._regions[new] = self.r.name()
                at = f"({', '.join(firsts)}, )"
                regions = self.once(f"m.regions({boxes})")
                self.data += [
                    f"{found} = {regions}.get({at})",
                    f"if {found} is None: {found} = {regions}[{at}] = {new}",
                ]
        return self._regions[new]
