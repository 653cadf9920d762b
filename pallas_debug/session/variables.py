"""The user's variables at an event: Python's names for what registers hold.

A trace has no registers: the launch is executed again up to the event. A reference is
shown as what its memory holds then, which the trace knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.ir.names import Binding, bindings
from pallas_debug.machine.memory import Window, dtype_of, poison
from pallas_debug.session.places import inside
from pallas_debug.session.replay import Moment
from pallas_debug.trace import Trace, dtypes, fold

named = lru_cache(maxsize=32)(bindings)

SHOWN = 16  # elements of an array that are all shown
WIDTH = 60


@dataclass(frozen=True, kw_only=True, eq=False)
class Variable:
    """One variable of a thread at an event.

    Attributes:
      name: As the user wrote it.
      value: A NumPy scalar or array; of a reference, the contents of its memory, None
        if that is a barrier or a semaphore.
      text: The value in one line.
      changed: Whether it differs from the one at the previous stop, or is new.
      buffer: The buffer that it refers to, -1 if it is a value.
    """

    name: str
    value: Any
    text: str
    changed: bool = False
    buffer: int = -1

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value."""
        return tuple(np.shape(self.value))

    @property
    def dtype(self) -> str:
        """Name of the value's dtype, empty without a value."""
        return "" if self.value is None else np.asarray(self.value).dtype.name

    def __str__(self) -> str:
        kind = f"{self.dtype}{list(self.shape)}" if self.shape else self.dtype
        kind = f"ref {kind}".rstrip() if self.buffer >= 0 else kind
        return f"{'*' if self.changed else ' '} {self.name}: {kind} = {self.text}"


class Variables(Mapping[str, Any]):
    """The variables of a thread: name → value, and printable."""

    def __init__(self, variables: Mapping[str, Variable]) -> None:
        self.variables = dict(variables)

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
        return Variables(
            {
                name: replace(one, changed=name not in old or _differ(one, old[name]))
                for name, one in self.variables.items()
            }
        )


def _differ(one: Variable, other: Variable) -> bool:
    a, b = np.asarray(one.value), np.asarray(other.value)
    if a is b or (a.dtype == object and b.dtype == object):
        return one.text != other.text
    same = a.shape == b.shape and a.dtype == b.dtype
    return not same or np.ascontiguousarray(a).tobytes() != b.tobytes()


def variables(trace: Trace, kernel: ir.Kernel, moment: Moment, at: int) -> Variables:
    """The variables that a thread's registers hold; memory is that at a cursor."""
    found: dict[str, Variable] = {}
    for name, binding in visible(kernel, moment).items():
        value = moment.registers[binding.register]
        if binding.is_ref:
            found[name] = reference(trace, name, value, at)
        elif isinstance(value, np.ndarray | np.generic | int | float | bool):
            found[name] = Variable(name=name, value=value, text=text_of(value))
    return Variables(found)


def visible(kernel: ir.Kernel, moment: Moment) -> dict[str, Binding]:
    """Which binding each name has: the innermost function's, the last one made."""
    if moment.pc < 0:
        return {}
    instr = kernel.tape[moment.pc]
    loc = kernel.loc_of(moment.pc)
    function = loc.function if loc else ""
    best: dict[str, tuple[Any, Binding]] = {}
    for one in named(kernel):
        if one.register not in moment.registers or not _in_reach(kernel, one, instr):
            continue
        rank = (one.function == function, one.instr <= moment.pc, one.instr)
        if one.name not in best or best[one.name][0] < rank:
            best[one.name] = (rank, one)
    return {name: one for name, (_, one) in best.items()}


def _in_reach(kernel: ir.Kernel, one: Binding, instr: ir.Instr) -> bool:
    if one.within >= 0:
        return bool(_inside(kernel, one.within)[instr.scope])
    if one.beyond >= 0:
        return not _inside(kernel, one.beyond)[instr.scope]
    return True


_inside = lru_cache(maxsize=512)(inside)


def reference(trace: Trace, name: str, value: Any, at: int) -> Variable:
    """A variable that is a reference: the memory behind it at a cursor."""
    window = value if isinstance(value, Window) else None
    number = int(value.buffer if isinstance(value, Window) else value)
    row = trace.buffer_rows[number]
    if dtypes.is_sync(row.dtype):
        return Variable(
            name=name, value=None, text=f"{row.dtype} #{number}", buffer=number
        )
    contents = held(trace, number, at)
    if window is not None:
        box = zip(window.origin, window.sizes, strict=True)
        part = contents[tuple(slice(start, start + size) for start, size in box)]
        contents = part.squeeze(axis=window.squeezed) if part.size else part
    return Variable(name=name, value=contents, text=text_of(contents), buffer=number)


def held(trace: Trace, buffer: int, at: int) -> np.ndarray:
    """What a buffer holds at a cursor; unset elements as a kernel would read them."""
    memory = fold.memory(trace, buffer, at=at)
    unset = poison(dtype_of(trace.buffer_rows[buffer].dtype))
    return np.where(memory.initialized, memory.values, unset)


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
