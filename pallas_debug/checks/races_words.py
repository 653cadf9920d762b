"""Races in words: what happened, which edge is missing, where to put it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pallas_debug.checks import accesses, races, races_slots, races_turns
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.checks.races import Fault, Race
from pallas_debug.checks.races_barriers import given_back, uncovered
from pallas_debug.checks.races_copies import (
    arrives_early,
    is_too_early,
    issuer,
    line,
    main_of,
    overtaken,
    refilled,
    shared,
    signalled,
    too_soon,
)
from pallas_debug.trace.events import Event
from pallas_debug.trace.proxies import Engine, proxies
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.trace import Trace

CROSSING = (Fault.UNCOMMITTED, Fault.UNFENCED, Fault.UNSEEN)
CLOCKS = 64  # entries of a vector clock that a finding carries
VERBS = {Kind.READ: "reads", Kind.WRITE: "writes", Kind.UPDATE: "updates"}


def finding(trace: Trace, race: Race, severity: Severity | None = None) -> Finding:
    """The finding of a race. Its line is the program's where an agent takes part."""
    first, second = trace.events[race.first], trace.events[race.second]
    main = second if race.fault in CROSSING else main_of(first, second)
    other = first if main is second else second
    missing, hint = _missing(trace, race)
    many = f"; {race.count:,} times" if race.count > 1 else ""
    return Finding(
        message=f"{_did(main)}, {_did_too(other, main)}: {missing}{many}",
        hint=hint,
        severity=severity,
        loc=main.loc,
        other=other.loc,
        launch=main.launch.number,
        buffer=main.buffer.name if main.buffer else "",
        block=main.block,
        threads=tuple(dict.fromkeys((main.thread.number, other.thread.number))),
        events=race.events,
        count=race.count,
        details={
            "fault": race.fault.value,
            "accesses": (_access(main), _access(other)),
            "clocks": tuple(_clock(trace, event) for event in (main, other)),
            "missing": missing,
            "edge": {"from": race.done, "to": race.begun},
            "add": hint,
        },
    )


def _did(event: Event) -> str:
    """``warpgroup 0 of block (1,) writes `smem`[0:64] at line 31``."""
    name = event.buffer.name if event.buffer else "?"
    target = f"`{name}`{event.part}{event.owner}"
    return f"{event.thread.name} {VERBS[event.kind]} {target}{_at(event, event)}"


def _did_too(event: Event, main: Event) -> str:
    """`dma 2 reads it at line 35`, or which part of it if that is another one."""
    part, own = event.part, main.part
    it = f"{part} of it" if part != own else "it"
    return f"{event.thread.name} {VERBS[event.kind]} {it}{_at(event, main)}"


def _at(event: Event, main: Event) -> str:
    return f" at {line(event, main)}" if event.loc else ""


def _access(event: Event) -> dict[str, Any]:
    """One side of a race as plain data."""
    return {
        "event": event.seq,
        "thread": event.thread.number,
        "name": event.thread.name,
        "kind": event.kind.name.lower(),
        "line": event.loc.line if event.loc else 0,
        "region": event.part,
        "tick": event.clock,
    }


def _clock(trace: Trace, event: Event) -> dict[int, int]:
    """The vector clock, the entries of the most recent threads if it is long."""
    clock = trace.order.clock(event.seq)
    return dict(sorted(clock.items())[-CLOCKS:])


def _missing(trace: Trace, race: Race) -> tuple[str, str]:
    """What is missing, and what to add where."""
    first, second = trace.events[race.first], trace.events[race.second]
    main = second if race.fault in CROSSING else main_of(first, second)
    m, n = line(first, main), line(second, main)
    if race.fault is Fault.UNCOMMITTED:
        text = "no `commit_smem` in between makes the store visible to it"
        return text, f"call `plgpu.commit_smem()` after {m} and before {n}"
    if race.fault is Fault.UNFENCED:
        text = "no `commit_smem` orders the two proxies"
        return text, f"if in doubt, call `plgpu.commit_smem()` between {m} and {n}"
    if race.fault is Fault.UNSEEN:
        text = "no fence makes a thread's stores to global memory visible to copies"
        store = (
            "store through shared memory (`copy_smem_to_gmem`, `wait_smem_to_gmem(0)`)"
        )
        if second.kind is Kind.READ:
            return text, f"{store} at {m}, read plainly at {n}, or use two launches"
        return text, f"{store} at {m}, too, or use two launches"
    text = "nothing orders the two"
    for advice in ADVICE:
        hint = advice(trace, race, first, second)
        if hint:
            return text, hint
    return text, f"make {second.thread.name} wait for something that comes after {m}"


def _of_parallel(trace: Trace, race: Race, first: Event, second: Event) -> str:
    if not race.is_parallel:
        return ""
    way = "give each of them memory of its own"
    if first.buffer and first.buffer.row.role == "scratch":  # each core has its own
        way = f"set `{first.buffer.name}` in each grid point that reads it"
    return (
        "the grid points differ along a dimension that `dimension_semantics` calls "
        f'parallel: call it "arbitrary", or {way}'
    )


def _of_devices(trace: Trace, race: Race, first: Event, second: Event) -> str:
    """What reaches for another device's memory after that one has used it."""
    a, b = program(trace, first), program(trace, second)
    late = not second.thread.is_agent or _is_issued_after(trace, first, second)
    if not (second.owner and late):
        return ""
    main = main_of(first, second)
    m, n = line(first, main), line(second, main)
    wait = f"before {n} of {b.name}, wait for a semaphore that"
    if a.row.device != b.row.device:
        return f"{wait} {a.name} signals there after {m} is over"
    device = second.owner.removeprefix(" of ")
    return f"{wait} {device} signals there once what {m} sent has come in"


