"""PD601 memory-capacity: on-chip memory is fuller than the chip has room.

## What it does

Adds up what is alive at the fullest moment of each block (GPU: shared memory with its
barriers, tensor memory) or core (TPU: vector and scalar memory) and compares it with the
chip; where no chip was chosen, with the largest of its kind. `details["buffers"]` are
the buffers that make up the peak. The sum is a lower bound, and the message says so:
alignment and the compiler's own scratch come on top. TPU windows count once for the
error, and twice, as the pipeline allocates them, for a warning; `vmem_limit_bytes`
counts where it is given. The compiler's default for it is lower than the memory of some
chips, but no number is published, so that a kernel without a finding may still not fit.

## Why is this bad?

The interpreters of JAX accept any size. The compiler, or the first launch on a device,
does not.

## Example

```python
plgpu.kernel(body, scratch_types=[plgpu.SMEM((1 << 20,), jnp.int8)], …)  # 1 MiB
```

## Use instead

```python
plgpu.kernel(body, scratch_types=[plgpu.SMEM((1 << 16,), jnp.int8)], …)
```

Smaller blocks, fewer pipeline stages, or buffers that share memory (`plgpu.RefUnion`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pallas_debug.checks import accesses, target
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.ir.chips import Chip
from pallas_debug.trace import dtypes
from pallas_debug.trace.schema import BufferRow
from pallas_debug.trace.tables import RecordedLaunch
from pallas_debug.trace.trace import Trace

GPU_SPACES = {"smem": "smem", "barrier": "smem", "tmem": "tmem"}
TPU_SPACES = {"vmem": "vmem", "smem": "smem"}
NAMES = {
    ("gpu", "smem"): "shared memory (SMEM)",
    ("gpu", "tmem"): "tensor memory (TMEM)",
    ("tpu", "vmem"): "vector memory (VMEM)",
    ("tpu", "smem"): "scalar memory (SMEM)",
}


class Living(NamedTuple):
    """A buffer that is alive at the peak; `is_twice`: the pipeline holds two of it."""

    number: int
    name: str
    size_bytes: int
    is_twice: bool


@dataclass(frozen=True, kw_only=True)
class Peak:
    """The fullest moment of one kind of memory: bytes, event, and what was alive."""

    space: str
    size_bytes: int
    event: int
    buffers: tuple[Living, ...]

    @property
    def pipelined_bytes(self) -> int:
        """The same with every TPU window twice."""
        windows = (one.size_bytes for one in self.buffers if one.is_twice)
        return self.size_bytes + sum(windows)


@check("PD601", "memory-capacity")
def memory_capacity(trace: Trace) -> Iterator[Finding]:
    """One finding for each launch and kind of memory that is too full."""
    for launch in trace.launches:
        chips = target.chips_of(trace, launch)
        if not chips:
            continue
        for peak in _peaks(trace, launch, chips[0].backend):
            room = _room(launch, chips, peak.space)
            if peak.size_bytes > room:
                yield _finding(trace, launch, peak, (room, chips), Severity.ERROR)
            elif peak.pipelined_bytes > room:
                yield _finding(trace, launch, peak, (room, chips), Severity.WARNING)


def _room(launch: RecordedLaunch, chips: tuple[Chip, ...], space: str) -> int:
    """Bytes of the chip, or of the largest; not more than the kernel's own limit."""
    most = max(getattr(one, f"{space}_bytes") for one in chips)
    limit = launch.kernel.facts.get("vmem_limit_bytes") if space == "vmem" else None
    return min(most, int(limit)) if limit else most


def _peaks(trace: Trace, launch: RecordedLaunch, backend: str) -> Iterator[Peak]:
    """The fullest moment of each kind of memory, over all its owners."""
    spaces = GPU_SPACES if backend == "gpu" else TPU_SPACES
    mine: dict[str, list[int]] = {}
    for number, row in enumerate(trace.buffer_rows):
        if row.launch == launch.number and row.space in spaces and row.alias < 0:
            mine.setdefault(spaces[row.space], []).append(number)
    for space, numbers in mine.items():
        yield _peak(trace, launch, space, numbers)


