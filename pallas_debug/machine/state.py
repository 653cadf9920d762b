"""Everything that changes while a kernel runs; `State.copy()` is a checkpoint.

Threads hold only numbers and immutable values, so copying a state copies the buffers'
contents and small lists, never a call stack.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from pallas_debug.machine.memory import Memory

READY, WAITING, DONE = range(3)


class Thread:
    """A thing with a program counter: a core, a warpgroup, a copy in flight.

    Attributes:
      waits: `(object, index, needed)` while it sleeps, `needed` a phase or units;
        `(-1, agent, 0)` while it waits for an agent.
      agents: Unfinished or unjoined asynchronous operations, oldest first.
      bid: Number of the block for the trace (changes over time for a core).
      groups: Number of commit groups closed so far; `closed` counts each family's.
      counters: How often this thread has executed each scoped allocation.
    """

    __slots__ = (
        "agents",
        "bid",
        "block",
        "closed",
        "counters",
        "groups",
        "notes",
        "number",
        "pc",
        "registers",
        "status",
        "waits",
    )

    def __init__(self, number: int, pc: int, registers: list, block: Block) -> None:
        self.number = number
        self.pc = pc
        self.registers = registers
        self.block = block
        self.bid = block.linear
        self.status = READY
        self.waits: tuple[int, int, int] | None = None
        self.agents: list[Agent] = []
        self.groups = 0
        self.closed: dict[str, int] = {}
        self.counters: dict[int, int] = {}
        self.notes: dict[Any, Any] = {}


class Agent:
    """An asynchronous operation as its issuer remembers it.

    Attributes:
      thread: The agent's thread number.
      family: `tma_store`, `wgmma`, `tma_load`, `dma`, … : what a wait can ask for.
      group: Number among its family's commit groups, -1 while none was closed over it.
      read_done, done: How far it has come.
      read_joined: Whether its issuer has waited for its reads.
    """

    __slots__ = ("done", "family", "group", "read_done", "read_joined", "thread")

    def __init__(self, thread: int, family: str) -> None:
        self.thread = thread
        self.family = family
        self.group = -1
        self.read_done = False
        self.read_joined = False
        self.done = False

    def copy(self) -> Agent:
        twin = Agent(self.thread, self.family)
        twin.group, twin.read_joined = self.group, self.read_joined
        twin.read_done, twin.done = self.read_done, self.done
        return twin


class Block:
    """One grid point while it runs: coordinates and the memory that it shares.

    Attributes:
      linear: Linear grid index (clusters included).
      ids: Coordinate of every named axis, also by position as `#0`, `#1`, ….
      device: Linear number of the device that it runs on.
      shared: `(instr, occurrence, …)` → buffers of an allocation that others may ask
        for, how many threads still use it, and their declarations.
      live: Threads that have not ended.
      zombies: Freed buffers that an agent may still touch.
    """

    __slots__ = ("cluster", "device", "ids", "linear", "live", "shared", "zombies")

    def __init__(
        self, linear: int, cluster: int, ids: dict[str, int], device: int = 0
    ) -> None:
        self.linear = linear
        self.cluster = cluster
        self.ids = ids
        self.device = device
        self.shared: dict[tuple[int, ...], list] = {}
        self.live = 0
        self.zombies: list[int] = []

    def copy(self) -> Block:
        twin = Block(self.linear, self.cluster, self.ids, self.device)
        twin.shared = {key: list(value) for key, value in self.shared.items()}
        twin.live, twin.zombies = self.live, list(self.zombies)
        return twin


class Barriers:
    """The phases of one barrier buffer (an array of barriers).

    Attributes:
      observed: `(thread, index)` → waits of the thread; a warp is
        `(warpgroup, number)`.
      landed: Bytes that came from copies of several blocks, by index.
      expected: Bytes that each open arrival waits for, oldest first, by index.
    """

    __slots__ = (
        "arrivals",
        "completed",
        "expected",
        "landed",
        "observed",
        "pending",
        "waiters",
    )

    def __init__(self, count: int, arrivals: int) -> None:
        self.arrivals = arrivals
        self.pending = [arrivals] * count
        self.completed = [0] * count
        self.observed: dict[tuple[Any, int], int] = {}
        self.landed: dict[int, int] = {}
        self.expected: dict[int, tuple[int, ...]] = {}
        self.waiters: list[int] = []

    def has(self, index: int) -> bool:
        """Whether there is a barrier of this number."""
        return 0 <= index < len(self.pending)

    def copy(self) -> Barriers:
        twin = Barriers(0, self.arrivals)
        twin.pending, twin.completed = list(self.pending), list(self.completed)
        twin.observed, twin.waiters = dict(self.observed), list(self.waiters)
        twin.landed, twin.expected = dict(self.landed), dict(self.expected)
        return twin


class Semaphores:
    """The counts of one semaphore buffer (an array of semaphores)."""

    __slots__ = ("count", "waiters")

    def __init__(self, count: int) -> None:
        self.count = [0] * count
        self.waiters: list[int] = []

    def copy(self) -> Semaphores:
        twin = Semaphores(0)
        twin.count, twin.waiters = list(self.count), list(self.waiters)
        return twin


class State:
    """Memory, synchronization objects, threads, and what has not started yet.

    Attributes:
      ready: Threads that can run and do not, in the order in which they became ready.
      running: The thread whose turn it is, -1 between turns.
      current: The thread that had the last turn.
      step: Instructions executed so far.
      next_cluster, dequeued: Clusters begun so far: of those that the chip has room
        for at the start, and of the others.
      joiners: Threads that sleep until an agent has ended.
      shared: Buffers that all blocks of the launch share, by the rule's key.
      clusters: The blocks of each running cluster of several, by device and rank.
    """

    def __init__(self) -> None:
        self.memory: dict[int, Memory] = {}
        self.barriers: dict[int, Barriers] = {}
        self.semaphores: dict[int, Semaphores] = {}
        self.threads: dict[int, Thread] = {}
        self.ready: deque[int] = deque()
        self.joiners: dict[int, list[int]] = {}
        self.shared: dict[Any, int] = {}
        self.clusters: dict[int, tuple[Block, ...]] = {}
        self.next_cluster = 0
        self.dequeued = 0
        self.step = 0
        self.current = -1
        self.running = -1

    def running_clusters(self) -> int:
        """Clusters with a thread that has not ended."""
        return len({t.block.cluster * (1 << 32) + t.block.linear * (t.block.cluster < 0)
                    for t in self.threads.values()})  # fmt: skip

    def copy(self) -> State:
        """An independent state that runs on exactly as this one."""
        twin = State()
        twin.memory = {n: m.copy() for n, m in self.memory.items()}
        _share_aliases(self.memory, twin.memory)
        twin.barriers = {n: b.copy() for n, b in self.barriers.items()}
        twin.semaphores = {n: s.copy() for n, s in self.semaphores.items()}
        blocks: dict[int, Block] = {}
        agents: dict[int, Agent] = {}
        for number, thread in self.threads.items():
            twin.threads[number] = _copy_thread(thread, blocks, agents)
        for number, members in self.clusters.items():
            twin.clusters[number] = tuple(_copy_block(b, blocks) for b in members)
        twin.ready = deque(self.ready)
        twin.joiners = {n: list(w) for n, w in self.joiners.items()}
        twin.shared = dict(self.shared)
        twin.next_cluster, twin.step = self.next_cluster, self.step
        twin.dequeued = self.dequeued
        twin.current, twin.running = self.current, self.running
        return twin


def _share_aliases(old: dict[int, Memory], new: dict[int, Memory]) -> None:
    """Buffers that shared their array share it in the copy."""
    first: dict[int, int] = {}
    for number, memory in old.items():
        owner = first.setdefault(id(memory.data), number)
        if owner != number:
            new[number].data = new[owner].data


def _copy_thread(
    thread: Thread, blocks: dict[int, Block], agents: dict[int, Agent]
) -> Thread:
    block = _copy_block(thread.block, blocks)
    twin = Thread(thread.number, thread.pc, list(thread.registers), block)
    twin.status, twin.waits, twin.groups = thread.status, thread.waits, thread.groups
    twin.bid = thread.bid
    twin.closed = dict(thread.closed)
    twin.counters, twin.notes = dict(thread.counters), dict(thread.notes)
    for agent in thread.agents:
        copy = agents.get(id(agent))
        if copy is None:
            copy = agents[id(agent)] = agent.copy()
        twin.agents.append(copy)
    return twin


def _copy_block(block: Block, blocks: dict[int, Block]) -> Block:
    twin = blocks.get(id(block))
    if twin is None:
        twin = blocks[id(block)] = block.copy()
    return twin
