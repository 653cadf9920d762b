"""Asynchronous operations: a routine on the tape with a small register file of its own.

The issuing instruction hands the agent the values that its routine reads, so that an
agent's continuation is as small as the issuer's and as copyable.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from pallas_debug import ir
from pallas_debug.jaxlink import refs
from pallas_debug.jaxlink.lowering import Lowering


class Agent:
    """The registers of a routine: first what it is given, then its own."""

    def __init__(self) -> None:
        self.given: list[ir.Operand] = []
        self._numbers: dict[int, int] = {}
        self._locals = 0

    def operand(self, operand: ir.Operand) -> ir.Operand:
        """The issuer's operand as the routine names it."""
        if not isinstance(operand, ir.Reg):
            return operand
        number = self._numbers.get(operand.number)
        if number is None:
            number = self._numbers[operand.number] = len(self.given)
            self.given.append(operand)
        return ir.Reg(number)

    def access(self, access: ir.Access) -> ir.Access:
        """The issuer's access as the routine names it."""
        steps = tuple(self._step(step) for step in access.steps)
        return ir.Access(ref=self.operand(access.ref), steps=steps)

    def _step(self, step: ir.ViewStep) -> ir.ViewStep:
        if isinstance(step, ir.Index):
            return ir.Index(dims=tuple(map(self._dim, step.dims)))
        if isinstance(step, ir.Peer):
            ids = tuple(self.operand(i) for i in step.ids)
            return dataclasses.replace(step, ids=ids)
        return step

    def _dim(self, dim: Any) -> Any:
        if not isinstance(dim, ir.Slice):
            return dataclasses.replace(dim, index=self.operand(dim.index))
        size = dim.size_operand
        return dataclasses.replace(
            dim,
            start=self.operand(dim.start),
            size_operand=None if size is None else self.operand(size),
        )

    def local(self) -> ir.Reg:
        """A fresh register; only once everything given has been named."""
        self._locals += 1
        return ir.Reg(len(self.given) + self._locals - 1)

    def start(
        self,
        lw: Lowering,
        op: str,
        kind: str,
        routine: Callable[[], None],
        params: dict[str, Any] | None = None,
    ) -> None:
        """Appends the issuing instruction now and the routine after the body.

        The rule of `op` is given the instruction, the values of `given`, and `extra`,
        the number of further registers.
        """
        position, loc, scope = lw.here, lw.loc, lw.scope
        held = {**(params or {}), "extra": 0}
        lw.emit(op, self.given, params=held, targets=[-1], sync=True)

        def append() -> None:
            lw.loc, lw.scope = loc, scope
            lw.enter("agent", kind)
            lw.patch(position, lw.here)
            routine()
            lw.emit("ir.return")
            held["extra"] = self._locals

        lw.agents.append(append)


def viewed(
    reference: Any, by_reference: Callable[[Any], refs.Dim] | None = None
) -> ir.Access:
    """A reference of an unflattened argument tree, with its transforms or without."""
    transforms = getattr(reference, "transforms", ())
    while hasattr(reference, "ref"):
        reference = reference.ref
    leaf = reference.leaf
    return refs.access(leaf.operand, leaf.aval, transforms, by_reference)
