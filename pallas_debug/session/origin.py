"""Where a value came from: backwards through registers, memory and copies.

What a launch executed is known to the step once it has been executed again. From there
every value leads to the instructions that made it: an operand to the last instruction
that set its register, a read to the last writers of what it read, an agent's register
to the one that started it. The ends are arguments, constants and memory nobody wrote.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pallas_debug import errors
from pallas_debug.session import links
from pallas_debug.session.flow import Flow, Key
from pallas_debug.session.replay import Replay
from pallas_debug.session.variables import text_of, visible
from pallas_debug.trace import Trace, fold

MOST = 400  # links that are followed at once, before the path is known
ROUNDS = 8
SHOWN = 20  # links of a path at each end


@dataclass(frozen=True, kw_only=True)
class Link:
    """One step on the way of a value.

    Attributes:
      kind: `write`, `read`, `compute`, or an end: `argument`, `constant`, `unset`,
        `coordinate`, `unknown`.
      text: What happened: `write acc[0:64]`, `lax.sub`, the argument's name.
      name: The user's variable that it set, if it has a name.
      place: `kernel.py:41`, or empty.
      source: The source line.
      event: Number of the event, -1 if it has none.
      thread, step, instr: Who, when, and which instruction.
      value: The value in one line, empty if it is not known.
      nans, infs: How many elements of the value are so.
      inputs: Numbers of the links that it was made from.
    """

    kind: str
    text: str
    name: str = ""
    place: str = ""
    source: str = ""
    event: int = -1
    thread: int = -1
    step: int = -1
    instr: int = -1
    value: str = ""
    nans: int = 0
    infs: int = 0
    inputs: tuple[int, ...] = ()

    def __str__(self) -> str:
        number = f"#{self.event} " if self.event >= 0 else ""
        name = f"{self.name} = " if self.name else ""
        value = f"  → {self.value}" if self.value else ""
        odd = [f"{self.nans} NaN"] * bool(self.nans) + [f"{self.infs} inf"] * bool(
            self.infs
        )
        odd_text = f" ({', '.join(odd)})" if odd else ""
        place = f"  {self.place}" if self.place else ""
        return f"{number}{name}{self.text}{place}{value}{odd_text}"


@dataclass(frozen=True, kw_only=True, repr=False)
class Origin:
    """The way of a value, as a graph and as one path through it.

    Attributes:
      links: The value itself first; `inputs` of a link are numbers here.
      path: The links from the value to one end: along the NaN if the value has one.
      born: The link where the NaN first is, -1 if there is none.
      complete: Whether every link was followed to its ends.
    """

    links: tuple[Link, ...]
    path: tuple[int, ...]
    born: int = -1
    complete: bool = True

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        names = Link.__dataclass_fields__
        return {
            "links": [
                {n: getattr(link, n) for n in names} | {"inputs": list(link.inputs)}
                for link in self.links
            ],
            "path": list(self.path),
            "born": self.born,
            "complete": self.complete,
        }

    def __str__(self) -> str:
        lines, said = list[str](), ("", "")
        for place, number in enumerate(self.path):
            link = self.links[number]
            if SHOWN <= place < len(self.path) - SHOWN and number != self.born:
                if place == SHOWN:
                    lines.append(f"  … {len(self.path) - 2 * SHOWN} more …")
                continue
            lines.append(f"{'← ' if place else '  '}{link}")
            if link.source and (link.place, link.source) != said:
                lines.append(f"        | {link.source}")
            said = (link.place, link.source)
            if number == self.born:
                lines.append("      the NaN is born here, of:")
                lines += [f"      · {self.links[i]}" for i in link.inputs]
        if not self.complete:
            lines.append("  … there is more; `links` has what was followed")
        return "\n".join(lines)

    __repr__ = __str__


def of_event(trace: Trace, replay: Replay, event: int) -> Origin:
    """Where what an event wrote or read came from."""
    if not 0 <= event < len(trace):
        accepted = f"0 … {len(trace) - 1}" if len(trace) else "none"
        raise errors.BadOption(option="event", value=event, accepted=accepted)
    launch = int(trace.columns.launch[event])
    return _followed(Flow(trace, replay, launch), ("event", event))


def of_variable(
    trace: Trace, replay: Replay, cursor: int, thread: int, name: str
) -> Origin:
    """Where the value of a thread's variable at a cursor came from."""
    if not 0 < cursor <= len(trace):
        accepted = "a variable, after the first step"
        raise errors.BadOption(option="origin", value=name, accepted=accepted)
    row = trace[cursor - 1]
    moment = replay.moment(cursor - 1, thread)
    known = visible(row.launch.kernel, moment)
    buffers = [one.name for one in trace.buffer_rows]
    if name not in known and name in buffers:
        accepted = f'an element of the buffer: origin("{name}", (0, …))'
        raise errors.BadOption(option="origin", value=name, accepted=accepted)
    if name not in known:
        raise errors.BadOption(option="origin", value=name, accepted=tuple(known))
    flow = Flow(trace, replay, row.launch.number)
    binding = known[name]
    if binding.is_ref:
        held = moment.registers[binding.register]
        buffer = int(getattr(held, "buffer", held))
        return _followed(flow, ("memory", cursor, buffer))
    step = replay.steps(cursor - 1)[1]
    return _followed(flow, flow.setter(thread, binding.register, step))


