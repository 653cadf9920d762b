"""Running sums of a tape: additions whose result comes back as one of their terms.

Through the registers of a loop, or through the reference that is read before and written
after. The dtype of such a sum is the narrowest one that it takes on its way back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pallas_debug import ir

STORES = ("state.set", "state.swap", "pallas.masked_store")
LOADS = ("state.get", "pallas.masked_load")
CONVERT = "lax.convert_element_type"
SHORT = ("float16", "bfloat16", "float8")


@dataclass(frozen=True, kw_only=True)
class Running:
    """An addition to a sum.

    Attributes:
      operand: Which of its operands is the sum so far.
      dtype: A short dtype that the sum takes between two additions, None if it keeps
        that of the addition.
    """

    operand: int
    dtype: np.dtype[Any] | None = None


def running(tape: ir.Tape, add: int) -> Running | None:
    """What is known of an addition's sum; None if it adds to none."""
    reached = _reached(tape, set(tape[add].outs))
    for operand, value in enumerate(tape[add].ins):
        if isinstance(value, ir.Reg) and value.number in reached:
            return Running(operand=operand, dtype=_narrowest(tape, add, reached))
    return None


def is_short(dtype: np.dtype[Any]) -> bool:
    """Whether few terms are enough for a sum in this dtype to lose some."""
    return dtype.name.startswith(SHORT)


def _narrowest(tape: ir.Tape, add: int, reached: set[int]) -> np.dtype[Any] | None:
    """The dtype of a cast to a short one that the sum cannot come back without."""
    wanted = set(tape[add].reads())
    for instr in tape:
        if instr.op != CONVERT or not _is_held(instr, reached) or instr.pure is None:
            continue
        dtype = np.dtype(instr.pure.env.get("T", np.float32))
        comes_back = wanted & _reached(tape, set(instr.outs))
        if is_short(dtype) and comes_back:
            without = _reached(tape, set(tape[add].outs), without=instr)
            if not wanted & without:
                return dtype
    return None


def _reached(
    tape: ir.Tape, start: set[int], without: ir.Instr | None = None
) -> set[int]:
    """The registers that a value comes to, unchanged but for its dtype."""
    reached = set(start)
    refs: set[int] = set()
    size = -1
    while size != len(reached) + len(refs):
        size = len(reached) + len(refs)
        for instr in tape:
            if instr is without:
                continue
            held = [isinstance(i, ir.Reg) and i.number in reached for i in instr.ins]
            if instr.op == "ir.move":
                moved = zip(held, instr.outs, strict=True)
                reached |= {register for is_held, register in moved if is_held}
            elif instr.op in STORES and any(held):
                refs |= _refs(instr)
            elif (instr.op in LOADS and _refs(instr) & refs) or (
                instr.op == CONVERT and any(held)
            ):
                reached |= set(instr.outs)
    return reached


def _is_held(instr: ir.Instr, reached: set[int]) -> bool:
    return any(isinstance(i, ir.Reg) and i.number in reached for i in instr.ins)


def _refs(instr: ir.Instr) -> set[int]:
    refs = (access.ref for access in instr.accesses)
    return {ref.number for ref in refs if isinstance(ref, ir.Reg)}
