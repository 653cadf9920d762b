"""The contract of a trace: what each column and each kind of event means.

The machine writes rows of this shape, the file carries them, checks and views read
them. A change here is a change of the file format.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

FORMAT = 1


class Kind(IntEnum):
    """Kinds of events. Numbers are part of the file format and never reused."""

    ALLOC = 1
    FREE = 2
    READ = 3
    WRITE = 4
    UPDATE = 5
    SPAWN = 6
    END = 7
    ARRIVE = 8
    PHASE = 9
    WAIT = 10
    BLOCK = 11
    SIGNAL = 12
    FENCE = 13
    COMMIT = 14
    JOIN = 15
    GRID = 16
    PRINT = 17
    ASSERT = 18
    STUB = 19
    PAD = 20
    LAND = 21


KIND_MEANINGS: dict[Kind, str] = {
    Kind.ALLOC: "`object` (a buffer) comes to life, uninitialized; aux = bytes",
    Kind.FREE: "`object` (a buffer) ends",
    Kind.READ: "`region` of `object` is read",
    Kind.WRITE: "`region` of `object` is written",
    Kind.UPDATE: "`region` of `object` is read, changed and written atomically",
    Kind.SPAWN: "`object` (a thread) is started by this thread",
    Kind.END: "this thread ends",
    Kind.ARRIVE: "one arrival at `region` of barrier `object`; aux = phases completed "
    "before it",
    Kind.PHASE: "barrier `object` completes a phase; aux = phases completed now",
    Kind.WAIT: "a wait on `object` is over; aux = phase observed (barriers, counted "
    "from 1) or units taken (semaphores)",
    Kind.BLOCK: "the thread sleeps: its next instruction waits for `object`; aux = "
    "phase or units needed, or the agent thread for joins (object -1)",
    Kind.SIGNAL: "semaphore `object` is increased by aux",
    Kind.FENCE: "aux = 0: SMEM stores before it become visible to the asynchronous "
    "proxy; 1: TMEM stores before it are complete; 2: TMEM loads before it are",
    Kind.COMMIT: "asynchronous operations so far form group aux of this thread",
    Kind.JOIN: "`object` (an agent thread) is known to have finished; aux = 1 when "
    "only its reads are",
    Kind.GRID: "the thread enters grid point `block`; aux = linear grid index",
    Kind.PRINT: "debug_print; aux = index into the texts",
    Kind.ASSERT: "debug_check; aux = 1 if it held, -1 - index into the texts if it "
    "failed with that message, 0 if it failed without one",
    Kind.STUB: "an unsupported op was skipped, its results are unset",
    Kind.PAD: "`region` of `object` lies past the end of its array: padding, unset",
    Kind.LAND: "a block's part of a copy for several blocks has come in at `region` of "
    "barrier `object`: no arrival, but what a wait for the phase comes after; aux = "
    "phases completed before it",
}


def text_of(kind: np.ndarray, aux: np.ndarray) -> np.ndarray:
    """Which of the texts each event names, -1 if none."""
    failed = np.where((kind == Kind.ASSERT) & (aux < 0), -1 - aux, -1)
    return np.where(kind == Kind.PRINT, aux, failed)


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, dtype in memory, and what it means."""

    name: str
    dtype: str
    meaning: str


COLUMNS: tuple[Column, ...] = (
    Column("kind", "u1", "kind of event, see Kind"),
    Column("thread", "u4", "row of the threads table"),
    Column("block", "i4", "linear grid index of the block, -1 outside any"),
    Column("step", "u4", "instructions executed before this one in its launch"),
    Column("instr", "u4", "position on the tape of the launch's kernel"),
    Column("object", "i4", "buffer or thread by kind, -1 if none"),
    Column("region", "i4", "row of the regions table, -1 if none"),
    Column("aux", "i4", "number by kind"),
    Column("payload", "i4", "row of the payloads table, -1 if no value was recorded"),
)

ROW = struct.Struct("=9i")
ROW_BYTES = ROW.size

# Derived when a trace is closed, never written by the machine.
DERIVED: tuple[Column, ...] = (
    Column("clock", "u4", "the thread's own tick: its events before this one"),
    Column("launch", "u2", "row of the launches table"),
)


class RegionKind(IntEnum):
    """How a region's integers are to be read."""

    BOX = 0
    MASKED = 1
    ELEMENTS = 2


REGION_MEANINGS: dict[RegionKind, str] = {
    RegionKind.BOX: "start, size, stride for each dimension of the buffer, as requested"
    " (a start may be negative or past the end; the effective region is the part"
    " inside the buffer)",
    RegionKind.MASKED: "a box, then the payload that holds a bool array of the box's"
    " shape: only true elements are touched",
    RegionKind.ELEMENTS: "the payload that holds flat element numbers (int64) in the"
    " order of the value; a number outside 0 … size-1 is out of bounds",
}


class ThreadRow(NamedTuple):
    """A row of the threads table.

    Attributes:
      kind: `core`, `warpgroup`, `block` (a Triton program), `warp`, `tma`, `dma`,
        `wgmma`, `tcgen05`, `agent`.
      parent: Thread that spawned it, -1 for the first.
      device: Linear device number.
      cluster: Linear cluster index, -1 if none; the same on each device of a mesh
        where they run together.
      block: Linear grid index, -1 where it changes over time (a core).
      index: Number among the threads of its block (warpgroup), -1 for agents.
      launch: Row of the launches table.
      instr: Instruction that spawned it, -1 for the first threads.
    """

    kind: str
    parent: int
    device: int
    cluster: int
    block: int
    index: int  # pyright: ignore[reportIncompatibleMethodOverride]
    launch: int
    instr: int


class BufferRow(NamedTuple):
    """A row of the buffers table: one instance of a declared buffer.

    Attributes:
      name, space, shape, dtype, scope: As declared (`ir.Buffer`).
      role: `scalar | input | output | scratch | window | sync`.
      thread: Thread that allocated it, -1 for arguments.
      block: Its block's linear grid index, -1 if it belongs to the launch or a core.
      device: Linear device number.
      launch: Row of the launches table.
      alias: Buffer with the same memory (aliased input), -1 if none.
      initial: Payload with the contents at the start, -1 if uninitialized.
      arrivals: Arrivals that complete a phase (barriers), 0 otherwise.
      loc: Index into the kernel's locs, -1 if unknown.
    """

    name: str
    space: str
    shape: tuple[int, ...]
    dtype: str
    scope: str
    role: str
    thread: int
    block: int
    device: int
    launch: int
    alias: int = -1
    initial: int = -1
    arrivals: int = 0
    loc: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a launch ended.

    `kind` is `finished | deadlock | truncated | interrupted | unsupported | skipped`
    (`skipped`: seen but never run, e.g. only lowered), or `running` in a trace that is
    cut inside the launch (`trace[:n]`). `message` says why in one line; `waiting` lists
    `(thread, instr, object, region, needed)` of the threads that still waited: the
    fourth is the element of the barrier or semaphore, or, where the object is -1, the
    agent that is waited for.
    """

    kind: str
    message: str = ""
    waiting: tuple[tuple[int, int, int, int, int], ...] = ()

    @property
    def is_cut(self) -> bool:
        """Whether the recording ended before the launch did."""
        return self.kind in ("truncated", "interrupted")
