"""Ops of the grid and scoped allocations on the path of a block."""

from __future__ import annotations

from functools import partial

import numpy as np

from pallas_debug import ir
from pallas_debug.machine.memory import dtype_of
from pallas_debug.machine.replaying.lines import Book, Given, Noted, NotReplayable
from pallas_debug.machine.replaying.values import ASKED, CORE, DATUM, KNOWN, Value
from pallas_debug.machine.replaying.windows import Windows
from pallas_debug.machine.rules import RULES


class Scopes(Windows):
    """What to do at an op, by its name; each is given the thread and the position.

    Attributes:
      allocs: Buffers of an allocation, by instruction, occurrence and thread.
      counts: How often each thread has come to each allocation.
      users: How many threads still use the buffers of an allocation.
    """

    def __init__(self, given: Given) -> None:
        super().__init__(given)
        self.allocs: dict[tuple[int, ...], tuple[Value, ...]] = {}
        self.counts: dict[tuple[int, int], int] = {}
        self.users: dict[tuple[Value, ...], int] = {}

    def grid_next(self, thread: int, position: int) -> None:
        outs = self.kernel.tape[position].outs
        if outs:
            self.asked.append(f"{self.r.define(thread, outs, ASKED)}, = at")

    def grid_id(self, thread: int, position: int) -> None:
        instr, grid = self.kernel.tape[position], self.kernel.grid
        axis, on_grid = instr.params["axis"], CORE not in self.r.entering
        outs = self.r.define(thread, instr.outs, ASKED)
        numbered = tuple(f"#{number}" for number in range(len(grid.shape)))
        at = f"m.ids[{axis!r}]"
        for names in (numbered, grid.names):
            if on_grid and axis in names:
                at = f"at[{names.index(axis)}]"
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

    def scope_alloc(self, thread: int, position: int) -> None:
        instr = self.kernel.tape[position]
        users, decls = instr.params["users"], instr.params["decls"]
        count = self.counts.get((thread, position), 0)
        self.counts[thread, position] = count + 1
        key = (position, count) if users > 1 else (position, count, thread)
        if key not in self.allocs:
            group = tuple(self._new(decl, thread) for decl in decls)
            self.allocs[key], self.users[group] = group, users
            self.refs.update(value.text for value in group)
        self.r.put(thread, instr.outs, self.allocs[key])

    def scope_free(self, thread: int, position: int) -> None:
        instr = self.kernel.tape[position]
        group = tuple(self.r.value(thread, operand) for operand in instr.ins)
        if not self.users.get(group):
            raise NotReplayable
        self.users[group] -= 1

    def _new(self, decl: ir.Buffer, thread: int) -> Value:
        """A buffer as `peers.new` makes it."""
        if decl.is_sync:
            number, alloc = self.r.name(), f"m.alloc({self.source.constant(decl)})"
            if thread != CORE:
                self.data.append(Book(f"m.tid = first + {thread}"))
            self.noting(Book(f"{number} = {alloc}"))
            return Value(number, DATUM)
        number = self.allocate(decl, "scratch", thread)
        self.plain[number] = decl
        if decl.params.get("zeroed"):
            dtype = dtype_of(decl.dtype)
            zeros = self.source.constant(partial(np.zeros, decl.shape, dtype))
            self.noting(Noted(f"m.write(m.whole({number}), {zeros}())"))
        return Value(number, DATUM)
