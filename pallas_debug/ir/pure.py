"""A pure operation as the machine sees it: a Python expression over register values.

`jaxlink.evaluate` makes these; the machine pastes `expr` into the functions that it
generates and never learns which library the names in `env` come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True, kw_only=True, slots=True)
class Pure:
    """Meaning of one pure instruction.

    Attributes:
      expr: A Python expression. `{0}`, `{1}`, … stand for the operands (register names
        or constants). It yields the single result, or a tuple when `results != 1`.
        Free names are those of `env` and `np` (NumPy); nothing else.
      env: Objects that `expr` names. Keys are valid identifiers; one key may mean
        different things in two instructions (the compiler renames them).
      results: Number of results.

    Values: an array is a `numpy.ndarray` of exactly the dtype of its aval, a value of
    rank 0 is a NumPy scalar (`numpy.generic`) of exactly that dtype, never a 0-d array
    or a Python number. Values are immutable by convention: an expression never writes
    to an operand, and may return a view of one.
    """

    expr: str
    env: Mapping[str, Any] = field(default_factory=dict)
    results: int = 1

    def call(self, *operands: Any) -> Any:
        """Evaluates the expression on values: the slow twin of the generated code."""
        names = [f"_{i}" for i in range(len(operands))]
        scope = {"np": np, **self.env, **dict(zip(names, operands, strict=True))}
        return eval(self.expr.format(*names), scope)
