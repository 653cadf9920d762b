"""Where the accesses of a path land, found as late and as cheaply as possible.

A region gets its number where a block meets it first. An access with the same indices
in every block keeps its place from block to block; one that moves through an array is a
few comparisons and a slice. Nothing here reads or writes.
"""

from __future__ import annotations

from dataclasses import dataclass

from pallas_debug import ir
from pallas_debug.machine.places import dynamic_slots
from pallas_debug.machine.quick import locator
from pallas_debug.machine.replaying.lines import Given, Lines
from pallas_debug.machine.replaying.values import KNOWN, form


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """An access as the lines of a path name it.

    Attributes:
      ref: The buffer.
      inside: Whether it is a box inside the buffer; else the rule has to do it.
      index, shape: The box.
      region: Its number.
    """

    ref: str
    inside: str
    index: str
    shape: str
    region: str


class Spots(Lines):
    """Lines that find places.

    Attributes:
      placed: Those that were found, by text.
    """

    def __init__(self, given: Given) -> None:
        super().__init__(given)
        self.placed: dict[str, Spot | None] = {}

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
        same = self.r.level(thread, dynamic_slots(access)) == KNOWN
        ref = self.r.value(thread, access.ref).text
        moves = ref in self.arguments and locator(access.steps) is not None and not same
        return self._moving(access, thread) if moves else self._fixed(access, thread)

    def _fixed(self, access: ir.Access, thread: int) -> Spot:
        """A place that is looked up."""
        texts = self.r.texts(thread)
        target = self.source.target(access, texts)
        found = self.placed.get(target)
        if found is None:
            ref, plan, dyn = self.source.pieces(access, texts)
            if self.r.level(thread, dynamic_slots(access)) == KNOWN:
                dyn = self.once(dyn)
            cache, place = self.once(f"{plan}.cache"), self.r.name()
            new = f"m.spot({ref}, {plan}, {dyn})"
            self.data.append(f"{place} = {cache}.get({dyn})")
            self.data.append(f"if {place} is None: {place} = {new}")
            found = self.placed[target] = Spot(
                ref=ref,
                inside=f"{place}.fast",
                index=f"{place}.index",
                shape=f"{place}.shape",
                region=f"{place}.region",
            )
        return found

    def _moving(self, access: ir.Access, thread: int) -> Spot:
        """A box that is elsewhere in each block, as `quick.locator` places it."""
        ref = self.r.value(thread, access.ref).text
        starts = [self._start(operand, thread) for operand in dynamic_slots(access)]
        known = f"{ref} {form(access)} {starts}"
        found = self.placed.get(known)
        if found is None:
            target = self.source.target(access, self.r.texts(thread))
            found = self.placed[known] = self._box(access, ref, starts, target)
        return found

    def _start(self, operand: ir.Operand, thread: int) -> str:
        """The first element in a dimension: a number, or how to compute it."""
        value = self.r.value(thread, operand)
        text = f"scalar({value.text})"
        return repr(eval(text, self.source.scope)) if value.level == KNOWN else text

    def _box(self, access: ir.Access, ref: str, starts: list[str], target: str) -> Spot:
        (step,) = [s for s in access.steps if isinstance(s, ir.Index)]
        inside, region = self.r.name(), self.r.name()
        names, tests, index, shape, row = [], [], [], [], ["0"]
        for dim, start, limit in zip(
            step.dims, starts, self.arguments[ref].shape, strict=True
        ):
            known = start.lstrip("-").isdigit()
            name = start if known else self.r.name()
            if not known:
                self.data.append(f"{name} = {start}")
            plain = isinstance(dim, ir.Slice)
            size, stride = (dim.size, dim.stride) if plain else (1, 1)
            span = (size - 1) * stride + 1
            names.append(name)
            test = f"0 <= {name} <= {limit - span}"
            tests += [] if known and eval(test) else [test]
            row += [name, str(size), str(stride)]
            index.append(f"{name}:{name} + {span}:{stride}" if plain else name)
            shape += [f"{size}, "] if plain else []
        regions = self.once(f"m.regions({form(access)})")
        at = f"({', '.join(names)}, )"
        self.data += [
            f"{inside} = {' and '.join(tests)}",
            f"if {inside}:",
            f"    {region} = {regions}.get({at})",
            f"    if {region} is None:",
            f"        {region} = {regions}[{at}] = region(({', '.join(row)}))",
            f"else: m.place({target})",
        ]
        return Spot(
            ref=ref,
            inside=inside,
            index=", ".join(index),
            shape=f"({''.join(shape)})",
            region=region,
        )