def _of_agent(trace: Trace, race: Race, first: Event, second: Event) -> str:
    """An asynchronous operation that is not waited for."""
    agent = first if first.thread.is_agent else second
    if not agent.thread.is_agent or _are_blocks(trace, first, second):
        return ""
    if agent is second and _is_issued_after(trace, first, second):
        return ""
    main = main_of(first, second)
    n = line(second if agent is first else first, main)
    unit, started = races.engine(trace, agent.seq), line(agent, main)
    copy, other = (first, second) if agent is first else (second, first)
    told = refilled(trace, copy, other) or races_slots.in_use(trace, first, second)
    told = told or shared(trace, first, second) or overtaken(trace, first, second)
    if told:
        return told
    n = races_slots.next_one(trace, first, second) or n
    if agent.thread.kind == "dma":
        return f"wait for the copy started at {started} before {n}"
    if unit is Engine.WGMMA:
        if program(trace, agent).number != program(trace, other).number:
            early = arrives_early(trace, agent)
            n = line(early, main) if early else ""
        return n and f"call `plgpu.wgmma_wait(0)` before {n}"
    if unit in (Engine.PRODUCT, Engine.TENSOR_COPY):
        return races_turns.of_product(trace, agent, other)
    barrier = signalled(trace, agent)
    if barrier:
        return f"wait for barrier `{barrier}`, where the copy arrives, before {n}"
    if "smem_to_gmem" in issuer(agent):
        if agent.kind is Kind.READ:
            call = "`plgpu.wait_smem_to_gmem(0)` (`wait_read_only=True` is enough)"
        else:
            call = "`plgpu.wait_smem_to_gmem(0)`, not read-only,"
        return f"call {call} before {n}, on the thread that started the copy"
    return f"wait for the operation started at {started} before {n}"


def _are_blocks(trace: Trace, first: Event, second: Event) -> bool:
    """Whether two blocks of a GPU's grid meet, which no wait puts in order."""
    a, b = program(trace, first).row, program(trace, second).row
    apart = a.block != b.block and min(a.block, b.block) >= 0
    clusters = a.cluster >= 0 and a.cluster == b.cluster
    same = first.launch.number == second.launch.number and a.device == b.device
    return first.launch.backend == "mosaic_gpu" and apart and same and not clusters


def _is_issued_after(trace: Trace, first: Event, second: Event) -> bool:
    """Whether one access comes before the agent of the other is started."""
    issue = int(proxies(trace).issue[second.thread.number])
    return issue > first.seq and trace.columns.thread[issue] != first.thread.number


def _of_threads(trace: Trace, race: Race, first: Event, second: Event) -> str:
    """Threads of the program."""
    main = main_of(first, second)
    if is_too_early(trace, first, second) or too_soon(trace, first, second) >= 0:
        first, second = second, first  # it was meant to come second
    if first.thread.is_agent and races.engine(trace, first.seq) is Engine.PRODUCT:
        return races_turns.of_product(trace, first, second)
    a, b = program(trace, first), program(trace, second)
    m, n = line(first, main), line(second, main)
    if cannot_wait(trace, first, second):
        return (
            "blocks of a grid run in any order: let each write a part of its own, use "
            "an atomic or a semaphore, or split the kernel in two launches"
        )
    if are_alike(first, second):
        axis = first.launch.kernel.grid.thread_name
        own = axis and a.row.block == b.row.block
        one = f'`@pl.when(lax.axis_index("{axis}") == 0)`' if own else "`@pl.when(...)`"
        return f"let one of them write it, under {one}, or each a part of its own"
    if first.launch.backend == "tpu" or a.row.device != b.row.device:
        return f"wait before {n} for a semaphore that {a.name} signals after {m}"
    if a.row.block == b.row.block:
        who = "its thread" if a.number == b.number else a.name
        at = a.number, first.seq, b.number
        late = uncovered(trace, *at, main)
        return f"wait before {n} for {given_back(trace, *at)} {who} arrives after {m}{late}"
    return f"wait before {n} for a `plgpu.ClusterBarrier` arrived at after {m}"


def program(trace: Trace, event: Event) -> Any:
    """The thread of the program behind an event."""
    return trace.threads[accesses.starter(trace, event.seq).thread]


def are_alike(first: Event, second: Event) -> bool:
    """Whether two threads of a GPU's kernel write the same part by the same line."""
    return (
        first.launch.backend == "mosaic_gpu"
        and first.kind is second.kind is Kind.WRITE
        and not (first.thread.is_agent or second.thread.is_agent)
        and first.loc is not None
        and first.loc == second.loc
        and first.part == second.part
    )


def cannot_wait(trace: Trace, first: Event, second: Event) -> bool:
    """Whether they are in blocks of a grid that share nothing to wait for."""
    a, b = program(trace, first).row, program(trace, second).row
    if first.launch.backend == "tpu" or a.device != b.device:
        return False
    if first.launch.backend != "mosaic_gpu":
        return True
    return a.block != b.block and (a.cluster < 0 or a.cluster != b.cluster)


Advice = Callable[[Trace, Race, Event, Event], str]
ADVICE: tuple[Advice, ...] = (
    _of_parallel,
    races_turns.of_tensor_memory,
    _of_devices,
    races_turns.of_copy_out,
    _of_agent,
    _of_threads,
)


def of_fault(trace: Trace, *faults: Fault) -> tuple[Race, ...]:
    """The races of a trace with one of these faults."""
    return tuple(race for race in races.races(trace) if race.fault in faults)
