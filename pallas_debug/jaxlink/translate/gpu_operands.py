"""Reads the flat operands of a Mosaic GPU equation: references, their views, values.

These equations hold all references first and the leaves of all views after them, so
that an operand can only be understood in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pallas_debug import ir
from pallas_debug.jaxlink import refs


class Given(NamedTuple):
    """An operand with its type."""

    operand: ir.Operand
    aval: Any


class Viewed(NamedTuple):
    """A reference with its views, and the type of what they show."""

    access: ir.Access
    aval: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(int(d) for d in self.aval.shape)


class Operands:
    """What is left of an equation's operands."""

    def __init__(self, eqn: Any, ins: Sequence[ir.Operand]) -> None:
        avals = [v.aval for v in eqn.invars]
        self.left = [Given(*pair) for pair in zip(ins, avals, strict=True)]

    def take(self) -> Given:
        """The next operand."""
        return self.left.pop(0)

    def last(self) -> ir.Operand:
        """The last operand: where a predicate stands."""
        return self.left.pop().operand

    def views(self, reference: Given, tree: Any) -> Viewed:
        """A reference with the views whose leaves come next; no tree: no views."""
        count = 0 if tree is None else tree.num_leaves
        leaves, self.left = self.left[:count], self.left[count:]
        transforms: Any = ()
        if tree is not None:
            operands = [leaf.operand for leaf in leaves]
            transforms = refs.unflatten(tree, operands, [leaf.aval for leaf in leaves])
        aval = reference.aval
        access = refs.access(reference.operand, aval, transforms)
        for transform in transforms or ():
            aval = transform.transform_type(aval)
        return Viewed(access, aval)


def flat_axes(axes: Any) -> tuple[str, ...]:
    """Names of mesh axes, from one name or nested tuples of names."""
    if axes is None:
        return ()
    if isinstance(axes, tuple):
        return tuple(name for axis in axes for name in flat_axes(axis))
    return (str(axes),)
