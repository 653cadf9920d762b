"""The side tables as people read them: launches, threads, buffers with names and places.

Each entry is a view that joins a schema row with what the rest of the trace knows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.trace import dtypes, schema

Coordinates = tuple[int, ...]
LIFETIME = (schema.Kind.ALLOC, schema.Kind.FREE)
WORKERS = frozenset({"launch", "core", "warpgroup", "block", "warp"})


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordedLaunch:
    """One kernel launch of a trace.

    Attributes:
      number: Row of the launches table.
      kernel: What was run. Loaded from a file it has no callables.
      grid: Concrete grid sizes.
      chip: The chip that was pretended.
      axes, device: The enclosing mesh axes, and its place among them if it has one.
      scalars: Values of the scalar-prefetch arguments by name.
      outcome: How it ended.
      first_event, last_event: Its events are `first_event … last_event - 1`.
      steps: Instructions executed.
      arguments, outputs: Numbers of its argument and result buffers.
      source: The `ir.Launch`, to run it again; None when loaded from a file.
    """

    number: int
    kernel: ir.Kernel
    grid: tuple[int, ...]
    outcome: schema.Outcome
    first_event: int
    last_event: int
    chip: str = ""
    axes: Mapping[str, int] = field(default_factory=dict)
    device: Mapping[str, int] = field(default_factory=dict)
    scalars: Mapping[str, np.ndarray] = field(default_factory=dict)
    steps: int = 0
    arguments: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    source: ir.Launch | None = None

    @property
    def name(self) -> str:
        """Name of the user's function."""
        return self.kernel.name

    @property
    def backend(self) -> str:
        """`mosaic_gpu`, `tpu`, `triton` or `generic`."""
        return self.kernel.backend

    @property
    def cluster(self) -> tuple[int, ...]:
        """Cluster sizes, empty without clusters."""
        return self.kernel.grid.cluster

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.kernel.grid.threads

    @property
    def events(self) -> range:
        """Its event numbers."""
        return range(self.first_event, self.last_event)

    @property
    def loc(self) -> ir.Loc | None:
        """Where the kernel is."""
        return self.kernel.locs[self.kernel.loc] if self.kernel.loc >= 0 else None

    @property
    def mesh(self) -> tuple[int, ...]:
        """Sizes of the device axes that it ran on together; empty for one device."""
        return ir.mesh_of(self.axes, self.device)

    @property
    def block_shape(self) -> tuple[int, ...]:
        """Sizes of what linear block numbers count: devices together, grid, cluster."""
        return (*self.mesh, *self.grid, *self.cluster)

    @property
    def blocks(self) -> int:
        """How many blocks the launch has."""
        return math.prod(self.block_shape)

    def coordinates(self, block: int) -> Coordinates | None:
        """Grid coordinates of a linear block number, None for -1."""
        if not 0 <= block < self.blocks:
            return None
        found: list[int] = []
        for size in reversed(self.block_shape):
            block, place = divmod(block, size)
            found.append(place)
        return tuple(reversed(found))

    def linear(self, coordinates: Coordinates) -> int:
        """Linear block number of grid coordinates, -1 if there is no such block."""
        shape = self.block_shape
        if len(coordinates) != len(shape):
            return -1
        number = 0
        for i, size in zip(coordinates, shape, strict=True):
            if not 0 <= i < size:
                return -1
            number = number * size + i
        return number

    def __repr__(self) -> str:
        return (
            f"<launch {self.number} of {self.name}: {self.backend}, grid {self.grid}, "
            f"{len(self.events):,} events, {self.outcome.kind}>"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordedThread:
    """One thread of a trace: anything with a program counter.

    `row` has its numbers; `block` its grid coordinates, `launch` where it ran.
    """

    number: int
    row: schema.ThreadRow
    launch: RecordedLaunch
    block: Coordinates | None

    @property
    def kind(self) -> str:
        """E.g. `core`, `warpgroup`, `tma`; see `schema.ThreadRow`."""
        return self.row.kind

    @property
    def parent(self) -> int:
        """Number of the thread that spawned it, -1 for the first."""
        return self.row.parent

    @property
    def is_agent(self) -> bool:
        """Whether it is an asynchronous operation and not a part of the program."""
        return self.row.kind not in WORKERS

    @property
    def name(self) -> str:
        """E.g. `warpgroup 1 of block (0, 3)`."""
        where = _place(self.block, self.launch)
        if self.kind == "launch":
            text = f"launch {self.row.launch}"
        elif self.kind == "block":
            text = where or f"block {self.row.index}"
        else:
            index = self.row.index if self.row.index >= 0 else self.number
            text = " of ".join(filter(None, (f"{self.kind} {index}", where)))
        return on_device(text, self.row.device, self.launch)

    def __repr__(self) -> str:
        return f"<thread {self.number}: {self.name}>"


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordedBuffer:
    """One instance of a declared buffer.

    Attributes:
      number: Row of the buffers table.
      row: Its facts.
      launch: Where it lived.
      block: Grid coordinates of the block it belongs to, None if to the launch.
      owner: The same in words.
      alloc, free: Its first and last event, -1 if it was there before or stayed.
      loc: Where it is declared, if known.
    """

    number: int
    row: schema.BufferRow
    launch: RecordedLaunch
    block: Coordinates | None
    owner: str
    alloc: int
    free: int
    loc: ir.Loc | None

    @property
    def name(self) -> str:
        """The parameter's name in the user's kernel."""
        return self.row.name

    @property
    def space(self) -> str:
        """Memory space, e.g. `smem`."""
        return self.row.space

    @property
    def shape(self) -> tuple[int, ...]:
        """Logical shape."""
        return self.row.shape

    @property
    def dtype(self) -> str:
        """Name of its dtype."""
        return self.row.dtype

    @property
    def role(self) -> str:
        """`scalar`, `input`, `output`, `scratch`, `window` or `sync`."""
        return self.row.role

    @property
    def scope(self) -> str:
        """`launch`, `block` or `thread`: who owns an instance."""
        return self.row.scope

    @property
    def nbytes(self) -> int:
        """Bytes on the device, small types packed."""
        return dtypes.size_bytes(self.dtype, self.shape)

    @property
    def is_sync(self) -> bool:
        """Whether it is a barrier or a semaphore."""
        return dtypes.is_sync(self.dtype)

    def __repr__(self) -> str:
        shape = ", ".join(map(str, self.shape))
        return (
            f"<buffer {self.number} {self.name}: {self.dtype}[{shape}] in {self.space}, "
            f"{self.nbytes:,} bytes of {self.owner}>"
        )


def threads_table(trace: Any) -> tuple[RecordedThread, ...]:
    """The threads of a trace with names."""
    return tuple(
        RecordedThread(
            number=number,
            row=row,
            launch=(launch := trace.launches[row.launch]),
            block=launch.coordinates(row.block),
        )
        for number, row in enumerate(trace.thread_rows)
    )


def buffers_table(trace: Any) -> tuple[RecordedBuffer, ...]:
    """The buffers of a trace with owners and lifetimes."""
    alloc, free = (_events_of(trace, kind) for kind in LIFETIME)
    return tuple(
        RecordedBuffer(
            number=number,
            row=row,
            launch=(launch := trace.launches[row.launch]),
            block=launch.coordinates(row.block),
            owner=_owner(row, launch, trace),
            alloc=int(alloc[number]),
            free=int(free[number]),
            loc=launch.kernel.locs[row.loc] if row.loc >= 0 else None,
        )
        for number, row in enumerate(trace.buffer_rows)
    )


def _events_of(trace: Any, kind: schema.Kind) -> np.ndarray:
    """For each buffer its event of a kind, or -1."""
    found = np.full(len(trace.buffer_rows), -1, np.int64)
    events = np.flatnonzero(trace.columns.kind == kind)
    found[trace.columns.object[events]] = events
    return found


def _owner(row: schema.BufferRow, launch: RecordedLaunch, trace: Any) -> str:
    if row.scope == "thread" and row.thread >= 0:
        return trace.threads[row.thread].name
    text = _place(launch.coordinates(row.block), launch) or "the launch"
    return on_device(text, row.device, launch)


def _place(block: Coordinates | None, launch: RecordedLaunch) -> str:
    """A block as its own device counts it, empty where there is nothing to count."""
    own = None if block is None else block[len(launch.mesh) :]
    return "" if own is None or (launch.mesh and not own) else f"block {own}"


def on_device(text: str, device: int, launch: RecordedLaunch) -> str:
    """`text`, and on which device where there are several."""
    devices = math.prod(launch.axes.values())
    return f"{text} on device {device}" if devices > 1 and device >= 0 else text
