"""What a rule may look at without touching: no event is emitted here."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pallas_debug.machine.step import Step, Target


def peek(m: Step, target: Target) -> Any:
    """The value at a target, as an atomic operation sees it before it writes."""
    data = m.memory(target[0]).data
    return m.place(target).read(data, m.fill(data.dtype))


def numbers(m: Step, target: Target) -> np.ndarray | None:
    """Flat element numbers of a gathered target; None where no two can be the same."""
    special = m.place(target).special
    return None if special is None else special.flat


def size_bytes(m: Step, target: Target) -> int:
    """Bytes of a target as the view shows it, in whole bytes for each element."""
    place = m.place(target)
    special = place.special
    dtype = m.memory(target[0]).data.dtype
    if special is not None and special.cast is not None:
        dtype = special.cast
    return math.prod(place.shape) * dtype.itemsize
