"""The verbs a rule may use. Each acts on the state and emits its own event.

The set is closed; rules are open. A rule sees values, targets and these verbs, never
the trace, a clock or a check. A rule waits before it acts: then "blocked" means that
nothing has happened.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pallas_debug import ir
from pallas_debug.errors import UnsupportedOp
from pallas_debug.machine import peers
from pallas_debug.machine import state as states
from pallas_debug.machine.memory import (
    ELEMENTS,
    MASKED,
    Memory,
    Packed,
    Place,
    Window,
    dtype_of,
    poison,
)
from pallas_debug.machine.places import Plan
from pallas_debug.trace.schema import ROW, BufferRow, Kind, ThreadRow
from pallas_debug.trace.writer import Writer

PACK = ROW.pack
PACK2, PACK3 = (struct.Struct(f"={9 * n}i").pack for n in (2, 3))
READ, WRITE, UPDATE = int(Kind.READ), int(Kind.WRITE), int(Kind.UPDATE)
ALLOC, FREE, GRID = int(Kind.ALLOC), int(Kind.FREE), int(Kind.GRID)
NO_DATA = np.zeros(0, np.int8)


class Target(NamedTuple):
    """A reference with its views, ready to be read or written.

    `ref` is a buffer number or a `Window`; `dyn` the values of the traced indices.
    """

    ref: Any
    plan: Plan
    dyn: tuple


class Step:
    """The machine as one instruction of one thread sees it.

    Attributes:
      pc: Tape position of the instruction; `base + pc` is its step number.
      thread, block: Who executes; `tid`, `bid` are their numbers in the trace.
    """

    def __init__(
        self, state: states.State, launch: ir.Launch, writer: Writer, options: Any
    ) -> None:
        self.state = state
        self.launch = launch
        self.kernel = launch.kernel
        self.writer = writer
        self.rows = writer.log
        self.options = options
        self.pc = 0
        self.base = 0
        self.tid = -1
        self.bid = -1
        self.launch_number = len(writer.launches) - 1
        self.device = _linear(launch.axes, launch.device)
        self.keep_reads = options.values == "all"
        self.keep_writes = options.values in ("all", "writes")
        self.full = False
        self._wholes: dict[tuple[int, ...], Plan] = {}
        self._alls: dict[tuple[int, ...], Place] = {}
        self._unset: dict[int, np.ndarray] = {}
        self.slots: dict[int, Any] = {}
        self._elements: dict[int, int] = {}
        self.root = -1
        self.arguments: tuple[int, ...] = ()
        self.current: states.Thread | None = None
        self.chosen = start_chosen(launch, options)
        self.point = 0

    # -- facts ---------------------------------------------------------------

    def emit(
        self, kind: int, obj: int = -1, region: int = -1, aux: int = 0, payload: int = -1
    ) -> None:
        """Appends one event of the current thread."""
        pc = self.pc
        self.rows += PACK(
            kind, self.tid, self.bid, self.base + pc, pc, obj, region, aux, payload
        )

    def _payload(self, value: Any) -> int:
        writer = self.writer
        if writer.payload_bytes > self.options.max_value_bytes:
            self.full = True
            return -1
        return writer.payload(value)

    # -- memory --------------------------------------------------------------

    def memory(self, ref: Any) -> Memory:
        """The live buffer behind a reference."""
        return self.state.memory[ref if type(ref) is int else ref.buffer]

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
            numbers = _base_numbers(place.special, data.dtype)
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
        if outside is None:
            outside = self.fill(memory.data.dtype)
        value = place.read(memory.data, outside)
        region = place.region
        if mask is not None:
            mask = np.broadcast_to(mask, place.shape)
            if not mask.all():
                region = self._masked(place, mask, memory.data.dtype)
                if other is None:
                    other = self.fill(memory.data.dtype)
                value = np.where(mask, value, np.asarray(other, memory.data.dtype))
                value = value if place.shape else value[()]
        payload = -1
        if self.keep_reads:
            seen = value
            if mask is not None and place.special is not None:
                place, seen = place.where(mask), np.asarray(value)[mask]
            payload = self._payload(self._stored(place, memory, seen))
        pc = self.pc
        self.rows += PACK(
            READ, self.tid, self.bid, self.base + pc, pc, memory.number, region, 0, payload
        )
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
            kind, self.tid, self.bid, self.base + pc, pc, memory.number, region, 0, payload
        )

    def _stored(self, place: Place, memory: Memory, value: Any) -> Any:
        """The value at a place in the buffer's own dtype and order."""
        special = place.special
        if special is None:
            return place.base(value)
        if special.cast is None or special.cast.itemsize == memory.data.dtype.itemsize:
            return np.ascontiguousarray(value).reshape(-1).view(memory.data.dtype)
        numbers = _base_numbers(special, memory.data.dtype)
        flat = memory.data.reshape(-1)
        if flat.size == 0:
            return np.zeros(numbers.shape, flat.dtype)
        return np.take(flat, numbers, mode="clip")

    def _masked(self, place: Place, mask: np.ndarray, dtype: np.dtype) -> int:
        if place.special is not None:
            numbers = _base_numbers(place.where(mask).special, dtype)
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

    def fill(self, dtype: np.dtype) -> Any:
        """What unset memory of this dtype reads as."""
        return poison(dtype, self.options.uninitialized)

    def data(self, ref: Any) -> np.ndarray:
        """Contents of a buffer, for rules that must look without touching."""
        return self.memory(ref).data

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
        return self.writer.buffer(
            BufferRow(
                name=decl.name,
                space=decl.space,
                shape=decl.shape,
                dtype=decl.dtype,
                scope=decl.scope,
                role=role,
                thread=self.tid,
                block=self.bid,
                device=self.device,
                launch=self.launch_number,
                arrivals=arrivals,
                loc=decl.loc,
            )
        )

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

    # -- threads -------------------------------------------------------------

    @property
    def thread(self) -> states.Thread:
        """The thread that executes."""
        assert self.current is not None
        return self.current

    def grid_next(self, rank: int) -> tuple | None:
        """Enters the next grid point of a core; its coordinates, None at the end."""
        thread, grid = self.thread, self.launch.grid
        total = math.prod(grid)
        number = thread.notes.get("point", 0)
        while self.chosen is not None and number < total and number not in self.chosen:
            number += 1
        if number >= total:
            return None
        thread.notes["point"] = self.point = number + 1
        thread.bid = self.bid = number
        self.emit(GRID, aux=number)
        point: list[np.int32] = []
        for size in reversed(grid):
            number, rest = divmod(number, size)
            point.append(np.int32(rest))
        return tuple(reversed(point))

    def unsupported(self, position: int) -> list[Any]:
        """An op without a rule: ends the launch, or is skipped with unset results."""
        instr = self.kernel.tape[position]
        if self.options.unsupported != "stub":
            raise UnsupportedOp(op=instr.op, loc=self.kernel.loc_of(position))
        self.stub()
        avals = [(s, dtype_of(d)) for s, d in instr.params.get("avals", ())]
        values = [np.full(shape, self.fill(dtype), dtype) for shape, dtype in avals]
        values = [value if value.ndim else value[()] for value in values]
        return values + [None] * (len(instr.outs) - len(values))

    def cluster(self, block: states.Block) -> tuple[states.Block, ...]:
        """The blocks of a block's cluster, by rank; the block alone if it has none."""
        return self.state.clusters.get(block.cluster) or (block,)

    def peer(self, ref: int, axes: tuple[str, ...], *ids: Any) -> int:
        """The same buffer as another block of the cluster owns it."""
        return peers.reach(self, ref, axes, ids)

    def spawn(
        self,
        kind: str,
        pc: int,
        registers: Sequence[Any],
        family: str = "",
        index: int = -1,
    ) -> int:
        """Starts an agent at tape position `pc` with these registers.

        With a `family` the issuing thread can commit and join it. `index` is a warp's
        number in its warpgroup.
        """
        parent = self.thread
        block = parent.block
        number = self.writer.thread(
            ThreadRow(
                kind=kind,
                parent=self.tid,
                device=self.device,
                cluster=block.cluster,
                block=self.bid,
                index=index,
                launch=self.launch_number,
                instr=self.pc,
            )
        )
        child = states.Thread(number, pc, list(registers), block)
        child.bid = self.bid
        self.state.threads[number] = child
        self.state.ready.append(number)
        block.live += 1
        if family:
            parent.agents.append(states.Agent(number, family))
        self.emit(Kind.SPAWN, number)
        return number

    def wake(self, waiters: list[int]) -> None:
        """Makes sleeping threads try their instruction again."""
        for number in waiters:
            thread = self.state.threads[number]
            if thread.status == states.WAITING:
                thread.status = states.READY
                self.state.ready.append(number)
        waiters.clear()

    def _sleep(self, waiters: list[int], wait: tuple[int, int, int]) -> bool:
        thread = self.thread
        if thread.waits is None:
            region = -1 if wait[0] < 0 else self._element(wait[1])
            self.emit(Kind.BLOCK, wait[0], region, wait[2] if wait[0] >= 0 else wait[1])
        thread.waits = wait
        thread.status = states.WAITING
        waiters.append(self.tid)
        return False

    def _element(self, index: int) -> int:
        region = self._elements.get(index)
        if region is None:
            region = self._elements[index] = self.writer.region((0, index, 1, 1))
        return region

    # -- barriers ------------------------------------------------------------

    def arrive(self, barrier: int, index: int, count: int = 1) -> None:
        """Arrives at a barrier; the last arrival completes its phase."""
        bars = self.state.barriers[barrier]
        for _ in range(count):
            done = bars.completed[index]
            self.emit(Kind.ARRIVE, barrier, self._element(index), done)
            bars.pending[index] -= 1
            if bars.pending[index] == 0:
                bars.pending[index] = bars.arrivals
                bars.completed[index] = done + 1
                self.emit(Kind.PHASE, barrier, self._element(index), done + 1)
                self.wake(bars.waiters)

    def land(self, barrier: int, index: int, amount: int, expected: int = 0) -> None:
        """Bytes of a copy in which several blocks take part have come in.

        `expected` opens an arrival that takes place when so many have.
        """
        bars = self.state.barriers[barrier]
        open_ones = bars.expected.get(index, ())
        if expected:
            open_ones = (*open_ones, expected)
        landed = bars.landed.get(index, 0) + amount
        due = 0
        while due < len(open_ones) and landed >= open_ones[due]:
            landed -= open_ones[due]
            due += 1
        bars.expected[index], bars.landed[index] = open_ones[due:], landed
        if due:
            self.arrive(barrier, index, due)
        else:
            done = bars.completed[index]
            self.emit(Kind.LAND, barrier, self._element(index), done)

    def wait(self, barrier: int, index: int) -> bool:
        """Waits for the phase after the last one that this thread observed."""
        bars = self.state.barriers[barrier]
        who, phase = self._observer(bars, index)
        if bars.completed[index] <= phase:
            return self._sleep(bars.waiters, (barrier, index, phase + 1))
        phase += 1
        bars.observed[who, index] = bars.observed.get((who, index), 0) + 1
        self.thread.waits = None
        self.emit(Kind.WAIT, barrier, self._element(index), phase)
        return True

    def phase_ready(self, barrier: int, index: int) -> bool:
        """Whether a wait would not sleep; records nothing."""
        bars = self.state.barriers[barrier]
        return bars.completed[index] > self._observer(bars, index)[1]

    def _observer(self, bars: states.Barriers, index: int) -> tuple[Any, int]:
        """Who waits, and how many phases it has observed.

        A warp has its warpgroup's count and its own, over all `warp_map`s.
        """
        notes, observed = self.thread.notes, bars.observed
        warp = notes.get("warp")
        if warp is not None:
            seen = observed.get((warp[0], index), 0) + observed.get((warp, index), 0)
            return warp, seen
        seen = observed.get((self.tid, index), 0)
        for number in range(notes.get("warps", 0)):
            alone = observed.get(((self.tid, number), index), 0)
            seen = max(seen, observed.get((self.tid, index), 0) + alone)
        return self.tid, seen

    # -- semaphores ----------------------------------------------------------

    def signal(self, semaphore: int, index: int, amount: int) -> None:
        """Increases a semaphore."""
        sems = self.state.semaphores[semaphore]
        if 0 <= index < len(sems.count):
            sems.count[index] += amount
        self.emit(Kind.SIGNAL, semaphore, self._element(index), amount)
        self.wake(sems.waiters)

    def take(
        self, semaphore: int, index: int, amount: int, decrement: bool = True
    ) -> bool:
        """Waits until a semaphore has `amount` units, then takes them."""
        sems = self.state.semaphores[semaphore]
        inside = 0 <= index < len(sems.count)
        if not inside or sems.count[index] < amount:
            return self._sleep(sems.waiters, (semaphore, index, amount))
        if decrement:
            sems.count[index] -= amount
        self.thread.waits = None
        self.emit(Kind.WAIT, semaphore, self._element(index), amount)
        return True

    # -- asynchronous operations ---------------------------------------------

    def fence(self, scope: int = 0) -> None:
        """Makes stores before it visible to the asynchronous proxy (0: of SMEM)."""
        self.emit(Kind.FENCE, aux=scope)

    def commit(self, family: str) -> None:
        """Closes a group over this family's operations issued since the last one."""
        thread = self.thread
        closed = thread.closed.get(family, 0)
        for agent in thread.agents:
            if agent.family == family and agent.group < 0:
                agent.group = closed
        thread.closed[family] = closed + 1
        self.emit(Kind.COMMIT, aux=thread.groups)
        thread.groups += 1

    def join(self, family: str, pending: int, *, reads: bool = False) -> bool:
        """Waits until at most `pending` groups of a family are unfinished."""
        thread = self.thread
        last = thread.closed.get(family, 0) - pending
        due = [a for a in thread.agents if a.family == family and 0 <= a.group < last]
        for agent in due:
            if not (agent.done or (reads and agent.read_done)):
                waiters = self.state.joiners.setdefault(agent.thread, [])
                return self._sleep(waiters, (-1, agent.thread, 0))
        thread.waits = None
        for agent in due:
            if not (reads and agent.read_joined):
                self.emit(Kind.JOIN, agent.thread, aux=int(reads))
            agent.read_joined = True
        if due and not reads:
            thread.agents = [agent for agent in thread.agents if agent not in due]
        return True

    def await_agent(self, number: int) -> bool:
        """Waits until an agent of any thread has ended."""
        other = self.state.threads.get(number)
        if other is not None and other.status != states.DONE:
            return self._sleep(
                self.state.joiners.setdefault(number, []), (-1, number, 0)
            )
        self.thread.waits = None
        self.emit(Kind.JOIN, number)
        return True

    def reads_done(self) -> None:
        """An agent says that it has read its source."""
        agent = self.record(self.tid)
        if agent is not None:
            agent.read_done = True
            self.wake(self.state.joiners.get(self.tid, []))

    def record(self, number: int) -> states.Agent | None:
        """What the issuer of an agent remembers of it, None if nothing."""
        parent = self.state.threads.get(self.writer.threads[number].parent)
        if parent is not None:
            for agent in reversed(parent.agents):
                if agent.thread == number:
                    return agent
        return None

    # -- the rest ------------------------------------------------------------

    def log(self, text: str) -> None:
        """Records a printed text."""
        self.emit(Kind.PRINT, aux=self.writer.text(text))

    def asserted(self, held: bool, text: str) -> None:
        """Records the outcome of a `debug_check`."""
        self.writer.text(text)
        self.emit(Kind.ASSERT, aux=int(held))

    def stub(self) -> None:
        """Records that an unsupported op was skipped."""
        self.emit(Kind.STUB)


