"""How a launch begins: its arguments, and one cluster of blocks after another."""

from __future__ import annotations

import math

import numpy as np

from pallas_debug import ir
from pallas_debug.ir import chips
from pallas_debug.machine import state as states
from pallas_debug.machine.memory import Memory, dtype_of, filled
from pallas_debug.machine.step import Step
from pallas_debug.trace.schema import BufferRow, Kind
from pallas_debug.trace.writer import LaunchRecord

SEQUENTIAL = ("tpu", "generic")
KINDS = {"mosaic_gpu": "warpgroup", "triton": "block"}


def arguments(m: Step, record: LaunchRecord) -> tuple[int, ...]:
    """Creates the root thread and the argument buffers; gives the outputs' numbers."""
    kernel = m.kernel
    m.root = _row(m, "launch", -1, -1, -1, -1)
    m.tid, m.pc, m.base = m.root, kernel.entry, -kernel.entry
    sources = kernel.num_scalars + kernel.num_inputs
    given, outputs = list[int](), list[int]()
    devices = devices_of(m.launch) if m.launch.mesh else (m.device,)
    for place, device in enumerate(devices):
        m.device = device
        numbers = _of_device(m, m.launch.arguments[place * sources :])
        given += numbers[:sources]
        outputs += numbers[sources:]
        m.arguments += tuple(numbers)
    record.arguments = tuple(given)
    return tuple(outputs)


def devices_of(launch: ir.Launch) -> range:
    """Numbers of the devices that a launch runs on together."""
    return range(math.prod(launch.mesh))


def _of_device(m: Step, values: tuple[np.ndarray, ...]) -> list[int]:
    """The argument buffers of one device."""
    kernel, writer = m.kernel, m.writer
    numbers: list[int] = []
    sources = kernel.num_scalars + kernel.num_inputs
    aliased = {output: source for source, output in kernel.aliases}
    for position, decl in enumerate(kernel.buffers):
        output = position - sources
        alias = numbers[aliased[output]] if output in aliased else -1
        if position < sources:
            value = np.asarray(values[position], order="C")
            initial = writer.payload(value)
            # The caller's array stays as it is; a first write copies (Step.write).
            data = value.copy() if position in aliased.values() else value.view()
            data.flags.writeable = position in aliased.values()
        elif alias >= 0:
            data, initial = m.state.memory[alias].data, -1
        else:
            dtype = dtype_of(decl.dtype)
            data, initial = filled(decl.shape, dtype, m.fill(dtype)), -1
        numbers.append(_argument(m, decl, position, data, alias, initial))
    return numbers


def _argument(
    m: Step,
    decl: ir.Buffer,
    position: int,
    data: np.ndarray,
    alias: int,
    initial: int,
) -> int:
    kernel = m.kernel
    role = "output"
    if position < kernel.num_scalars + kernel.num_inputs:
        role = "scalar" if position < kernel.num_scalars else "input"
    number = m.writer.buffer(
        BufferRow(
            name=decl.name,
            space=decl.space,
            shape=decl.shape,
            dtype=decl.dtype,
            scope="launch",
            role=role,
            thread=-1,
            block=-1,
            device=m.device,
            launch=m.launch_number,
            alias=alias,
            initial=initial,
            loc=decl.loc,
        )
    )
    m.state.memory[number] = Memory(number, data, decl, pinned=True)
    if decl.is_sync:
        count = int(np.prod(decl.shape)) if decl.shape else 1
        m.state.semaphores[number] = states.Semaphores(count)
    m.emit(Kind.ALLOC, number, aux=min(data.nbytes, 2**31 - 1))
    return number


def cluster(m: Step) -> bool:
    """Starts the next cluster (or the core) of each device; False if none is left.

    On a mesh those that start together are one cluster: they reach each other's memory.
    """
    state, devices = m.state, devices_of(m.launch)
    if m.kernel.backend in SEQUENTIAL and not m.kernel.facts.get("cores"):
        if state.next_cluster > 0:
            return False
        state.next_cluster = 1
        number = 0 if m.launch.mesh else -1
        blocks = tuple(_core(m, number, device) for device in devices)
    else:
        number, size = claim(m), math.prod(m.kernel.grid.cluster)
        if number < 0:
            return False
        blocks = tuple(
            _block(m, number, rank, device)
            for device in devices
            if _is_chosen(m, number, device)
            for rank in range(size)
        )
    if len(blocks) > 1 or m.launch.mesh:
        state.clusters[number] = blocks
    return True


def _core(m: Step, number: int, device: int) -> states.Block:
    """A core that walks the grid."""
    block = states.Block(-1, number, places(m, device), _device(m, device))
    _thread(m, block, "core", 0)
    return block


