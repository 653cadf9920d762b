"""Matrix units: products in threads of their own, in the order they were started."""

from __future__ import annotations

from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.machine import peers
from pallas_debug.machine.rules import gpu_scales
from pallas_debug.machine.rules.gpu_copies import starts
from pallas_debug.machine.rules.pallas_semaphores import element
from pallas_debug.machine.rules.registry import rule
from pallas_debug.machine.step import Step, Target


def product(a: Any, b: Any, dtype: np.dtype) -> Any:
    """`a @ b` in the type that the unit adds up in."""
    if dtype.kind in "iu":
        wide = a.astype(np.float64) @ b.astype(np.float64)  # exact below 2**53
        return wide.astype(np.int64).astype(dtype)
    wide = np.float64 if dtype == np.float64 else np.float32
    return a.astype(wide) @ b.astype(wide)


def added(acc: Any, more: Any) -> Any:
    """`acc + more` in the accumulator's dtype, rounded once."""
    return (acc.astype(more.dtype) + more).astype(acc.dtype)


@rule("gpu.mma")
def mma(m: Step, acc: Any, a: Any, b: Any) -> Any:
    return added(acc, product(a, b, acc.dtype))


@rule("gpu.wgmma", waits=True, wants_instr=True)
def wgmma(m: Step, instr: ir.Instr, *values: Any, extra: int) -> bool:
    """Starts a product, a group of its own; the ones before it are over by then.

    JAX promises that (docs/pallas/gpu/reference.md, "Hopper (wgmma)"), and kernels that
    it ships rely on it, though its lowering has no wait there.
    """
    if not m.join("wgmma", 0):
        return False
    notes = m.thread.notes
    held = [*values, notes.get("wgmma", -1), *[None] * (extra - 1)]
    notes["wgmma"] = m.spawn("wgmma", instr.targets[0], held, "wgmma")
    m.commit("wgmma")
    return True


@rule("gpu.await_previous", waits=True)
def await_previous(m: Step, number: int) -> bool:
    """The unit takes one operation after the other."""
    return number < 0 or m.await_agent(number)


@rule("gpu.wgmma_multiply")
def wgmma_multiply(m: Step, acc: Target, *sides: Any, left_is_value: bool) -> None:
    """References come first: a left operand in registers comes after the right one."""
    if left_is_value:
        b, a = m.read(sides[0]), sides[1]
    else:
        a, b = m.read(sides[0]), m.read(sides[1])
    old = m.read(acc)
    m.write(acc, added(old, product(a, b, old.dtype)))


@rule("gpu.wgmma_wait", waits=True)
def wgmma_wait(m: Step, pending: Any) -> bool:
    return m.join("wgmma", int(pending))


@rule("gpu.tcgen05_mma", wants_instr=True)
def tcgen05_mma(m: Step, instr: ir.Instr, *values: Any, **params: Any) -> None:
    issue(m, instr, values, **params)


@rule("gpu.tcgen05_commit_arrive", wants_instr=True)
def tcgen05_commit_arrive(
    m: Step, instr: ir.Instr, *values: Any, **params: Any
) -> None:
    issue(m, instr, values, **params)


@rule("gpu.tcgen05_copy_start", wants_instr=True)
def tcgen05_copy_start(m: Step, instr: ir.Instr, *values: Any, **params: Any) -> None:
    issue(m, instr, values, **params)


def issue(
    m: Step,
    instr: ir.Instr,
    values: tuple,
    *,
    extra: int,
    axes: tuple[str, ...],
    predicate: Any,
) -> None:
    """Starts an operation of the unit; for two blocks, the first one does."""
    if not starts(predicate, values) or (axes and peers.rank(m, axes) > 0):
        return
    own = m.thread.notes.get("warp")
    notes = m.thread.notes if own is None else m.state.threads[own[0]].notes
    key = ("tcgen05", -1 if own is None else own[1])
    held = [*values, notes.get(key, -1), *[None] * (extra - 1)]
    notes[key] = m.spawn("tcgen05", instr.targets[0], held)


@rule("gpu.tcgen05_multiply")
def tcgen05_multiply(
    m: Step,
    acc: Target,
    a: Target,
    b: Target,
    *more: Any,
    axes: tuple[str, ...],
    scaled: bool,
    sparse: bool,
) -> None:
    """Each block has its rows of `acc` and `a`, and its columns of `b`."""
    blocks = peers.group(m, axes) if axes else (m.thread.block,)
    *extras, accumulate = more
    dtype = m.memory(acc[0]).data.dtype if _cast(acc) is None else np.dtype(_cast(acc))
    right = [m.read(_of(m, b, block)) for block in blocks]
    if scaled:
        right = gpu_scales.scale_right(m, right, extras[1], blocks)
    right = np.concatenate(right, axis=1) if len(right) > 1 else right[0]
    for block in blocks:
        left, columns = m.read(_of(m, a, block)), right
        if sparse:
            left = gpu_scales.spread(m, left, _of(m, extras[-1], block))
        if scaled:
            left = gpu_scales.scale_left(m, left, _of(m, extras[0], block))
        target = _of(m, acc, block)
        value = product(left, columns, dtype)
        if accumulate:
            value = added(m.read(target), value)
        m.write(target, value.astype(dtype))


def _cast(target: Target) -> str | None:
    """The dtype that a view gives to its bytes, None for the buffer's own."""
    found = None
    for step in target[1].steps:
        if isinstance(step, (ir.Alias, ir.Bitcast)):
            found = step.dtype
    return found


def _of(m: Step, target: Target, block: Any) -> Target:
    ref, plan, dyn = target
    return (peers.peer(m, ref, block), plan, dyn)


@rule("gpu.tcgen05_arrive")
def tcgen05_arrive(m: Step, barrier: Target, *, axes: tuple[str, ...]) -> None:
    """Arrives in each block that took part."""
    ref, index = element(m, barrier)
    for block in peers.group(m, axes) if axes else (m.thread.block,):
        m.arrive(peers.peer(m, ref, block), index)


@rule("gpu.tcgen05_copy")
def tcgen05_copy(
    m: Step, source: Target, target: Target, *, axes: tuple[str, ...], what: str
) -> None:
    """Shared to tensor memory, in each block that takes part."""
    for block in peers.group(m, axes) if axes else (m.thread.block,):
        value = m.read(_of(m, source, block))
        place = _of(m, target, block)
        m.write(place, gpu_scales.arranged(value, m.place(place).shape, what))


@rule("gpu.async_load_tmem")
def async_load_tmem(m: Step, ref: Target) -> Any:
    return m.read(ref)


@rule("gpu.async_store_tmem")
def async_store_tmem(m: Step, ref: Target, value: Any) -> None:
    m.write(ref, value)


@rule("gpu.commit_tmem")
def commit_tmem(m: Step) -> None:
    m.fence(1)


@rule("gpu.wait_load_tmem")
def wait_load_tmem(m: Step) -> None:
    m.fence(2)
