"""Executes recorded launches again and notes unusual results of pure instructions.

Every pure expression is wrapped in a probe; memory, schedule and events are those of
the recording, so that what a probe sees is what happened. A launch that does not come
out as it was recorded is not noted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from pallas_debug import ir, machine
from pallas_debug.session.notes import Notes
from pallas_debug.session.probes import probe_of
from pallas_debug.session.running import running
from pallas_debug.trace import arithmetic
from pallas_debug.trace.tables import RecordedLaunch
from pallas_debug.trace.trace import Trace
from pallas_debug.trace.writer import Writer

MOST_EVENTS = 50_000  # of a launch that is executed again; larger ones take too long
MOST_STEPS = 500_000  # likewise, of one that was cut: a loop without events has many


def observe(trace: Trace, options: machine.Options | None = None) -> None:
    """Makes the arithmetic of every launch that can be executed again known on demand."""
    arithmetic.promise(trace, lambda: _observed(trace, options))


def _observed(trace: Trace, options: machine.Options | None) -> arithmetic.Arithmetic:
    options = options or _options(trace)
    oddities: list[arithmetic.Oddity] = []
    nans: dict[tuple[int, int, int, int], int] = {}
    seen: set[int] = set()
    for launch in trace.launches:
        if launch.source is None or not 0 < len(launch.events) <= MOST_EVENTS:
            continue
        if launch.outcome.is_cut and launch.steps > MOST_STEPS:
            continue
        notes = _again(trace, launch, options)
        if notes is not None:
            seen.add(launch.number)
            oddities += notes.oddities.values()
            nans |= notes.nans
    return arithmetic.Arithmetic(
        oddities=tuple(oddities), nans=nans, launches=frozenset(seen)
    )


def _options(trace: Trace) -> machine.Options:
    """The options of a recording, as far as a trace remembers them."""
    kept = dict(trace.meta.get("options", {}))
    return machine.Options(**kept)


def _again(
    trace: Trace, launch: RecordedLaunch, options: machine.Options
) -> Notes | None:
    """Runs a launch with probes; None if it does not come out as recorded."""
    from pallas_debug.jaxlink.evaluate import flushing_denormals

    source = launch.source
    assert source is not None, "only launches with a source are executed again"
    threads = [n for n, r in enumerate(trace.thread_rows) if r.launch == launch.number]
    notes = Notes(launch.number, min(threads, default=0), launch.first_event)
    kernel = probed(source.kernel, notes)
    preempt = options.policy != "round-robin"
    # One that was cut would otherwise go on to its end, if it has one.
    until = launch.steps if launch.outcome.is_cut else None
    most = min(options.max_events, len(launch.events) + 1)
    quiet = replace(options, values="none", progress=False, max_events=most)
    run = machine.begin(
        replace(source, kernel=kernel),
        Writer(),
        quiet,
        program=machine.compile_kernel(kernel, coarse=not preempt),
    )
    notes.follow(run)
    with flushing_denormals():
        machine.advance(run, until=until)
    return notes if run.writer.events == len(launch.events) else None


def probed(kernel: ir.Kernel, notes: Notes) -> ir.Kernel:
    """The kernel with a probe around each pure instruction that one exists for."""
    sum_of = cache(lambda position: running(kernel.tape, position))
    tape = tuple(
        _wrapped(instr, probe_of(position, instr, sum_of, notes))
        for position, instr in enumerate(kernel.tape)
    )
    return replace(kernel, tape=tape)


def _wrapped(instr: ir.Instr, probe: Callable[..., Any] | None) -> ir.Instr:
    pure = instr.pure
    if probe is None or pure is None:
        return instr
    operands = "".join(f", {{{i}}}" for i in range(len(instr.ins)))
    wrapped = ir.Pure(
        expr=f"observe_arithmetic(({pure.expr}){operands})",
        env={**pure.env, "observe_arithmetic": probe},
        results=pure.results,
    )
    return replace(instr, pure=wrapped)
