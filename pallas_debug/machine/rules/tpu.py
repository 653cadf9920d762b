"""Rules of the tpu family: copies as threads of their own, and random bits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.errors import UnsupportedForm
from pallas_debug.machine.rules.pallas_places import peek, size_bytes
from pallas_debug.machine.rules.pallas_semaphores import element
from pallas_debug.machine.rules.registry import rule
from pallas_debug.machine.step import Step, Target
from pallas_debug.trace.schema import Kind


@rule("tpu.dma_start", wants_instr=True)
def dma_start(
    m: Step, instr: ir.Instr, *values: Any, extra: int, priority: int
) -> None:
    """Starts the copy's thread: it reads, writes and signals when it is scheduled."""
    m.spawn("dma", instr.targets[0], [*values, *[None] * extra])


@rule("tpu.dma_read")
def dma_read(m: Step, source: Target) -> Any:
    return m.read(source)


@rule("tpu.dma_write")
def dma_write(m: Step, target: Target, value: Any, *, add: bool) -> None:
    """Stores what was read; `add` accumulates into what is there by then."""
    given, wanted = np.shape(value), m.place(target).shape
    if math.prod(given) != math.prod(wanted):
        raise UnsupportedForm(
            op="tpu.dma_start",
            form=f"a source of shape {given} and a target of shape {wanted}",
            way="copy between parts of one shape, as TPUs do: narrow the larger one "
            "with `.at[pl.ds(start, size)]`",
        )
    if not add:
        m.write(target, value)
        return
    m.write(target, peek(m, target) + value, kind=Kind.UPDATE)


@rule("tpu.dma_signal")
def dma_signal(m: Step, semaphore: Target, copied: Target) -> None:
    """Counts the bytes of `copied`, as JAX's interpreter does."""
    m.signal(*element(m, semaphore), size_bytes(m, copied))


@rule("tpu.dma_wait", waits=True)
def dma_wait(m: Step, semaphore: Target, copied: Target) -> bool:
    """Takes the bytes that a copy of this size signals; nothing is read."""
    return m.take(*element(m, semaphore), size_bytes(m, copied))


@rule("tpu.prng_seed")
def prng_seed(m: Step, *seeds: Any) -> None:
    words = [int(seed) & 0xFFFFFFFF for seed in seeds]
    m.thread.notes["random"] = (tuple(words), 0)


@rule("tpu.prng_random_bits")
def prng_random_bits(m: Step, *, shape: tuple[int, ...]) -> Any:
    """Bits that depend on the seed and on how often it was drawn: not the chip's."""
    words, drawn = m.thread.notes.get("random", ((0,), 0))
    m.thread.notes["random"] = (words, drawn + 1)
    generator = np.random.Generator(np.random.Philox([*words, drawn]))
    bits = generator.integers(0, 1 << 32, shape, np.uint32)
    return bits.view(np.int32) if shape else np.int32(bits.view(np.int32))
