"""Verbs on block windows: a copy of a block comes to life, or ends in its array."""

from __future__ import annotations

import numpy as np

from pallas_debug import ir
from pallas_debug.machine.accesses import ALLOC, READ, WRITE, Accesses
from pallas_debug.machine.memory import Memory, Place


class Windows(Accesses):
    """Blocks of arrays as a rule may use them."""

    __slots__ = ()

    def all_of(self, shape: tuple[int, ...]) -> Place:
        """The place of a whole buffer of this shape."""
        plan = self._whole(shape)
        if () not in plan.cache:
            place = plan.locate(shape, np.dtype(np.int8), 0, ())
            place.region = self.writer.region(place.row)
            plan.cache[()] = place
        return plan.cache[()]

    def load(self, array: int, decl: ir.Buffer, source: Place, whole: Place) -> int:
        """A new buffer with a copy of a part of another: allocation, read, write."""
        number, read, write = self._load(array, decl, source)
        self.emit(ALLOC, number, -1, self.state.memory[number].data.nbytes)
        self.emit(READ, array, source.region, 0, read)
        self.emit(WRITE, number, whole.region, 0, write)
        return number

    def _load(self, array: int, decl: ir.Buffer, source: Place) -> tuple[int, int, int]:
        """Does it; gives the buffer's number and the payloads of the read and write."""
        memory = self.state.memory
        data = np.asarray(memory[array].data[source.index])  # of rank 0: a scalar
        if source.region < 0:
            self._number(source, data)
        if data.flags.writeable:
            data = data.copy()
        data = data.reshape(decl.shape)
        # Whoever writes to the buffer takes a copy first: it is recorded, or an input's.
        data.flags.writeable = False
        number = self._buffer(decl, "window")
        memory[number] = Memory(number, data, decl)
        if not self.keep_writes:
            return number, -1, -1
        payload = self._payload(data)
        return number, payload if self.keep_reads else -1, payload

    def unload(self, number: int, array: int, whole: Place, target: Place) -> None:
        """Writes a buffer that ends now to a part of another: read, write, free."""
        read, write = self._unload(number, array, target)
        self.emit(READ, number, whole.region, 0, read)
        self.emit(WRITE, array, target.region, 0, write)
        self.free(number)

    def _unload(self, number: int, array: int, target: Place) -> tuple[int, int]:
        """Does it; gives the payloads of the read and the write."""
        memory = self.state.memory
        data = memory[number].data
        if data.flags.writeable and self.thread.block.live > 1:
            data = data.copy()  # a copy in flight may still write here
        if not memory[array].data.flags.writeable:
            memory[array].own()
        if target.region < 0:
            self._number(target, data)
        target.write(memory[array].data, data.reshape(target.shape))
        if not self.keep_writes:
            return -1, -1
        payload = self._payload(data)
        return payload if self.keep_reads else -1, payload
