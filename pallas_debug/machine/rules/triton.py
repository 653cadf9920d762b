"""Rules of the triton family: atomics, in which every lane lands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pallas_debug.machine.rules.pallas_places import numbers, peek
from pallas_debug.machine.rules.registry import rule
from pallas_debug.machine.step import Step, Target
from pallas_debug.trace.schema import Kind

Binary = Callable[[Any, Any], Any]

OPERATIONS: dict[str, Binary] = {
    "xchg": lambda old, new: new,
    "add": lambda old, new: old + new,
    "max": np.maximum,
    "min": np.minimum,
    "and": lambda old, new: old & new,
    "or": lambda old, new: old | new,
    "xor": lambda old, new: old ^ new,
}


@rule("triton.atomic_rmw")
def atomic_rmw(m: Step, ref: Target, value: Any, mask: Any, *, operation: str) -> Any:
    """The value before the update, lane by lane.

    Lanes of one address take their turns in the order of the lanes, as some order on
    the hardware would.
    """
    combine = OPERATIONS[operation]
    old = peek(m, ref)
    value = np.broadcast_to(value, np.shape(old))
    new = combine(old, value)
    lanes = numbers(m, ref)
    if lanes is not None and np.unique(lanes).size != lanes.size:
        on = np.broadcast_to(True if mask is None else mask, lanes.shape)
        old, new = _in_turn(combine, lanes, old, value, on)
    m.write(ref, new, mask, kind=Kind.UPDATE)
    return old


def _in_turn(
    combine: Binary, lanes: np.ndarray, old: Any, value: Any, mask: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Values before and after each lane's turn."""
    before, after = old.copy(), old.copy()
    last: dict[int, Any] = {}
    for lane in np.ndindex(lanes.shape):
        if mask[lane]:
            number = int(lanes[lane])
            before[lane] = last.get(number, old[lane])
            after[lane] = last[number] = combine(before[lane], value[lane])
    return before, after


@rule("triton.atomic_cas")
def atomic_cas(m: Step, ref: Target, expected: Any, value: Any) -> Any:
    """Stores the value if the expected one is there; the old one either way."""
    old = peek(m, ref)
    m.write(ref, np.where(old == expected, value, old), kind=Kind.UPDATE)
    return old
