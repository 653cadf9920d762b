"""Windows in the function of a path: first what will happen to one, then doing it.

The rules of `rules/grid_windows.py` as lines, for windows whose blocks have one size
and share their memory with nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pallas_debug import ir
from pallas_debug.machine.accesses import ALLOC, FREE, READ, WRITE
from pallas_debug.machine.replaying.lines import Book, Lines, NotReplayable, row_of_all
from pallas_debug.machine.replaying.values import ASKED, CORE, DATUM, KNOWN
from pallas_debug.machine.rules.grid_slots import first_text

COPY_IN, FLUSH = (ALLOC, READ, WRITE), (READ, WRITE, FREE)


def is_plain(instr: ir.Instr) -> bool:
    """Whether this module knows this kind of window."""
    params = instr.params
    plain = all(dim[0] in ("blocked", "squeezed") for dim in params["dims"])
    shares = params.get("stored") or params.get("preload")
    alone = not shares and params.get("again") is None
    return plain and alone and bool(params["dims"]) and not params["decl"].is_sync


@dataclass(frozen=True, slots=True, kw_only=True)
class Pane:
    """An operand's window as the lines of a path name it.

    Attributes:
      decl: Of its buffer.
      array, shape: The array that it is a block of.
      sizes: Of the block, in each dimension of the array.
      kept: The dimensions that the window has, too.
      key: Where it is found among the core's notes.
      box: The block's first elements and sizes.
      held: The window that is there before.
      places: Regions of the array's blocks, by their first elements.
      whole: Region of all of the window.
    """

    decl: ir.Buffer
    array: str
    shape: tuple[int, ...]
    sizes: tuple[int, ...]
    kept: tuple[int, ...]
    key: str
    box: str
    held: str
    places: str
    whole: str

    def outside(self, names: list[str]) -> str:
        """Whether a block is not inside the array."""
        tests = [
            f"{name} < 0 or {name} > {limit - size}"
            for name, limit, size in zip(names, self.shape, self.sizes, strict=True)
        ]
        return " or ".join(tests)

    def index(self, names: list[str]) -> str:
        """The block as an index of the array."""
        parts = [
            f"{name}:{name} + {size}" if d in self.kept or not self.kept else name
            for d, (name, size) in enumerate(zip(names, self.sizes, strict=True))
        ]
        return ", ".join(parts)

    def row(self, names: list[str]) -> str:
        """The block's region."""
        parts = [f"{name}, {size}, 1" for name, size in zip(names, self.sizes)]  # noqa: B905
        return f"(0, {', '.join(parts)})"


