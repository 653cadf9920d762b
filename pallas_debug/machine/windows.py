"""Verbs on block windows: a copy of a block comes to life, or ends in its array.

Three or two events at once, packed together: a pipelined kernel does little else.
"""

from __future__ import annotations

import struct

import numpy as np

from pallas_debug import ir
from pallas_debug.machine.accesses import ALLOC, READ, WRITE, Accesses
from pallas_debug.machine.memory import Memory, Place
from pallas_debug.machine.places import Plan

PACK2, PACK3 = (struct.Struct(f"={9 * n}i").pack for n in (2, 3))


class Windows(Accesses):
    """Blocks of arrays as a rule may use them."""

    def all_of(self, shape: tuple[int, ...]) -> Place:
        """The place of a whole buffer of this shape."""
        place = self._alls.get(shape)
        if place is None:
            plan = Plan(ir.Access(ref=ir.Reg(0)))
            place = self._alls[shape] = plan.locate(shape, np.dtype(np.int8), 0, ())
            place.region = self.writer.region(place.row)
        return place

    def load(self, array: int, decl: ir.Buffer, source: Place, whole: Place) -> int:
        """A new buffer with a copy of a part of another: allocation, read, write."""
        memory = self.state.memory
        data = memory[array].data[source.index]
        if data.flags.writeable:
            data = data.copy()
        data = data.reshape(decl.shape)
        # Whoever writes to the buffer takes a copy first: it is recorded, or an input's.
        data.flags.writeable = False
        number = self._buffer(decl, "window")
        memory[number] = Memory(number, data, decl)
        read = write = -1
        if self.keep_writes:
            write = self._payload(data)
            read = write if self.keep_reads else -1
        pc, tid, bid = self.pc, self.tid, self.bid
        step = self.base + pc
        self.rows += PACK3(
            ALLOC, tid, bid, step, pc, number, -1, data.nbytes, -1,
            READ, tid, bid, step, pc, array, source.region, 0, read,
            WRITE, tid, bid, step, pc, number, whole.region, 0, write,
        )  # fmt: skip
        return number

    def unload(self, number: int, array: int, whole: Place, target: Place) -> None:
        """Writes a buffer that ends now to a part of another: read, write, free."""
        memory = self.state.memory
        data = memory[number].data
        if self.thread.block.live > 1:
            data = data.copy()  # a copy in flight may still write here
        if not memory[array].data.flags.writeable:
            memory[array].own()
        target.write(memory[array].data, data.reshape(target.shape))
        payload = self._payload(data) if self.keep_writes else -1
        read = payload if self.keep_reads else -1
        pc, tid, bid = self.pc, self.tid, self.bid
        step = self.base + pc
        self.rows += PACK2(
            READ, tid, bid, step, pc, number, whole.region, 0, read,
            WRITE, tid, bid, step, pc, array, target.region, 0, payload,
        )  # fmt: skip
        self.free(number)
