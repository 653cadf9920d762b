"""Refusals that stand on the tape: what JAX raises at which instruction.

A judge looks at one instruction of one kernel and says what JAX's GPU interpret mode
raises there. Where the user asked for that mode it is an error; for a Mosaic GPU kernel
that no interpreter is asked to run it is information: the kernel may be correct.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from pallas_debug import ir
from pallas_debug.checks.aborts.refusal import asked_of_gpu, kernels, refusal
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.ir import flow
from pallas_debug.trace.trace import Trace


class Refused(NamedTuple):
    """Why JAX stops, what it raises (`Class: wording`), and the way out."""

    why: str
    raises: str
    hint: str


Judge = Callable[[ir.Kernel, int], Iterable[Refused]]


def severity(kernel: ir.Kernel) -> Severity:
    """An error only for a kernel that is asked to run in GPU interpret mode."""
    return Severity.ERROR if asked_of_gpu(kernel) else Severity.INFO


def findings(
    trace: Trace, code: str, judge: Judge, *, when_run: bool = False
) -> Iterator[Finding]:
    """What a judge says of each instruction of each kernel.

    `when_run` is for what JAX raises only when it comes to the instruction: one that
    the recording never reached is not judged, and its first event is the evidence.
    """
    for launch, kernel in kernels(trace, code):
        first = _first_events(trace, kernel) if when_run else {}
        was_run = _reached(kernel, list(first)) if first else None
        for number in range(len(kernel.tape)):
            if was_run is not None and number not in was_run:
                continue
            for one in judge(kernel, number):
                yield refusal(
                    launch,
                    one.why,
                    one.raises,
                    one.hint,
                    loc=kernel.loc_of(number),
                    severity=severity(kernel),
                    events=(first[number],) if number in first else (),
                )


def _first_events(trace: Trace, kernel: ir.Kernel) -> dict[int, int]:
    """The first event of each instruction that left one, in order of the tape."""
    numbers = [launch.number for launch in trace.launches if launch.kernel is kernel]
    mine = np.flatnonzero(np.isin(trace.columns.launch, numbers))
    positions, first = np.unique(trace.columns.instr[mine], return_index=True)
    return dict(zip(positions.tolist(), mine[first].tolist(), strict=True))


def _reached(kernel: ir.Kernel, positions: list[int]) -> set[int]:
    """Instructions in straight runs with an instruction that left an event."""
    starts = flow.leaders(kernel.tape, entry=kernel.entry, begins=lambda *_: False)
    ends = [*starts[1:], len(kernel.tape)]
    found: set[int] = set()
    for position in positions:
        run = bisect_right(starts, position) - 1
        if 0 <= run < len(starts):
            found.update(range(starts[run], ends[run]))
    return found


def allocation(kernel: ir.Kernel, operand: ir.Operand) -> ir.Buffer | None:
    """The declaration behind a register of the kernel's body, if it is plain to see."""
    if not isinstance(operand, ir.Reg):
        return None
    if operand.number in kernel.arguments:
        return kernel.buffers[kernel.arguments.index(operand.number)]
    for instr in kernel.tape:
        if instr.op == "scope.alloc" and operand.number in instr.outs:
            return instr.params["decls"][instr.outs.index(operand.number)]
    return None


def routine(kernel: ir.Kernel, number: int) -> Iterator[ir.Instr]:
    """The instructions of the asynchronous operation that an instruction starts."""
    starter = kernel.tape[number]
    if starter.op in flow.CONTROL or not starter.targets:
        return
    for instr in kernel.tape[starter.targets[0] :]:
        yield instr
        if instr.op == "ir.return":
            return


def scopes_of(kernel: ir.Kernel, number: int) -> tuple[int, ...]:
    """The scopes around an instruction, innermost first."""
    return kernel.scopes_around(kernel.tape[number].scope)
