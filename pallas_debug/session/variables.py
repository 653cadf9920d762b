"""The user's variables at an event: Python's names for what registers hold.

A trace has no registers: the launch is executed again up to the event. A reference is
shown as what its memory holds then, which the trace knows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.ir.coordinates import coordinates
from pallas_debug.ir.names import Binding, bindings, handed
from pallas_debug.machine.memory import Window
from pallas_debug.session.held import all_recorded, held, read
from pallas_debug.session.navigation import last_event
from pallas_debug.session.places import inside
from pallas_debug.session.replay import Moment, Replay
from pallas_debug.trace import Trace, dtypes, fold
from pallas_debug.trace.query import about_a_buffer

named = lru_cache(maxsize=32)(bindings)
started = lru_cache(maxsize=32)(handed)

SHOWN = 16  # elements of an array that are all shown
LARGE = 1 << 20  # elements of memory that nobody looks at unasked
WIDTH = 60


@dataclass(frozen=True, kw_only=True, eq=False)
class Variable:
    """One variable of a thread at an event.

    Attributes:
      name: As the user wrote it.
      read: Gives the value; that of a reference costs a fold of its memory.
      text: The value in one line; of large memory only what it is.
      shape, dtype: Of the value; an empty dtype for a barrier or a semaphore.
      changed: Whether it differs from the one at the previous stop, or is new.
      buffer: The buffer that it refers to, -1 if it is a value.
    """

    name: str
    read: Callable[[], Any]
    text: str
    shape: tuple[int, ...] = ()
    dtype: str = ""
    changed: bool = False
    buffer: int = -1

    @property
    def value(self) -> Any:
        """A NumPy scalar or array; of a reference, the contents of its memory."""
        return self.read()

    @property
    def is_large(self) -> bool:
        """Whether it is memory that is not looked at unless it is asked for."""
        return self.buffer >= 0 and math.prod(self.shape) > LARGE

    def __str__(self) -> str:
        kind = f"{self.dtype}{list(self.shape)}" if self.shape else self.dtype
        kind = f"ref {kind}".rstrip() if self.buffer >= 0 else kind
        return f"{'*' if self.changed else ' '} {self.name}: {kind} = {self.text}"


class Variables(Mapping[str, Any]):
    """The variables of a thread at a cursor: name → value, and printable."""

    def __init__(
        self, variables: Mapping[str, Variable], trace: Trace | None = None, at: int = 0
    ) -> None:
        self.variables = dict(variables)
        self._trace = trace
        self._at = at

    def __getitem__(self, name: str) -> Any:
        return self.variables[name].value

    def __iter__(self) -> Iterator[str]:
        return iter(self.variables)

    def __len__(self) -> int:
        return len(self.variables)

    def __repr__(self) -> str:
        lines = [str(one) for one in self.variables.values()]
        return "\n".join(lines) or "no variables here"

    def marked(self, before: Variables | None) -> Variables:
        """The same with marks on those that differ from earlier ones."""
        if before is None:
            return self
        old = before.variables
        found = {
            name: replace(
                one, changed=name not in old or self._differ(one, old[name], before._at)
            )
            for name, one in self.variables.items()
        }
        return Variables(found, self._trace, self._at)

    def _differ(self, one: Variable, other: Variable, at: int) -> bool:
        if (one.buffer, one.shape, one.dtype) != (
            other.buffer,
            other.shape,
            other.dtype,
        ):
            return True
        if one.is_large and self._trace is not None:
            root = int(fold.roots(self._trace)[one.buffer])
            return touched(self._trace, root, *sorted((at, self._at)))
        if not one.dtype:
            return False
        a, b = np.asarray(one.value), np.asarray(other.value)
        return np.ascontiguousarray(a).tobytes() != np.ascontiguousarray(b).tobytes()


def touched(trace: Trace, root: int, begin: int, end: int) -> bool:
    """Whether something changes a memory between two events."""
    numbers = np.arange(begin, end)
    found = np.isin(trace.columns.kind[begin:end], fold.TOUCHING)
    found &= about_a_buffer(trace, numbers)
    objects = np.where(found, trace.columns.object[begin:end], 0)
    return bool((found & (fold.roots(trace)[objects] == root)).any())


def variables(
    trace: Trace, replay: Replay, moment: Moment, thread: int, at: int
) -> Variables:
    """The variables that a thread's registers hold; memory is that at a cursor."""
    launch = trace[at - 1].launch
    found: dict[str, Variable] = {}
    for name, value in placed(trace, moment.pc, thread, at).items():
        found[name] = _plain(name, value)
    for name, binding in visible(launch.kernel, moment).items():
        value = moment.registers[binding.register]
        if binding.is_ref:
            found[name] = reference(trace, name, value, at, replay)
        elif isinstance(value, np.ndarray | np.generic | int | float | bool):
            found[name] = _plain(name, value)
    return Variables(found, trace, at)