def _device(m: Step, place: int) -> int:
    """A device's number, from its place among those of the launch."""
    return place if m.launch.mesh else m.device


def places(m: Step, device: int) -> dict[str, int]:
    """Where a device is on every axis of the mesh."""
    launch = m.launch
    if not launch.mesh:
        return dict(launch.device)
    return dict(zip(launch.axes, unravel(device, launch.mesh), strict=True))


def claim(m: Step, *, queued: bool = False) -> int:
    """Takes a cluster that has not begun, -1 if there is none left.

    As many as the chip has room for begin without asking; `queued` takes one of those
    that would wait for a free place.
    """
    state, size = m.state, math.prod(m.kernel.grid.cluster)
    total = math.prod(m.launch.grid)
    if m.room < 0:
        m.room = min(total, max(_cores(m) // size, 1))
    room = m.room
    while True:
        if state.next_cluster < room and not queued:
            number = state.next_cluster
            state.next_cluster += 1
        elif room + state.dequeued < total:
            number = room + state.dequeued
            state.dequeued += 1
        else:
            return -1
        if m.chosen is None or any(
            _is_chosen(m, number, device) for device in devices_of(m.launch)
        ):
            return number


def _is_chosen(m: Step, cluster_number: int, device: int) -> bool:
    """Whether any block of a device's cluster was asked for."""
    if m.chosen is None:
        return True
    size = math.prod(m.kernel.grid.cluster)
    first = (device * math.prod(m.launch.grid) + cluster_number) * size
    return any(first + rank in m.chosen for rank in range(size))


def _cores(m: Step) -> int:
    """Cores of the pretended chip."""
    if m.options.cores:
        return m.options.cores
    return chips.chip(m.launch.chip).core_count if m.launch.chip else 1


def _block(m: Step, cluster_number: int, rank: int, device: int) -> states.Block:
    grid = m.kernel.grid
    ids = {**places(m, device), **coordinates(m, cluster_number, rank)}
    size = math.prod(grid.cluster)
    linear = (device * math.prod(m.launch.grid) + cluster_number) * size + rank
    number = cluster_number if grid.cluster or m.launch.mesh else -1
    block = states.Block(linear, number, ids, _device(m, device))
    kind = KINDS.get(m.kernel.backend, "core")
    for index in range(grid.threads):
        _thread(m, block, kind, index)
    return block


def coordinates(m: Step, cluster_number: int, rank: int) -> dict[str, int]:
    """Where a block is on every axis of the grid, also by position as `#0`, `#1`, …."""
    grid = m.kernel.grid
    ids: dict[str, int] = {}
    point = unravel(cluster_number, m.launch.grid)
    for axis, coordinate in enumerate(point):
        ids[f"#{axis}"] = coordinate
        if axis < len(grid.names):
            ids[grid.names[axis]] = coordinate
    for axis, coordinate in enumerate(unravel(rank, grid.cluster)):
        ids[grid.cluster_names[axis]] = coordinate
    return ids


def registers(m: Step, place: int = 0) -> list:
    """What a block's own threads begin with: references to its device's arguments."""
    kernel = m.kernel
    found: list = [None] * kernel.registers
    count = len(kernel.arguments)
    mine = m.arguments[place * count : (place + 1) * count]
    for register, buffer in zip(kernel.arguments, mine, strict=True):
        found[register] = buffer
    return found


def _thread(m: Step, block: states.Block, kind: str, index: int) -> None:
    kernel = m.kernel
    m.tid, m.bid, m.pc = m.root, -1, kernel.entry
    m.base, m.device = m.state.step - m.pc, block.device
    number = _row(m, kind, m.root, block.cluster, block.linear, index)
    mine = registers(m, block.device if m.launch.mesh else 0)
    thread = states.Thread(number, kernel.entry, mine, block)
    thread.notes["index"] = index
    m.state.threads[number] = thread
    m.state.ready.append(number)
    block.live += 1
    m.emit(Kind.SPAWN, number)


def _row(m: Step, kind: str, parent: int, cluster: int, block: int, index: int) -> int:
    """Adds a thread that no instruction spawned."""
    return m.writer.thread(
        (kind, parent, m.device, cluster, block, index, m.launch_number, -1)
    )


def unravel(number: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Coordinates of a linear index, the last axis fastest."""
    point: list[int] = []
    for size in reversed(shape):
        point.append(number % size)
        number //= size
    return tuple(reversed(point))


def progress(m: Step) -> tuple[int, int]:
    """Grid points begun, and all."""
    total = math.prod(m.launch.grid) if m.launch.grid else 1
    begun = (
        m.point
        if m.kernel.backend in SEQUENTIAL
        else m.state.next_cluster + m.state.dequeued
    )
    return begun, total
