"""From the write of a bad value back through registers to the instruction that made it.

Needs the arithmetic that `session.arithmetic` noted. Every step is the first time that
the instruction gave NaN, so a loop is walked back to its first faulty turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pallas_debug import ir
from pallas_debug.checks import paths
from pallas_debug.checks.tapeflow import TapeFlow, tapeflow
from pallas_debug.trace.arithmetic import Oddity, arithmetic
from pallas_debug.trace.trace import Trace


def nan_chains(trace: Trace, write: int) -> tuple[tuple[int, ...], ...]:
    """For each maker of a NaN that reaches a write, the instructions in between.

    Each chain begins with the maker; the earliest maker comes first.
    """
    columns = trace.columns
    launch, thread = int(columns.launch[write]), int(columns.thread[write])
    block, instr = int(columns.block[write]), int(columns.instr[write])
    flow = tapeflow(trace.caches, trace.launches[launch].kernel)
    nans = arithmetic(trace).nans
    serials = {instr: max(nans.values(), default=0) + 1}
    after: dict[int, int] = {}
    makers: list[int] = []
    todo = [instr]
    while todo:
        at = todo.pop()
        before = {p: nans.get((launch, p, thread, block), 0) for p in _before(flow, at)}
        earlier = {p: s for p, s in before.items() if 0 < s < serials[at]}
        if not earlier and at != instr:
            makers.append(at)
        for position, serial in earlier.items():
            if position not in serials:
                serials[position], after[position] = serial, at
                todo.append(position)
    makers.sort(key=lambda position: serials[position])
    return tuple(_chain(after, maker, instr) for maker in makers)


def _chain(after: dict[int, int], maker: int, end: int) -> tuple[int, ...]:
    chain = [maker]
    while after[chain[-1]] != end:
        chain.append(after[chain[-1]])
    return tuple(chain)


def _before(flow: TapeFlow, position: int) -> Iterator[int]:
    """Instructions that make the value operands of another, through moves."""
    todo = [o.number for o in flow.tape[position].ins if isinstance(o, ir.Reg)]
    seen: set[int] = set()
    while todo:
        register = todo.pop()
        if register in seen:
            continue
        seen.add(register)
        for definer in flow.definers(position, register):
            instr = flow.tape[definer]
            if instr.op == "ir.move":
                source = instr.ins[instr.outs.index(register)]
                if isinstance(source, ir.Reg):
                    todo.append(source.number)
            else:
                yield definer


def oddity_at(trace: Trace, launch: int, instr: int, *kinds: str) -> Oddity | None:
    """What was noted of one of these kinds about an instruction."""
    for one in arithmetic(trace).oddities:
        if (one.launch, one.instr) == (launch, instr) and one.kind in kinds:
            return one
    return None


def said(one: Oddity) -> str:
    """The operation with its numbers: `sub of -inf and -inf`."""
    name = one.op.removeprefix("lax.")
    known = [_number(value) for value in one.operands if value is not None]
    if not known or len(known) < len(one.operands):
        return f"`{name}`"
    return f"`{name}` of {' and '.join(known)}"


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def place(one: Oddity) -> str:
    """Which elements at first: ` at element (6, 0)`; empty for a scalar."""
    return f" at element {one.index}" if one.index else ""


def loc_of(trace: Trace, one: Oddity) -> ir.Loc | None:
    """The user's line."""
    return trace.launches[one.launch].kernel.loc_of(one.instr)


def block_of(trace: Trace, one: Oddity) -> tuple[int, ...] | None:
    """Grid coordinates of the first occurrence."""
    return trace.launches[one.launch].coordinates(one.block)


def steps(trace: Trace, launch: int, chain: tuple[int, ...]) -> tuple[Any, ...]:
    """Instructions as steps of a path."""
    kernel = trace.launches[launch].kernel
    return tuple(
        paths.step(
            event=-1,
            instr=position,
            text=kernel.tape[position].op.removeprefix("lax."),
            loc=kernel.loc_of(position),
        )
        for position in chain
    )


def details(one: Oddity) -> dict[str, Any]:
    """What a program wants to know of it."""
    return {
        "op": one.op,
        "operands": one.operands,
        "elements": one.box,
        "turn": one.turn,
    }