def start_chosen(launch: ir.Launch, options: Any) -> frozenset[int] | None:
    """Linear grid indices that were asked for, None for all."""
    if options.blocks is None:
        return None
    shape = (*launch.grid, *launch.kernel.grid.cluster)
    return frozenset(_linear_index(block, shape) for block in options.blocks)


def _linear_index(block: Any, shape: tuple[int, ...]) -> int:
    """Linear index of a block; -1, which is none, for coordinates outside the grid."""
    if np.ndim(block) == 0:
        return int(block)
    number = 0
    if len(block) != len(shape):
        return -1
    for at, size in zip(block, shape, strict=True):
        if not 0 <= at < size:
            return -1
        number = number * size + int(at)
    return number


def _base_numbers(special: Any, dtype: np.dtype) -> np.ndarray:
    """Element numbers in units of the buffer's own dtype."""
    if isinstance(special, Packed):
        return special.base.reshape(-1)
    flat = special.flat.reshape(-1)
    if special.cast is None or special.cast.itemsize == dtype.itemsize:
        return flat
    first = flat * special.cast.itemsize // dtype.itemsize
    last = (flat + 1) * special.cast.itemsize - 1
    span = int((last // dtype.itemsize - first).max(initial=0)) + 1
    return np.unique(first[:, None] + np.arange(span))


def _linear(axes: Any, device: Any) -> int:
    number = 0
    for name, size in axes.items():
        number = number * size + device.get(name, 0)
    return number


__all__ = ["Step", "Target", "Window"]
