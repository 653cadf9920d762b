"""What pure instructions computed that is out of the ordinary: facts beside the events.

Registers are not part of a trace, so these come from executing a recorded launch again
(`session.arithmetic`), when somebody asks, and are kept with the trace in memory. A trace
from a file has none. Each entry says what happened, not whether it is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pallas_debug.trace.trace import Trace

NAN = "nan"  # NaN from operands without NaN
INFINITY = "infinity"  # infinity from finite operands
OVERFLOW = "overflow"  # the same because the dtype is too narrow
CAST = "cast"  # an integer dtype that does not hold the number
WRAP = "wrap"  # a signed integer result beyond its dtype
ABSORBED = "absorbed"  # a sum that equals one of its terms though the other is not zero
DRIFT = "drift"  # a running sum that the same terms in float64 are not equal to


@dataclass(kw_only=True, eq=False)
class Oddity:
    """One kind of unusual result of one instruction in one launch.

    Attributes:
      kind: One of the names above.
      launch, instr: Where.
      op: Of the instruction.
      thread, block: Who did it first; `event`: the number of the event that came next.
      serial: Orders the first occurrences.
      turn: How often the thread had executed the instruction before, in that block.
      index: The first element concerned; `operands`, `result`: the numbers there.
      dtype: Of the result.
      box: First and end of the elements concerned, by dimension, at first.
      count, elements, executed: How often, how many elements, of how many executed.
      loss: Of a drift: how far it is from the exact sum (the first of `operands`) over
        the sum of its terms' magnitudes (the second), the root mean square of elements.
    """

    kind: str
    launch: int
    instr: int
    op: str
    thread: int
    block: int
    event: int
    serial: int
    turn: int
    index: tuple[int, ...]
    operands: tuple[Any, ...]
    result: Any
    dtype: str
    box: tuple[tuple[int, int], ...] = ()
    count: int = 1
    elements: int = 0
    executed: int = 0
    loss: float = 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Arithmetic:
    """Everything noted about the launches of a trace.

    Attributes:
      oddities: By launch and instruction.
      nans: First time that an instruction gave NaN: `(launch, instr, thread, block)` →
        serial number.
      launches: Those that were executed again.
    """

    oddities: tuple[Oddity, ...] = ()
    nans: Mapping[tuple[int, int, int, int], int] = field(default_factory=dict)
    launches: frozenset[int] = frozenset()


NOTHING = Arithmetic()


def arithmetic(trace: Trace) -> Arithmetic:
    """What is known of a trace's arithmetic; nothing, if nobody can look."""
    found = trace.caches.get("arithmetic", NOTHING)
    if not isinstance(found, Arithmetic):
        found = trace.caches["arithmetic"] = found()
    return found


def promise(trace: Trace, look: Callable[[], Arithmetic]) -> None:
    """Says how to find out about a trace's arithmetic, once somebody asks."""
    trace.caches.setdefault("arithmetic", look)