def _plain(name: str, value: Any) -> Variable:
    array = np.asarray(value)
    return Variable(
        name=name,
        read=lambda: value,
        text=text_of(array),
        shape=array.shape,
        dtype=array.dtype.name,
    )


def placed(trace: Trace, pc: int, thread: int, at: int) -> dict[str, np.int32]:
    """The coordinates of a thread's block that the user gave a name."""
    launch, last = trace[at - 1].launch, last_event(trace, at, thread)
    loc = launch.kernel.loc_of(pc) if pc >= 0 else None
    block = launch.coordinates(int(trace.columns.block[last])) if last >= 0 else None
    if loc is None or block is None:
        return {}
    sizes, place = (of[len(launch.mesh) :] for of in (launch.block_shape, block))
    return {
        one.name: np.int32(sizes[one.axis] if one.is_size else place[one.axis])
        for one in coordinates(launch.kernel).get(loc, ())
    }


def known_names(kernel: ir.Kernel) -> set[str]:
    """Every name that a variable of the kernel may have."""
    placed = coordinates(kernel).values()
    return {b.name for b in named(kernel)} | {c.name for some in placed for c in some}


def visible(kernel: ir.Kernel, moment: Moment) -> dict[str, Binding]:
    """Which binding each name has: the innermost function's, the last one made."""
    if moment.pc < 0:
        return {}
    instr = kernel.tape[moment.pc]
    loc = kernel.loc_of(moment.pc)
    function = loc.function if loc else ""
    best: dict[str, tuple[Any, Binding]] = {}
    for one in started(kernel).get(moment.pc, named(kernel)):
        known = one.register in moment.registers
        # A window's name is not that of its operand, also when nobody reads it again.
        hides = one.is_ref and 0 <= one.instr <= moment.pc
        if not (known or hides) or not _in_reach(kernel, one, instr):
            continue
        rank = (one.function == function, one.instr <= moment.pc, one.instr)
        if one.name not in best or best[one.name][0] < rank:
            best[one.name] = (rank, one)
    return {
        name: one for name, (_, one) in best.items() if one.register in moment.registers
    }


def _in_reach(kernel: ir.Kernel, one: Binding, instr: ir.Instr) -> bool:
    if one.within >= 0:
        return bool(_inside(kernel, one.within)[instr.scope])
    if one.beyond >= 0:
        return not _inside(kernel, one.beyond)[instr.scope]
    return True


_inside = lru_cache(maxsize=512)(inside)


def reference(
    trace: Trace, name: str, value: Any, at: int, replay: Replay | None = None
) -> Variable:
    """A variable that is a reference: the memory behind it at a cursor."""
    number = int(value.buffer if isinstance(value, Window) else value)
    row = trace.buffer_rows[number]
    if dtypes.is_sync(row.dtype):
        text = f"{row.dtype} #{number}"
        return Variable(name=name, read=lambda: None, text=text, buffer=number)
    shape = row.shape
    if isinstance(value, Window):
        sizes = enumerate(value.sizes)
        shape = tuple(n for axis, n in sizes if axis not in value.squeezed)
    one = Variable(
        name=name,
        read=lambda: contents(trace, value, at, replay),
        text="",
        shape=shape,
        dtype=row.dtype,
        buffer=number,
    )
    if one.is_large:
        text = "large; ask for it by name"
    elif all_recorded(trace) or held(trace, replay, number, at).known.all():
        text = text_of(one.value)
    else:
        text = "not recorded (Options(values=…, max_value_bytes=…) decide what is)"
    return replace(one, text=text)


def contents(
    trace: Trace, value: Any, at: int, replay: Replay | None = None
) -> np.ndarray | None:
    """What a reference shows at a cursor; None if it is to a barrier or semaphore."""
    number = int(value.buffer if isinstance(value, Window) else value)
    if dtypes.is_sync(trace.buffer_rows[number].dtype):
        return None
    whole = read(trace, replay, number, at)
    if not isinstance(value, Window):
        return whole
    box = zip(value.origin, value.sizes, strict=True)
    part = whole[tuple(slice(max(a, 0), max(a + size, 0)) for a, size in box)]
    inside = part.shape == tuple(value.sizes)
    return part.squeeze(axis=value.squeezed) if inside else part


def text_of(value: Any) -> str:
    """A value in one line."""
    array = np.asarray(value)
    if array.ndim == 0:
        return str(array[()])
    text = np.array2string(
        array, threshold=SHOWN, edgeitems=2, precision=4, separator=", "
    )
    line = " ".join(text.split())
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"
