"""Devices of a mesh: who they are, and the same buffer on another of them.

All devices run the same tape. Arguments correspond by their position, allocations by
their instruction and occurrence on the core of the same number, windows by the operand.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from pallas_debug import ir
from pallas_debug.errors import UnsupportedForm
from pallas_debug.machine import peers
from pallas_debug.machine.places import Target
from pallas_debug.machine.state import Block


def number(m: Any, axes: Sequence[Any], ids: Sequence[Any], op: str) -> int:
    """The device with these coordinates; its other ones are this device's own.

    An axis is a name, a position as `#0`, several names whose product is counted, or
    `logical`: all axes of the mesh. Along what is no axis of it there is one place, as
    for the core of a device that has one.
    """
    sizes = m.launch.axes
    place = dict(own_place(m))
    for axis, value in zip(axes, map(int, ids), strict=True):
        parts = _parts(axis, tuple(sizes))
        extent = math.prod(sizes.get(name, 1) for name in parts)
        if not 0 <= value < extent:
            raise _nowhere(m, op, axis, value, extent)
        for name in reversed(parts):
            value, place[name] = divmod(value, sizes.get(name, 1))
    linear = 0
    for name, size in sizes.items():
        linear = linear * size + place[name]
    return linear


def own_place(m: Any) -> dict[str, int]:
    """This device's coordinates, in the order of the mesh's axes."""
    ids = m.thread.block.ids
    return {name: ids.get(name, 0) for name in m.launch.axes}


def _parts(axis: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    if axis == "logical":
        return names
    if isinstance(axis, tuple):
        return axis
    if axis.startswith("#"):
        return names[int(axis[1:]) :][:1]
    return (axis,)


def along(m: Any, axes: Sequence[str]) -> tuple[int, ...]:
    """The devices that differ from this one along `axes` at most, in order."""
    found: list[int] = [0]
    for name, own in own_place(m).items():
        size = m.launch.axes[name]
        steps = range(size) if name in axes else (own,)
        found = [linear * size + step for linear in found for step in steps]
    return tuple(found)


def targets(m: Any, target: Target, axes: Sequence[str]) -> list[Target]:
    """The same target on each device along the axes."""
    ref, plan, dyn = target
    op = m.kernel.tape[m.pc].op
    return [(buffer(m, ref, device, op), plan, dyn) for device in along(m, axes)]


def reach(
    m: Any, ref: int, axes: tuple[Any, ...], ids: Sequence[Any], op: str = ""
) -> int:
    """The buffer as the device with these coordinates has it, or a core of it."""
    op = op or m.kernel.tape[m.pc].op
    names = m.kernel.grid.cluster_names
    wanted = dict(zip(axes, ids, strict=True))
    cores = {axis: int(i) for axis, i in wanted.items() if axis in names}
    rest = {axis: i for axis, i in wanted.items() if axis not in cores}
    device = number(m, tuple(rest), tuple(rest.values()), op)
    found = buffer(m, ref, device, op)
    if not cores:
        return found
    own = m.thread.block
    place = own.ids | cores
    for here, there in itertools.product(m.kin(own), repeat=2):
        same = all(here.ids[name] == own.ids[name] for name in names)
        if (
            here.device == there.device == device
            and same
            and all(there.ids[name] == place[name] for name in names)
        ):
            return peers.peer(m, found, there, here)
    raise _missing(m, op, ref, device)


def buffer(m: Any, ref: int, device: int, op: str) -> int:
    """The buffer of another device that corresponds to one of this device."""
    if device == m.device:
        return ref
    if not m.launch.mesh:
        raise elsewhere(m, op, device)
    found = _argument(m, ref, device)
    if found < 0:
        found = _common(m, ref, device)
    if found < 0:
        found = _scratch(m, ref, device)
    if found < 0:
        found = _window(m, ref, device)
    if found < 0:
        raise _missing(m, op, ref, device)
    return found


def _argument(m: Any, ref: int, device: int) -> int:
    if ref not in m.arguments:
        return -1
    count = len(m.arguments) // math.prod(m.launch.mesh)
    return m.arguments[m.arguments.index(ref) % count + device * count]


def _common(m: Any, ref: int, device: int) -> int:
    """What all blocks of a device share."""
    for (owner, key), held in m.state.shared.items():
        if held == ref and owner == m.device:
            return common(m, m.memory(ref).decl, key, device)
    return -1


def common(m: Any, decl: ir.Buffer, key: Any, device: int) -> int:
    """The buffer that all blocks of a device share; the first to ask allocates."""
    found = m.state.shared.get((device, key))
    if found is None:
        own, m.device = m.device, device
        found = m.state.shared[device, key] = m.alloc(decl)
        m.device = own
    return found


def _scratch(m: Any, ref: int, device: int) -> int:
    for block, there in _counterparts(m, device):
        for key, (numbers, users, decls) in reversed(block.shared.items()):
            if ref in numbers:
                entry = peers.shared(m, there, key, decls, max(users, 1))
                return entry[0][numbers.index(ref)]
    return -1


def _window(m: Any, ref: int, device: int) -> int:
    """A block of an operand, where the other device holds one of it now."""
    for block, there in _counterparts(m, device):
        for key, held in _notes(m, block):
            if isinstance(key, tuple) and key[0] == "window" and held.window == ref:
                for other, found in _notes(m, there):
                    if other == key:
                        return found.window
    return -1


def _counterparts(m: Any, device: int) -> list[tuple[Block, Block]]:
    """This device's blocks that run together, each with the one over there."""
    kin = m.kin(m.thread.block)
    there = [block for block in kin if block.device == device]
    return list(zip(m.cluster(m.thread.block), there, strict=False))


def _notes(m: Any, block: Block) -> list[tuple[Any, Any]]:
    threads = [t for t in m.state.threads.values() if t.block is block]
    return [note for thread in threads for note in thread.notes.items()]


def elsewhere(m: Any, op: str, there: int) -> UnsupportedForm:
    """The error of an op that reaches for another device of a launch on one."""
    return UnsupportedForm(
        op=op,
        form=f"device {there} from device {m.device}: the launch is on one device",
        way="record the kernel inside a `shard_map` whose devices all launch it, or run "
        "it in pltpu.InterpretParams() or plgpu.InterpretGPUParams()",
        loc=m.kernel.loc_of(m.pc),
    )


def _nowhere(m: Any, op: str, axis: Any, value: int, extent: int) -> UnsupportedForm:
    along = "" if axis == "logical" else f" along `{axis}`"
    if extent == 1 and not m.launch.mesh:
        return elsewhere(m, op, value)
    return UnsupportedForm(
        op=op,
        form=f"device {value}{along}, of {extent}",
        way=f"keep the device's id below {extent}, as `lax.rem(i + 1, {extent})` does",
        loc=m.kernel.loc_of(m.pc),
    )


def _missing(m: Any, op: str, ref: int, device: int) -> UnsupportedForm:
    return UnsupportedForm(
        op=op,
        form=f"`{m.memory(ref).decl.name}` of device {device}, which it has not now: "
        "it has not come there yet, has left it, or shares it with no other device",
        way="let the devices wait for each other first: a signal to "
        "`pltpu.get_barrier_semaphore()` of each neighbor, and a wait",
        loc=m.kernel.loc_of(m.pc),
    )