class Windows(Lines):
    """The lines of `window.fetch` and `window.output`."""

    def window_fetch(self, thread: int, position: int) -> None:
        self.wide.fail()
        instr = self.kernel.tape[position]
        kinds = self.windows.pop(position, None)  # None: a second time
        array = self.r.texts(thread)(instr.ins[0])
        good = kinds is not None and is_plain(instr) and array in self.arguments
        if not good or thread != CORE or self.r.level(thread, instr.ins) > ASKED:
            raise NotReplayable
        assert kinds is not None
        pane, origin = self._pane(instr, array)
        number = self.r.define(thread, instr.outs, DATUM)
        self.plain[number] = instr.params["decl"]
        self._look(pane, origin, kinds, instr)
        if not kinds:
            self.data.append(f"{number} = {pane.held}[1]")
            return
        if kinds[0] == FREE:
            self.note("bid", f"{pane.held}[1]", -1, -1)
            self.data.append(f"M.pop({pane.held}[1], None)")
        elif kinds[0] == READ:
            self._write_back(pane)
        if instr.params.get("refetch"):
            slot = instr.params["slot"]
            self.data.append(f"N['seen', {slot!r}, {pane.box}] = True")
        if kinds[-3:] == COPY_IN:
            made = self._copy_in(pane, origin)
        else:
            made = self.allocate(pane.decl, "window", thread)
        held = f"new(Held, ({pane.box}, {made}, {pane.array}, bid))"
        self.data += [f"N[{pane.key}] = {held}", f"{number} = {made}"]

    window_output = window_fetch

    def _pane(self, instr: ir.Instr, array: str) -> tuple[Pane, list[str]]:
        """The window, and the names of its block's first elements."""
        params, decl = instr.params, instr.params["decl"]
        dims, shape = params["dims"], self.arguments[array].shape
        sizes = tuple(1 if dim[0] == "squeezed" else dim[1] for dim in dims)
        indices = [self.r.value(CORE, operand) for operand in instr.ins[1:]]
        box, origin = self.r.name(), list[str]()
        for dim, index in zip(dims, indices, strict=True):
            text = first_text(dim, index.text)
            if index.level == KNOWN:
                text = repr(eval(text, self.source.scope))
            origin.append(self.r.name())
            self.looks.append(f"{origin[-1]} = {text}")
        self.looks.append(f"{box} = (({''.join(f'{o}, ' for o in origin)}), {sizes})")
        key = self.source.constant(("window", params["slot"]))
        held = self.r.name()
        self.wholes.append(row_of_all(decl.shape))
        self.looks.append(f"{held} = N.get({key})")
        return Pane(
            decl=decl,
            array=array,
            shape=shape,
            sizes=sizes,
            kept=tuple(d for d, dim in enumerate(dims) if dim[0] != "squeezed"),
            key=key,
            box=box,
            held=held,
            places=self.once(f"m.regions({sizes})"),
            whole=self.once(f"m.all_of({decl.shape}).region"),
        ), origin

    def _look(
        self, pane: Pane, origin: list[str], kinds: tuple[int, ...], instr: ir.Instr
    ) -> None:
        """Leaves the way where something else would happen to the window."""
        held, box, refetch = pane.held, pane.box, instr.params.get("refetch")
        if not kinds:
            self._leave(f"{held} is None or {held}[0] != {box}")
            return
        copied = kinds[-3:] == COPY_IN
        there = kinds[0] != ALLOC
        before = () if not there else (FREE,) if refetch is None else FLUSH
        if kinds != (*before, *(COPY_IN if copied else (ALLOC,))):
            raise NotReplayable
        self._leave(f"{held} is None or {held}[0] == {box}" if there else held)
        if refetch:
            seen = f"('seen', {instr.params['slot']!r}, {box}) in N"
            self._leave(f"not {seen}" if copied else seen)
        elif copied is not (refetch is None):
            raise NotReplayable
        if copied:
            self._leave(pane.outside(origin))

    def _leave(self, test: str) -> None:
        self.looks.append(f"if {test}: return False")

    def _region(self, pane: Pane, names: list[str], at: str) -> tuple[str, list[str]]:
        """The name of a block's region, and the lines that find it."""
        found = self.r.name()
        new = f"{pane.places}[{at}] = region({pane.row(names)})"
        return found, [
            f"{found} = {pane.places}.get({at})",
            f"if {found} is None: {found} = {new}",
        ]

    def _copy_in(self, pane: Pane, origin: list[str]) -> str:
        """A new window with a copy of the block, as `Step.load` makes it."""
        window = self.r.name()
        found, lines = self._region(pane, origin, f"{pane.box}[0]")
        number = self.new_buffer(pane.decl, "window", CORE)
        array = f"{self.memory(pane.array)}.data[{pane.index(origin)}]"
        decl = self.source.constant(pane.decl)
        self.data += [
            f"{window} = {array}",
            f"if {window}.flags.writeable:",
            f"    {window} = {window}.copy()",
            f"    {window}.flags.writeable = False",
            *self._shaped(pane, window),
            *map(Book, lines),
            f"M[{number}] = Memory({number}, {window}, {decl})",
        ]
        payload = self.written_payload(window)
        read = payload if self.values == "all" else -1
        self.note("bid", number, -1, -1)
        self.note("bid", pane.array, found, read)
        self.note("bid", number, pane.whole, payload)
        return number

    def _shaped(self, pane: Pane, window: str) -> list[str]:
        """A window that has none of the array's dimensions is one element."""
        return [] if pane.kept else [f"{window} = {window}.reshape({pane.decl.shape})"]

    def _write_back(self, pane: Pane) -> None:
        """The end of the window that was there, as `Step.unload` makes it."""
        name = self.r.name
        box, number, array, block = name(), name(), name(), name()
        data, target, place = name(), name(), name()
        names = [name() for _ in pane.sizes]
        found, lines = self._region(pane, names, f"{box}[0]")
        value = data if pane.kept else f"{data}.reshape({pane.sizes})"
        self.data += [
            f"{box}, {number}, {array}, {block} = {pane.held}",
            f"{data} = M.pop({number}).data",
            f"{target} = M[{array}]",
            f"if not {target}.data.flags.writeable: {target}.own()",
            f"{', '.join(names)}, = {box}[0]",
            f"if {pane.outside(names)}:",
            f"    {place} = m.target({array}, {box})",
            f"    {place}.write({target}.data, {data}.reshape({place}.shape))",
            f"    {found} = {place}.region",
            "else:",
            *(f"    {line}" for line in lines),
            f"    {target}.data[{pane.index(names)}] = {value}",
        ]
        payload = self.written_payload(data)
        read: Any = payload if self.values == "all" else -1
        self.note(block, number, pane.whole, read)
        self.note(block, array, found, payload)
        self.note(block, number, -1, -1)
