"""Equations of the tpu family: copies and their waits, random bits, hints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.jaxlink import refs
from pallas_debug.jaxlink.lowering import Lowering, constant, translate
from pallas_debug.jaxlink.translate.agents import Agent, viewed
from pallas_debug.jaxlink.translate.pallas_semaphores import reached


@translate("tpu.dma_start")
def dma_start(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    """A thread that reads, signals the sender, writes, signals the receiver."""
    source, target, received, sent, device = _copy(eqn, ins, _read_indices(lw))
    target = reached(lw, target, device, eqn.params, "tpu.dma_start")
    if received is not None and device is not None:
        received = reached(lw, received, device, eqn.params, "tpu.dma_start")
    agent = Agent()
    source, target = agent.access(source), agent.access(target)
    received = received and agent.access(received)
    sent = sent and agent.access(sent)

    def routine() -> None:
        value = agent.local()
        lw.emit("tpu.dma_read", outs=[value], accesses=[source])
        if sent is not None:
            lw.emit("tpu.dma_signal", accesses=[sent, source])
        add = {"add": bool(eqn.params["add"])}
        lw.emit("tpu.dma_write", [value], accesses=[target], params=add, sync=True)
        if received is not None:
            lw.emit("tpu.dma_signal", accesses=[received, target])

    params = {"priority": int(eqn.params["priority"])}
    agent.start(lw, "tpu.dma_start", "dma", routine, params)
    return []


@translate("tpu.dma_wait")
def dma_wait(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    """Both sides wait on the third operand: a wait for the sender has them swapped."""
    _, target, semaphore, _, _ = _copy(eqn, ins, _as_many)
    if semaphore is not None:
        lw.emit("tpu.dma_wait", accesses=[semaphore, target], sync=True)
    return []


def _read_indices(lw: Lowering) -> Callable[[Any], refs.Dim]:
    """A SparseCore's copy may take its indices from memory, when it starts."""

    def by_reference(index: Any) -> refs.Dim:
        (value,) = lw.emit("state.get", results=1, accesses=[viewed(index)])
        return ir.Gather(index=value)

    return by_reference


def _as_many(index: Any) -> refs.Dim:
    """For a wait, of which the size counts alone."""
    shape = _shape(index)
    if len(shape) == 1:
        return ir.Slice(start=constant(np.int32(0)), size=shape[0])
    return ir.Gather(index=constant(np.zeros(shape, np.int32)))


def _shape(index: Any) -> tuple[int, ...]:
    transforms = getattr(index, "transforms", ())
    while hasattr(index, "ref"):
        index = index.ref
    return tuple(refs.logical(index.leaf.aval, transforms).shape)


def _copy(
    eqn: Any, ins: Sequence[ir.Operand], by_reference: Callable[[Any], refs.Dim]
) -> tuple[Any, ...]:
    """Source, target, two semaphores (or None), device ids of a copy's operands."""
    avals = [v.aval for v in eqn.invars]
    *references, device = refs.unflatten(eqn.params["tree"], ins, avals)
    views = (None if r is None else viewed(r, by_reference) for r in references)
    return (*views, device)


@translate("tpu.get_barrier_semaphore")
def barrier_semaphore(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    decl = refs.declare(lw, "barrier", eqn.outvars[0].aval, (), "launch")
    key = ("barrier_semaphore", eqn.params.get("tag"))
    return lw.emit("pallas.shared", results=1, params={"decl": decl, "key": key})


@translate("tpu.prng_seed")
def prng_seed(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    lw.emit("tpu.prng_seed", ins)
    return []


@translate("tpu.prng_random_bits")
def prng_random_bits(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    params = {"shape": tuple(int(d) for d in eqn.params["shape"])}
    return lw.emit("tpu.prng_random_bits", results=1, params=params)


@translate("tpu.prng_split")
def prng_split(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    """A key, which is an array of words here, to its words."""
    count = len(eqn.outvars)
    return [lw.compute(f"{{0}}.reshape(-1)[{i}]", ins[0]) for i in range(count)]


@translate("tpu.prng_join")
def prng_join(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    words = ", ".join(f"{{{i}}}" for i in range(len(ins)))
    return [lw.compute(f"np.array([[{words}]], np.uint32)", *ins)]


@translate("tpu.stochastic_round")
def stochastic_round(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    target = np.dtype(eqn.params["target_dtype"])
    if target.name != "bfloat16":
        return lw.unknown("tpu.stochastic_round", [v.aval for v in eqn.outvars], ins)
    return [
        lw.compute("stochastic({0}, {1}, T)", *ins, stochastic=_stochastic, T=target)
    ]


def _stochastic(value: Any, bits: Any, target: np.dtype) -> Any:
    """Adds random bits below the kept mantissa, then cuts them off."""
    words = np.asarray(value).view(np.uint32)
    noisy = (words + (bits & np.uint32(0xFFFF))) & np.uint32(0xFFFF0000)
    keep = ~np.isfinite(value)
    return np.where(keep, value, noisy.view(np.float32)).astype(target)


@translate("tpu.add_dependency", "tpu.trace_value", "pallas.delay")
def nothing(lw: Lowering, eqn: Any, ins: list[ir.Operand]) -> Sequence[ir.Operand]:
    """What only the compiler, the profiler or a clock would notice."""
    return []


@translate("tpu.has_memory_space")
def has_memory_space(
    lw: Lowering, eqn: Any, ins: list[ir.Operand]
) -> Sequence[ir.Operand]:
    """What is `ANY` lies in HBM here."""
    wanted = str(getattr(eqn.params["memory_space"], "name", "")).lower()
    return [constant(np.bool_(wanted == "hbm"))]
