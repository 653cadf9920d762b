"""Ops of the grid, its windows and scoped allocations on the path of a block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.machine import peers
from pallas_debug.machine.replaying.outlook import (
    box_text,
    fetched,
    is_plain,
    look_up,
    opened,
)
from pallas_debug.machine.replaying.values import (
    ASKED,
    CORE,
    DATUM,
    KNOWN,
    PathSource,
    Registers,
    Value,
)
from pallas_debug.machine.rules import RULES


class NotReplayable(Exception):
    """The way depends on data, or an op is not known to replay."""


class Lines:
    """A path's function while it grows.

    Attributes:
      asked: Lines that follow from the coordinates: they change nothing.
      looks: Questions about windows: they cost most, so they come after those.
      data: Lines that act.
      spawned: Parent and instruction of each of the block's new threads.
      born: How many of them there are so far.
      refs: Names of buffers: an op may be told any.
    """

    def __init__(
        self,
        kernel: ir.Kernel,
        spawned: Sequence[tuple[int, int]],
        windows: Mapping[int, tuple[int, ...]],
    ) -> None:
        self.kernel = kernel
        self.spawned = spawned
        self.windows = dict(windows)
        self.source = PathSource(f"{kernel.name} path")
        self.asked: list[str] = []
        self.looks: list[str] = []
        self.data: list[str] = []
        own = [thread for thread, (_, instr) in enumerate(spawned) if instr < 0]
        self.born = len(own)
        self.r = Registers(self.source, own or [CORE])
        self.refs: set[str] = set()
        self.allocs: dict[tuple[int, ...], tuple[Value, ...]] = {}
        self.counts: dict[tuple[int, int], int] = {}
        self.users: dict[tuple[Value, ...], int] = {}

    def ask(self, thread: int, operand: ir.Operand, test: str, answer: Any) -> None:
        """Another way is taken where the test is true."""
        value = self.r.value(thread, operand)
        if value.level > ASKED:
            raise NotReplayable
        if value.level == ASKED:
            self.asked.append(f"if {test.format(value.text, answer)}: return False")


class Scopes(Lines):
    """What to do at an op, by its name; each is given the thread and the position."""

    def grid_next(self, thread: int, position: int) -> None:
        outs = self.kernel.tape[position].outs
        if outs:
            self.asked.append(f"{self.r.define(thread, outs, ASKED)}, = m.at")

    def grid_id(self, thread: int, position: int) -> None:
        instr, grid = self.kernel.tape[position], self.kernel.grid
        axis, on_grid = instr.params["axis"], CORE not in self.r.entering
        outs = self.r.define(thread, instr.outs, ASKED)
        numbered = tuple(f"#{number}" for number in range(len(grid.shape)))
        at = f"m.ids[{axis!r}]"
        for names in (numbered, grid.names):
            if on_grid and axis in names:
                at = f"m.at[{names.index(axis)}]"
        self.asked.append(f"{outs} = {at}")

    def grid_size(self, thread: int, position: int) -> None:
        instr = self.kernel.tape[position]
        outs = self.r.define(thread, instr.outs, ASKED)
        size = f"m.launch.grid[{instr.params['axis']}]"
        self.asked.append(f"{outs} = np.int32({size})")

    def grid_thread(self, thread: int, position: int) -> None:
        if thread not in self.r.entering:
            raise NotReplayable
        index = self.source.constant(np.int32(max(thread, 0)))
        self.r.put(thread, self.kernel.tape[position].outs, [Value(index, KNOWN)])

    def window_view(self, thread: int, position: int) -> None:
        instr = self.kernel.tape[position]
        if self.r.level(thread, instr.ins) > ASKED:
            raise NotReplayable
        call = self.source.call(instr, RULES.get(instr.op), self.r.texts(thread))
        self.asked.append(f"{self.r.define(thread, instr.outs, ASKED)} = {call}")

    def window_fetch(self, thread: int, position: int) -> None:
        instr = self.kernel.tape[position]
        kinds = self.windows.pop(position, None)  # None: a second time
        known = kinds is not None and is_plain(instr)
        if not known or self.r.level(thread, instr.ins) > ASKED:
            raise NotReplayable
        constant, found = self.source.constant, self.r.name()
        array, *indices = map(self.r.texts(thread), instr.ins)
        box, params = box_text(instr.params["dims"], indices), constant(instr.params)
        given = f"(m, {array}, {box}, {params})"
        self.looks.append(f"{found} = {constant(look_up)}{given}")
        self.looks.append(f"if {found}[0] != {kinds!r}: return False")
        act = constant(fetched if instr.op == "window.fetch" else opened)
        out = self.r.define(thread, instr.outs, DATUM)
        self.data.append(f"{out} = {act}(m, {array}, {found}, {params})")

    window_output = window_fetch

    def scope_alloc(self, thread: int, position: int) -> None:
        instr = self.kernel.tape[position]
        users, decls = instr.params["users"], instr.params["decls"]
        count = self.counts.get((thread, position), 0)
        self.counts[thread, position] = count + 1
        key = (position, count) if users > 1 else (position, count, thread)
        if key not in self.allocs:
            group = tuple(Value(self.r.name(), DATUM) for _ in decls)
            self.allocs[key], self.users[group] = group, users
            self.refs.update(value.text for value in group)
            if thread != CORE:
                self.data.append(f"m.tid = m.first + {thread}")
            new = self.source.constant(peers.new)
            for value, decl in zip(
                group, map(self.source.constant, decls), strict=True
            ):
                self.data.append(f"{value.text} = {new}(m, {decl})")
        self.r.put(thread, instr.outs, self.allocs[key])

    def scope_free(self, thread: int, position: int) -> None:
        instr = self.kernel.tape[position]
        group = tuple(self.r.value(thread, operand) for operand in instr.ins)
        if not self.users.get(group):
            raise NotReplayable
        self.users[group] -= 1
