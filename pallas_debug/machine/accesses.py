"""Verbs on memory: read, write, copy blocks, allocate, free. Each emits its event."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.machine import state as states
from pallas_debug.machine.facts import PACK, Facts
from pallas_debug.machine.memory import (
    ELEMENTS,
    MASKED,
    Memory,
    Place,
    base_numbers,
    dtype_of,
)
from pallas_debug.machine.places import Plan, Target
from pallas_debug.trace.schema import BufferRow, Kind

PACK2, PACK3 = (struct.Struct(f"={9 * n}i").pack for n in (2, 3))
READ, WRITE, UPDATE = int(Kind.READ), int(Kind.WRITE), int(Kind.UPDATE)
ALLOC, FREE, GRID = int(Kind.ALLOC), int(Kind.FREE), int(Kind.GRID)
NO_DATA = np.zeros(0, np.int8)


class Accesses(Facts):
    """Memory as a rule may use it."""

    def place(self, target: Target) -> Place:
        """Where a target lies in its buffer; computed once per distinct indices."""
        ref, plan, dyn = target
        key = dyn if type(ref) is int else (*ref[1:], dyn)
        try:
            return plan.cache[key]
        except KeyError:
            pass
        except TypeError:
            key = None  # an array of indices
        data = self.memory(ref).data
        place = plan.locate(data.shape, data.dtype, ref, dyn)
        self._number(place, data)
        if key is not None:
            plan.cache[key] = place
        return place

    def _number(self, place: Place, data: np.ndarray) -> None:
        row = place.row
        if place.special is not None:
            numbers = base_numbers(place.special, data.dtype)
            row = (ELEMENTS, self.writer.part(numbers))
        place.region = self.writer.region(row)

    def read(
        self, target: Target, mask: Any = None, other: Any = None, outside: Any = None
    ) -> Any:
        """The value at a target; where `mask` is false it is `other` or unset.

        Elements outside the buffer are `outside`, or unset.
        """
        place = self.place(target)
        memory = self.memory(target[0])
        if place.fast and mask is None:
            value = memory.data[place.index]
            if type(value) is np.ndarray:
                value = value.copy()
            payload = self._payload(value) if self.keep_reads else -1
            pc, number = self.pc, memory.number
            self.rows += PACK(
                READ, self.tid, self.bid, self.base + pc, pc, number, place.region, 0, payload
            )  # fmt: skip
            return value
        return self._read(place, memory, mask, other, outside)

    def _read(
        self, place: Place, memory: Memory, mask: Any, other: Any, outside: Any
    ) -> Any:
        """A read under a mask, or of something else than a box inside the buffer."""
        dtype = memory.data.dtype
        value = place.read(
            memory.data, self.fill(dtype) if outside is None else outside
        )
        region = place.region
        if mask is not None:
            mask = np.broadcast_to(mask, place.shape)
            if not mask.all():
                region = self._masked(place, mask, dtype)
                other = self.fill(dtype) if other is None else other
                value = np.where(mask, value, np.asarray(other, dtype))
                value = value if place.shape else value[()]
        payload = -1
        if self.keep_reads:
            seen = value
            if mask is not None and place.special is not None:
                place, seen = place.where(mask), np.asarray(value)[mask]
            payload = self._payload(self._stored(place, memory, seen))
        self.emit(READ, memory.number, region, payload=payload)
        return value

    def write(
        self, target: Target, value: Any, mask: Any = None, kind: int = WRITE
    ) -> None:
        """Stores a value at a target, only where `mask` is true."""
        place = self.place(target)
        memory = self.memory(target[0])
        region = place.region
        if np.shape(value) != place.shape:
            value = np.broadcast_to(value, place.shape)
        if mask is not None:
            mask = np.broadcast_to(mask, place.shape)
            if not mask.all():
                region = self._masked(place, mask, memory.data.dtype)
                if place.special is not None:
                    place = place.where(mask)
                    value = value[mask]
                else:
                    old = place.read(memory.data, self.fill(memory.data.dtype))
                    value = np.where(mask, value, old)
        if not memory.data.flags.writeable:
            memory.own()
        if place.fast:
            memory.data[place.index] = value
        else:
            place.write(memory.data, value)
        payload = -1
        if self.keep_writes:
            payload = self._payload(self._stored(place, memory, value))
        pc = self.pc
        self.rows += PACK(
            kind,
            self.tid,
            self.bid,
            self.base + pc,
            pc,
            memory.number,
            region,
            0,
            payload,
        )

    def _stored(self, place: Place, memory: Memory, value: Any) -> Any:
        """The value at a place in the buffer's own dtype and order."""
        special = place.special
        if special is None:
            return place.base(value)
        if special.cast is None or special.cast.itemsize == memory.data.dtype.itemsize:
            return np.ascontiguousarray(value).reshape(-1).view(memory.data.dtype)
        numbers = base_numbers(special, memory.data.dtype)
        flat = memory.data.reshape(-1)
        if flat.size == 0:
            return np.zeros(numbers.shape, flat.dtype)
        return np.take(flat, numbers, mode="clip")

    def _masked(self, place: Place, mask: np.ndarray, dtype: np.dtype) -> int:
        if place.special is not None:
            numbers = base_numbers(place.where(mask).special, dtype)
            return self.writer.region((ELEMENTS, self.writer.part(numbers)))
        payload = self.writer.part(np.ascontiguousarray(place.base(mask)))
        return self.writer.region((MASKED, *place.row[1:], payload))

    def whole(self, ref: Any) -> Target:
        """All of a reference, as a target."""
        shape = self.memory(ref).data.shape
        plan = self._wholes.get(shape)
        if plan is None:
            plan = self._wholes[shape] = Plan(ir.Access(ref=ir.Reg(0)))
        return Target(ref, plan, ())

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
        data = memory[array].data[source.index].copy().reshape(decl.shape)
        number = self._buffer(decl, "window")
        memory[number] = Memory(number, data, decl)
        read = write = -1
        if self.keep_writes:
            # Recorded: whoever writes to the buffer takes a copy first.
            data.flags.writeable = False
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

    def alloc(self, decl: ir.Buffer, role: str = "scratch") -> int:
        """A new buffer, uninitialized, or a new array of barriers or semaphores."""
        unset = self._unset.get(id(decl))
        if unset is None:
            if decl.is_sync:
                return self._alloc_sync(decl)
            unset = self._unset[id(decl)] = self._template(decl)
        number = self._buffer(decl, role)
        self.state.memory[number] = Memory(number, unset.copy(), decl)
        self.emit(ALLOC, number, aux=min(unset.nbytes, 2**31 - 1))
        return number

    def _template(self, decl: ir.Buffer) -> np.ndarray:
        """What a new buffer of this declaration holds."""
        dtype = dtype_of(decl.dtype)
        data = np.full(decl.shape, self.fill(dtype), dtype)
        if decl.params.get("union"):
            data.view(np.uint8)[...] = 0xFF
        return data

    def _alloc_sync(self, decl: ir.Buffer) -> int:
        count = math.prod(decl.shape)
        arrivals = int(decl.params.get("num_arrivals", 0))
        number = self._buffer(decl, "sync", arrivals)
        if decl.dtype.endswith("semaphore"):
            self.state.semaphores[number] = states.Semaphores(count)
        else:
            self.state.barriers[number] = states.Barriers(count, arrivals)
        self.state.memory[number] = Memory(number, NO_DATA, decl)
        self.emit(ALLOC, number, aux=8 * count)
        return number

    def _buffer(self, decl: ir.Buffer, role: str, arrivals: int = 0) -> int:
        # By position: half the time, and one for each buffer of each block.
        return self.writer.buffer(
            BufferRow(
                decl.name, decl.space, decl.shape, decl.dtype, decl.scope, role,
                self.tid, self.bid, self.device, self.launch_number, -1, -1, arrivals,
                decl.loc,
            )
        )  # fmt: skip

    def free(self, number: int) -> None:
        """Ends a buffer; its contents live on while agents may touch them."""
        self.emit(FREE, number)
        thread = self.thread
        live = sum(block.live for block in self.cluster(thread.block))
        if live <= 1 or (
            self.state.memory[number].decl.scope == "thread"
            and all(agent.done for agent in thread.agents)
        ):
            self.discard(number)
        else:
            thread.block.zombies.append(number)

    def discard(self, number: int) -> None:
        """Forgets the contents of a freed buffer."""
        memory = self.state.memory.pop(number, None)
        if memory is not None and memory.data is NO_DATA:
            self.state.barriers.pop(number, None)
            self.state.semaphores.pop(number, None)
