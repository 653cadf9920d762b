"""PD318 barrier-phase: phases that GPU interpret mode wants to be seen.

## What it does

Follows each barrier of a kernel that is asked to run in JAX's GPU interpret mode: its
arrivals and waits in the order of the recording, but with each asynchronous copy arriving
at once, as it does there. The warps of a warpgroup are followed one by one, from JAX 0.12
on. Clusters are passed over.

## Why is this bad?

JAX wants every phase to be seen by some thread before the next one is complete, a thread
that waits at all to see all phases, and no arrivals to be left over at the end. A
warpgroup that waits after its warps did wants each of them to stand at the same phase.
Else it stops in the middle of the run, with another wording in almost every version from 0.10.2
to 0.12.0.1: `ValueError: Barrier completed phase 1, but no threads observed phase 0.` No
line of the kernel is named, and with several threads it may come or not.

## Example

```python
plgpu.copy_gmem_to_smem(a_ref, a_smem, barrier)
plgpu.copy_gmem_to_smem(b_ref, b_smem, barrier)
plgpu.barrier_wait(barrier)
plgpu.barrier_wait(barrier)
```

## Use instead

`plgpu.Barrier(num_arrivals=2)` and one wait, or a barrier for each copy in flight.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.checks.aborts import versions
from pallas_debug.checks.aborts.refusal import asked_of_gpu, kernels, refusal
from pallas_debug.checks.check import check
from pallas_debug.checks.finding import Finding
from pallas_debug.checks.semaphores import named
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.trace import Trace

UNSEEN = "ValueError: Barrier completed phase 1, but no threads observed phase 0."
UNSEEN_BEFORE = (
    "ValueError: Barrier arrival was completed again before previous completion was "
    "observed by a thread."
)
OF_A_THREAD = "ValueError: Thread …"
OF_WARPS = "ValueError: Warpgroup-thread …"
AT_THE_END = "ValueError: When barrier …"
HINT = "wait for each phase before the next, or give each one in flight a barrier"
HINT_OF_WARPS = (
    "let all four warps wait for the same phases before their warpgroup waits"
)
USES = {kind: kind.name.lower() for kind in Kind} | {Kind.BLOCK: "wait"}
WARPS = range(4)
ALL = -1  # in the place of a warp: its warpgroup
KINDS = (Kind.ARRIVE, Kind.WAIT, Kind.BLOCK, Kind.FREE, Kind.ALLOC)


Who = tuple[int, int]  # a warpgroup's thread, and its warp or ALL


class Phases:
    """What JAX keeps of one barrier; each method says what it raises, or nothing."""

    def __init__(self, needed: int, kernel: ir.Kernel) -> None:
        self.needed = needed
        self.phase = self.arrivals = 0
        self.seen: dict[Who, int] = {}
        self.is_seen = True
        self.is_old = not versions.within(kernel, (0, 11, 0))
        self.tells_at_the_end = not versions.within(kernel, (0, 12, 0))
        self.ending = AT_THE_END if versions.within(kernel, (0, 11, 1)) else OF_A_THREAD

    def arrive(self) -> str:
        self.arrivals += 1
        if self.arrivals < self.needed:
            return ""
        self.arrivals = 0
        self.phase += 1
        was_seen, self.is_seen = self.is_seen, False
        if self.is_old:
            return "" if was_seen else UNSEEN_BEFORE
        if self.phase == 2 and not self.seen:
            return UNSEEN
        is_behind = any(phase < self.phase - 2 for phase in self.seen.values())
        return OF_A_THREAD if is_behind else ""

    def wait(self, who: Who) -> str:
        group, warp = who
        self.is_seen = True
        known = self.seen.get(who, self.seen.get((group, ALL)))
        last = known or 0
        if self.is_old:
            is_late = last + 1 < self.phase
        else:
            is_late = last <= self.phase - 2
        is_torn = bool(self.block(who))
        self.seen[who] = last + 1
        if warp == ALL:
            self.seen.update({(group, one): last + 1 for one in WARPS})
        elif len(warps := self._warps(group)) == len(WARPS):
            self.seen[group, ALL] = min(warps)
        is_first = known is None and is_late
        return OF_WARPS if is_torn and not is_first else OF_A_THREAD if is_late else ""

    def block(self, who: Who) -> str:
        """What a wait raises before it waits: of a warpgroup whose warps differ."""
        warps = self._warps(who[0]) if who[1] == ALL else []
        return OF_WARPS if warps and warps != [warps[0]] * len(WARPS) else ""

    def _warps(self, group: int) -> list[int]:
        """The phases that those warps have seen which have waited."""
        return [self.seen[group, w] for w in WARPS if (group, w) in self.seen]

    def free(self) -> str:
        if self.arrivals and not self.is_old:
            return f"ValueError: Barrier deallocated with {self.arrivals} arrivals pending."
        is_missed = any(phase < self.phase for phase in self.seen.values())
        return self.ending if self.tells_at_the_end and is_missed else ""

    def has_missed(self, group: int) -> bool:
        """Whether a warpgroup, or one of its warps, waited and has not seen all."""
        return any(
            phase != self.phase for who, phase in self.seen.items() if who[0] == group
        )


@check("PD318", "barrier-phase")
def barrier_phase(trace: Trace) -> Iterator[Finding]:
    """The first use of each barrier that JAX refuses."""
    for launch, kernel in kernels(trace, "PD318", _is_followed):
        numbers = [other.number for other in trace.launches if other.kernel is kernel]
        for seq, raises, element in _refused(trace, kernel, numbers):
            row = trace.buffer_rows[int(trace.columns.object[seq])]
            use = USES[Kind(int(trace.columns.kind[seq]))]
            yield refusal(
                launch,
                f"the {use} of barrier {named(row, element)} is out of step with its "
                "phases in the order of this recording",
                raises,
                HINT_OF_WARPS if raises == OF_WARPS else HINT,
                loc=kernel.loc_of(int(trace.columns.instr[seq])),
                events=(seq,),
                buffer=row.name,
            )


def _is_followed(kernel: ir.Kernel) -> bool:
    is_alone = math.prod(kernel.grid.cluster) == 1
    has_warps = any(instr.op == "gpu.warp_map" for instr in kernel.tape)
    knows_warps = versions.within(kernel, (0, 12, 0))
    return asked_of_gpu(kernel) and is_alone and (knows_warps or not has_warps)


def _refused(
    trace: Trace, kernel: ir.Kernel, launches: list[int]
) -> Iterator[tuple[int, str, int]]:
    """Event, what is raised, element of the barrier."""
    barriers: dict[int, list[Phases]] = {}
    freed: list[tuple[int, Phases]] = []
    refused: set[int] = set()
    for seq in _in_order(trace, launches):
        columns = trace.columns
        number, thread = int(columns.object[seq]), int(columns.thread[seq])
        row = trace.buffer_rows[number]
        kind = int(columns.kind[seq])
        if kind == Kind.ALLOC:
            barriers[number] = [
                Phases(row.arrivals, kernel) for _ in range(math.prod(row.shape))
            ]
            for other, phases in freed:
                if other not in refused and phases.has_missed(_who(trace, thread)[0]):
                    refused.add(other)
                    yield seq, OF_A_THREAD, 0
            continue
        for element, phases in _touched(trace, seq, barriers.get(number, [])):
            raises = _step(kind, phases, _who(trace, thread))
            if kind == Kind.FREE and not phases.is_old:
                freed.append((number, phases))
            if raises and number not in refused:
                refused.add(number)
                yield seq, raises, element


def _who(trace: Trace, thread: int) -> Who:
    """A thread as JAX tells it from others: each map over warps has the same ones."""
    row = trace.thread_rows[thread]
    return (row.parent, row.index) if row.kind == "warp" else (thread, ALL)


def _step(kind: int, phases: Phases, who: Who) -> str:
    if kind == Kind.ARRIVE:
        return phases.arrive()
    if kind == Kind.BLOCK:
        return phases.block(who)
    return phases.wait(who) if kind == Kind.WAIT else phases.free()


def _touched(
    trace: Trace, seq: int, all_of_it: list[Phases]
) -> Iterator[tuple[int, Phases]]:
    """The elements of a barrier that an event is about."""
    region = int(trace.columns.region[seq])
    if region < 0:
        yield from enumerate(all_of_it)
        return
    shape = trace.buffer_rows[int(trace.columns.object[seq])].shape
    start = [int(first) for first in trace.region(region).start]
    element = int(np.ravel_multi_index(start, shape)) if shape else 0
    if element < len(all_of_it):
        yield element, all_of_it[element]


def _in_order(trace: Trace, launches: list[int]) -> list[int]:
    """Events of barriers, each arrival of a copy where the copy was started."""
    columns: Any = trace.columns
    is_barrier = np.array([row.dtype == "barrier" for row in trace.buffer_rows], bool)
    events = np.flatnonzero(np.isin(columns.kind, KINDS))
    events = events[np.isin(columns.launch[events], launches)]
    events = events[columns.object[events] >= 0]
    events = events[is_barrier[columns.object[events]]]
    started = np.arange(len(columns.kind))
    spawns = np.flatnonzero(columns.kind == Kind.SPAWN)
    at: dict[int, int] = dict(
        zip(columns.object[spawns].tolist(), spawns.tolist(), strict=True)
    )
    for seq in events[columns.kind[events] == Kind.ARRIVE].tolist():
        thread = int(columns.thread[seq])
        is_copy = trace.thread_rows[thread].kind in ("tma", "tcgen05")
        if is_copy and thread in at:
            started[seq] = at[thread]
    return events[np.argsort(started[events], kind="stable")].tolist()
