"""Registers as sums of scalars that were read, as far as they are such sums.

Along additions, subtractions and products with constants, of registers with one
definition; what is computed otherwise is only known to depend on its reads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pallas_debug import ir
from pallas_debug.checks.tapeflow import TapeFlow

MOST = 1000  # terms that are followed


@dataclass(frozen=True, kw_only=True)
class Sum:
    """The `factors` of reading instructions, and `others` that it depends on."""

    factors: dict[int, int]
    others: frozenset[int]


def sum_of_reads(flow: TapeFlow, position: int, operand: ir.Operand) -> Sum:
    """An operand of the instruction at `position` as a sum."""
    factors: dict[int, int] = {}
    others: set[int] = set()
    todo = [(position, operand, 1)]
    for done, (at, term, factor) in enumerate(todo):
        definers = _definers(flow, at, term)
        instr = flow.tape[definers[0]] if len(definers) == 1 else None
        if instr is not None and instr.accesses:
            factors[definers[0]] = factors.get(definers[0], 0) + factor
            continue
        parts = _parts(instr) if instr is not None and done < MOST else []
        todo += [(definers[0], part, factor * by) for part, by in parts]
        if not parts:
            others.update(definers, *map(flow.sources, definers))
    return Sum(factors=factors, others=frozenset(others))


def _definers(flow: TapeFlow, at: int, term: ir.Operand) -> tuple[int, ...]:
    return flow.definers(at, term.number) if isinstance(term, ir.Reg) else ()


def _parts(instr: ir.Instr) -> list[tuple[ir.Operand, int]]:
    """The terms of a sum or of a product with a constant, and their factors."""
    if instr.op in ("lax.add", "lax.sub"):
        a, b = instr.ins
        return [(a, 1), (b, -1 if instr.op == "lax.sub" else 1)]
    if instr.op != "lax.mul":
        return []
    a, b = instr.ins if isinstance(instr.ins[0], ir.Const) else instr.ins[::-1]
    if isinstance(a, ir.Const) and np.ndim(a.value) == 0:
        return [(b, int(a.value))]
    return []
