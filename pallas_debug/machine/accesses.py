"""Verbs on memory: read, write, copy blocks, allocate, free. Each emits its event."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.machine import state as states
from pallas_debug.machine.facts import Facts
from pallas_debug.machine.memory import (
    ELEMENTS,
    MASKED,
    Memory,
    Place,
    base_numbers,
    dtype_of,
)
from pallas_debug.machine.places import Plan, Target
from pallas_debug.trace.schema import Kind

READ, WRITE, UPDATE = int(Kind.READ), int(Kind.WRITE), int(Kind.UPDATE)
ALLOC, FREE, GRID = int(Kind.ALLOC), int(Kind.FREE), int(Kind.GRID)
NO_DATA = np.zeros(0, np.int8)


class Accesses(Facts):
    """Memory as a rule may use it."""

    __slots__ = ()

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
        place = None if key is None else plan.kept.get(key)
        if place is None:
            place = plan.locate(data.shape, data.dtype, ref, dyn)
        self._number(place, data)
        if key is not None:
            plan.cache[key] = place
            plan.keep(key, place)
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
        ref, plan, dyn = target
        if mask is None and type(ref) is int:
            try:
                place = plan.cache[dyn]
            except (KeyError, TypeError):
                place = self.place(target)
            if place.fast:
                data = self.state.memory[ref].data
                value = data[place.index]
                # A buffer that is read-only takes a copy of itself before a write.
                if type(value) is np.ndarray and data.flags.writeable:
                    value = value.copy()
                payload = -1
                if self.keep_reads:
                    value = self._kept(value)
                    payload = self._payload(value)
                self.emit(READ, ref, place.region, 0, payload)
                return value
        return self._read(self.place(target), self.memory(ref), mask, other, outside)

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
        ref, plan, dyn = target
        if mask is None and type(ref) is int:
            try:
                place = plan.cache[dyn]
            except (KeyError, TypeError):
                place = self.place(target)
            if place.fast:
                self._put(ref, place, value, kind)
                return
        self._write(self.place(target), self.memory(ref), value, mask, kind)

    def _put(self, number: int, place: Place, value: Any, kind: int) -> None:
        """The common write: a box inside the buffer."""
        memory = self.state.memory[number]
        if np.shape(value) != place.shape:
            value = np.broadcast_to(value, place.shape)
        if self.keep_writes:
            value = self._kept(value)
        if not memory.takes(value):
            if not memory.data.flags.writeable:
                memory.own()
            memory.data[place.index] = value
        payload = self._payload(value) if self.keep_writes else -1
        self.emit(kind, number, place.region, 0, payload)

    def _write(
        self, place: Place, memory: Memory, value: Any, mask: Any, kind: int
    ) -> None:
        """A write under a mask, or to something else than a box inside the buffer."""
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
        self.emit(kind, memory.number, region, payload=payload)

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
        return ref, self._whole(self.memory(ref).data.shape), ()

    def _whole(self, shape: tuple[int, ...]) -> Plan:
        """The access to all of a buffer of this shape."""
        plan = self._wholes.get(shape)
        if plan is None:
            plan = self._wholes[shape] = Plan(ir.Access(ref=ir.Reg(0)))
        return plan

    def alloc(self, decl: ir.Buffer, role: str = "scratch") -> int:
        """A new buffer, uninitialized, or a new array of barriers or semaphores."""
        if decl.is_sync:
            return self._alloc_sync(decl)
        unset = self.unset(decl)
        number = self._buffer(decl, role)
        self.state.memory[number] = Memory(number, unset, decl)
        self.emit(ALLOC, number, aux=min(unset.nbytes, 2**31 - 1))
        return number

    def unset(self, decl: ir.Buffer) -> np.ndarray:
        """What each new buffer of this declaration holds; a first write copies."""
        found = self._unset.get(id(decl))
        if found is None:
            found = self._unset[id(decl)] = self._template(decl)
        return found

    def _template(self, decl: ir.Buffer) -> np.ndarray:
        dtype = dtype_of(decl.dtype)
        data = np.full(decl.shape, self.fill(dtype), dtype)
        if decl.params.get("union"):
            data.view(np.uint8)[...] = 0xFF
        data.flags.writeable = False
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
        # A plain tuple, made a `BufferRow` when the trace is closed: one for each buffer
        # of each block.
        return self.writer.buffer(
            (decl.name, decl.space, decl.shape, decl.dtype, decl.scope, role,
             self.tid, self.bid, self.device, self.launch_number, -1, -1, arrivals,
             decl.loc)
        )  # fmt: skip

    def free(self, number: int) -> None:
        """Ends a buffer; its contents live on while agents may touch them."""
        self.emit(FREE, number)
        thread = self.thread
        live = thread.block.live
        if thread.block.cluster in self.state.clusters:
            live = sum(block.live for block in self.kin(thread.block))
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