def of_element(trace: Trace, replay: Replay, buffer: int, cursor: int | None) -> Origin:
    """Where an element's value came from: from its last write, the cursor after it.

    Without one it is what the memory began with.
    """
    if cursor is not None:
        return of_event(trace, replay, cursor - 1)
    root = int(fold.roots(trace)[buffer])
    row = trace.buffer_rows[root]
    end = "argument" if row.initial >= 0 else "unset"
    return _followed(Flow(trace, replay, row.launch), (end, root))


def _followed(flow: Flow, root: Key) -> Origin:
    """The graph behind a key, as far as it takes to know the path to its end."""
    found: dict[Key, Link] = {}
    inputs: dict[Key, tuple[Key, ...]] = {}
    todo, path = deque([root]), [root]
    for _ in range(ROUNDS):
        _expand(flow, todo, inputs)
        fresh = [key for key in inputs if key not in found]
        found.update(zip(fresh, _valued(flow, fresh), strict=True))
        path = list(_path(root, found, inputs))
        todo = deque(key for key in (path[-1],) if key not in inputs)
        if not todo:
            break
    numbers = {key: number for number, key in enumerate(found)}
    made = tuple(
        replace(link, inputs=tuple(numbers[k] for k in inputs[key] if k in numbers))
        for key, link in found.items()
    )
    way = tuple(numbers[key] for key in path if key in numbers)
    complete = all(k in numbers for key in found for k in inputs[key])
    return Origin(links=made, path=way, born=_born(made, way), complete=complete)


def _expand(flow: Flow, todo: deque[Key], inputs: dict[Key, tuple[Key, ...]]) -> None:
    """Follows links breadth first, some of them."""
    for _ in range(MOST):
        if not todo:
            return
        key = todo.popleft()
        if key not in inputs:
            inputs[key] = flow.inputs(key)
            todo.extend(one for one in inputs[key] if one not in inputs)


def _path(
    root: Key, found: dict[Key, Link], inputs: dict[Key, tuple[Key, ...]]
) -> Iterator[Key]:
    """From a link to an end: along the NaN, else to an argument if it leads to one."""
    key, seen, leading = root, set[Key](), _leading(found, inputs)
    while key not in seen:
        seen.add(key)
        yield key
        following = [one for one in inputs.get(key, ()) if one not in seen]
        if not following or key not in found:
            return
        key = max(following, key=lambda one: _weight(found.get(one), one in leading))


def _leading(found: dict[Key, Link], inputs: dict[Key, tuple[Key, ...]]) -> set[Key]:
    """Links that lead to an argument, to unset memory, or to what was not followed."""
    users: dict[Key, list[Key]] = {}
    for key, several in inputs.items():
        for one in several:
            users.setdefault(one, []).append(key)
    todo = [
        key
        for key in {*users, *found}
        if key not in found or found[key].kind in ("argument", "unset")
    ]
    seen = set(todo)
    while todo:
        for key in users.get(todo.pop(), ()):
            if key not in seen:
                seen.add(key)
                todo.append(key)
    return seen


def _weight(link: Link | None, leads: bool) -> tuple[bool, bool, bool, int]:
    if link is None:
        return (False, False, leads, 0)
    return (link.nans > 0, link.infs > 0, leads, link.event)


def _born(links: Sequence[Link], path: Sequence[int]) -> int:
    """Where on the path the NaN first is: none of what it was made from has one."""
    for number in reversed(path):
        if links[number].nans:
            return number
    return -1


def _valued(flow: Flow, keys: Sequence[Key]) -> Iterator[Link]:
    """The links of keys, with the values that they had."""
    values = links.values(flow, keys)
    for key in keys:
        facts, value = links.describe(flow, key), values.get(key)
        if value is None:
            yield Link(**facts)
            continue
        array = np.asarray(value)
        nans = infs = 0
        if array.dtype.kind in "fcV":
            nans, infs = int(np.isnan(array).sum()), int(np.isinf(array).sum())
        yield Link(**facts, value=text_of(array), nans=nans, infs=infs)