def _peak(trace: Trace, launch: RecordedLaunch, space: str, numbers: list[int]) -> Peak:
    """When the living buffers of one owner are largest together.

    Births and ends are sorted by owner and time: an owner's changes add up to nothing,
    so that one running sum serves all.
    """
    rows = [trace.buffer_rows[number] for number in numbers]
    sizes = np.array([dtypes.size_bytes(r.dtype, r.shape) for r in rows], np.int64)
    on_tpu = launch.backend == "tpu"
    owners = np.array([r.thread if on_tpu else r.block for r in rows], np.int64)
    owners += np.array([r.device for r in rows], np.int64) << 40
    births, frees = (column[numbers] for column in accesses.lifetimes(trace))
    ends = np.where(frees >= 0, frees, len(trace))
    at = np.concatenate([births, ends])
    change = np.concatenate([sizes, -sizes])
    order = np.lexsort((change, at, np.concatenate([owners, owners])))
    total = np.cumsum(change[order])
    top = int(order[np.argmax(total)])
    event, owner = int(at[top]), owners[top % len(numbers)]
    alive = np.flatnonzero((births <= event) & (ends > event) & (owners == owner))
    living = tuple(
        Living(numbers[n], rows[n].name, int(sizes[n]), _is_twice(launch, rows[n]))
        for n in alive.tolist()
    )
    most = int(total.max())
    return Peak(space=space, size_bytes=most, event=max(event, 0), buffers=living)


def _is_twice(launch: RecordedLaunch, row: BufferRow) -> bool:
    """Whether a pipeline fetches the next block while it works on this one.

    The window of a whole array is fetched once: `pallas/mosaic/lowering.py` in JAX.
    """
    size = math.prod(row.shape)
    whole = any(
        decl.name == row.name and math.prod(decl.shape) == size
        for decl in launch.kernel.buffers
    )
    return row.role == "window" and launch.blocks > 1 and not whole


def _finding(
    trace: Trace,
    launch: RecordedLaunch,
    peak: Peak,
    limit: tuple[int, tuple[Chip, ...]],
    severity: Severity,
) -> Finding:
    room, chips = limit
    doubled = severity is Severity.WARNING
    size = peak.pipelined_bytes if doubled else peak.size_bytes
    parts = _parts(peak, doubled)
    shown = ", ".join(f"`{name}` {nbytes:,}" for name, nbytes in parts[:4])
    more = f" and {len(parts) - 4} more" if len(parts) > 4 else ""
    name = NAMES[chips[0].backend, peak.space]
    where = "" if len(chips) == 1 else "the largest chip, "
    best = max(chips, key=lambda one: getattr(one, f"{peak.space}_bytes")).name
    two = " with every window twice, as the pipeline holds them" if doubled else ""
    largest = max(peak.buffers, key=lambda one: one.size_bytes, default=None)
    loc = trace.buffers[largest.number].loc if largest else None
    first = trace.events[peak.event] if peak.event < len(trace) else None
    unknown = _unknown(launch, peak.space, chips[0].backend)
    return Finding(
        message=f"at least {size:,} bytes of {name} are in use at once{two}, {where}"
        f"{best}, has {room:,}: {shown}{more}; {unknown}",
        hint="use smaller blocks or fewer pipeline stages, or let buffers share memory",
        severity=severity,
        loc=loc or launch.loc,
        launch=launch.number,
        buffer=largest.name if largest else "",
        block=first.block if first else None,
        events=(peak.event,) if first else (),
        details={
            "space": peak.space,
            "size_bytes": size,
            "is_lower_bound": True,
            "room_bytes": room,
            "chip": best,
            "buffers": tuple(parts),
        },
    )


def _unknown(launch: RecordedLaunch, space: str, backend: str) -> str:
    """What comes on top of the bytes that were counted."""
    text = "alignment and the compiler's own scratch, unknown here, come on top"
    is_limited = launch.kernel.facts.get("vmem_limit_bytes")
    if backend == "tpu" and space == "vmem" and not is_limited:
        return (
            f"{text}, and the compiler's default limit for one kernel, which may be lower "
            "than the chip's memory (`vmem_limit_bytes=`), has no published number"
        )
    return text


def _parts(peak: Peak, doubled: bool) -> list[tuple[str, int]]:
    """Names and bytes of the living buffers, the largest first."""
    sizes: dict[str, int] = {}
    for one in peak.buffers:
        times = 2 if doubled and one.is_twice else 1
        sizes[one.name] = sizes.get(one.name, 0) + times * one.size_bytes
    return sorted(sizes.items(), key=lambda item: (-item[1], item[0]))
