"""Breakpoints: queries over events, with a condition over the user's variables.

A breakpoint is plain data. Where it can stop is a query of the trace, answered at once;
an expression or a watched change is looked at in the candidates only, the near ones
first, so that a search costs what it looks at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from pallas_debug import errors
from pallas_debug.accepted import scalar
from pallas_debug.session.held import all_recorded, held
from pallas_debug.session.progress import progress
from pallas_debug.session.replay import Replay
from pallas_debug.session.search import Numbers
from pallas_debug.session.variables import touched
from pallas_debug.trace import Trace, absent, boxes, fold
from pallas_debug.trace.query import CONDITIONS as QUERIES
from pallas_debug.trace.wording import conditions as conditions_of

WATCHED = {
    "write": ("write", "update"),
    "read": ("read", "update"),
    "change": ("write", "update"),
}
CONDITIONS = (*QUERIES, "finding")
SOME, MOST = 64, 4096  # candidates that are looked at together


@dataclass(frozen=True, kw_only=True, repr=False)
class Breakpoint:
    """Where to stop.

    Attributes:
      id: Its number in the session.
      where: Conditions as `trace.events.where` takes them: `line=41, block=(0, 0)`.
      when: A Python expression over the variables of the thread; empty: always.
      enabled: Whether it stops anybody.
      label: What the user calls it.
      change: Stop only where the values in the region differ before and after.
      unmet: Why no event could stop there when it was set; empty if one could.
    """

    id: int
    where: str
    when: str = ""
    enabled: bool = True
    label: str = ""
    change: bool = False
    unmet: str = field(default="", compare=False)

    def to_json(self) -> dict[str, Any]:
        """Plain data, as a view state holds it."""
        named = (f.name for f in fields(self) if f.compare)
        plain = {name: getattr(self, name) for name in named}
        return plain if self.change else {k: plain[k] for k in plain if k != "change"}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Breakpoint:
        """A breakpoint from what a view state holds."""
        return cls(
            id=int(data.get("id", 0)),
            where=str(data.get("where", "")),
            when=str(data.get("when", "")),
            enabled=bool(data.get("enabled", True)),
            label=str(data.get("label", "")),
            change=bool(data.get("change", False)),
        )

    @property
    def is_plain(self) -> bool:
        """Whether the columns alone say where it stops."""
        return not self.when and not self.change

    def __str__(self) -> str:
        words = [f"{self.id}:", f"{self.label}:" * bool(self.label), self.where]
        words += [f"when {self.when}"] * bool(self.when)
        words += ["on change"] * self.change + ["(disabled)"] * (not self.enabled)
        said = " ".join(filter(None, words))
        return f"{said}; {self.unmet}" if self.unmet else said

    __repr__ = __str__


class Hit(NamedTuple):
    """An event at which a breakpoint stops."""

    event: int
    breakpoint: Breakpoint


def find(trace: Trace, report: Any, conditions: Mapping[str, Any]) -> np.ndarray:
    """Events that meet conditions; beside those of `where` also `finding`."""
    rest = dict(conditions)
    finding = rest.pop("finding", None)
    if absent.refusal(trace, rest) is not None:  # a breakpoint may wait for it
        return np.zeros(0, np.int64)
    found = trace.events.where(**rest)
    if finding is None:
        return found
    return np.intersect1d(found, evidence(report, finding))


def evidence(report: Any, code: Any = True) -> np.ndarray:
    """Sorted events that findings point at: all, or those of a code or a name."""
    findings = report.findings if report is not None else ()
    code = scalar(code)
    if code is not True:
        known = sorted({word for one in findings for word in (one.code, one.name)})
        if not isinstance(code, str) or code not in known:
            accepted = (*known, True) if known else "none: nothing was found"
            raise errors.BadOption(option="finding", value=code, accepted=accepted)
        findings = [one for one in findings if code in (one.code, one.name)]
    return np.array(sorted({e for one in findings for e in one.events}), np.int64)


def search(
    candidates: Sequence[tuple[Breakpoint, Numbers]],
    cursor: int,
    holds: Callable[[Breakpoint, Sequence[int]], Iterable[bool]],
    *,
    backwards: bool = False,
) -> Hit | None:
    """The next or the previous event at which a breakpoint stops.

    Args:
      candidates: Enabled breakpoints, each with the sorted events of its query.
      cursor: Where the search starts.
      holds: Whether the condition of a breakpoint holds, for rising events.
      backwards: Look for the previous event.
    """
    ways = [
        (one, _way(np.asarray(numbers, np.int64), cursor, backwards))
        for one, numbers in candidates
    ]
    plain = [Hit(int(way[0]), one) for one, way in ways if one.is_plain and len(way)]
    best = _nearest(plain, backwards)
    for one, way in ways:
        if one.is_plain:
            continue
        if best is not None:
            nearer = way > best.event if backwards else way < best.event
            way = way[nearer]
        event = _first(one, way, holds)
        if event is not None:
            best = Hit(event, one)
    return best


def _way(numbers: np.ndarray, cursor: int, backwards: bool) -> np.ndarray:
    """The events that a search comes to, the nearest first."""
    if backwards:
        return numbers[: np.searchsorted(numbers, cursor - 1)][::-1]
    return numbers[np.searchsorted(numbers, cursor) :]


def _nearest(hits: Sequence[Hit], backwards: bool) -> Hit | None:
    if not hits:
        return None
    return (max if backwards else min)(hits, key=lambda hit: hit.event)


def _first(
    one: Breakpoint,
    way: np.ndarray,
    holds: Callable[[Breakpoint, Sequence[int]], Iterable[bool]],
) -> int | None:
    """The first event on a way at which a condition holds."""
    for some in _parts(way, str(one)):
        rising = np.sort(some)
        met = rising[np.fromiter(holds(one, rising.tolist()), bool, len(rising))]
        if len(met):
            return int(met[0] if some[0] == rising[0] else met[-1])
    return None


def _parts(way: np.ndarray, what: str) -> Iterator[np.ndarray]:
    """Growing parts of a way, with a progress bar should it take long."""
    done, length = 0, SOME
    with progress(len(way), what) as bar:
        while done < len(way):
            yield way[done : done + length]
            bar.update(length)
            done, length = done + length, min(2 * length, MOST)


def changes(
    trace: Trace, where: str, events: Sequence[int], replay: Replay | None = None
) -> Iterator[bool]:
    """For rising events whether the values in the watched region become others.

    With a replay also where they were not recorded.
    """
    region = conditions_of(where).get("region", "[]")
    box, columns, roots = boxes.box_of(region), trace.columns, fold.roots(trace)
    kept: dict[int, tuple[int, fold.Memory]] = {}
    for event in events:
        root = int(roots[columns.object[event]])
        if replay is not None and not all_recorded(trace):
            yield _differs(trace, replay, root, box, event)
            continue
        at, memory = kept.get(root, (-1, None))
        if memory is None or touched(trace, root, at, event):
            memory = fold.memory(trace, root, at=event)
        shape = memory.values.shape
        extents = boxes.extents(box, shape) or ()
        part = tuple(slice(start, stop) for start, stop in extents)
        before = [array[part].copy() for array in memory]
        _apply(trace, event, memory)
        kept[root] = event + 1, memory
        yield any(
            old.tobytes() != new[part].tobytes()
            for old, new in zip(before, memory, strict=True)
        )


def _differs(
    trace: Trace, replay: Replay, buffer: int, box: boxes.Box, event: int
) -> bool:
    """Whether an event changes a part; where nobody knows, it does."""
    before, after = (held(trace, replay, buffer, at) for at in (event, event + 1))
    extents = boxes.extents(box, before.values.shape) or ()
    part = tuple(slice(start, stop) for start, stop in extents)
    if not (before.known[part].all() and after.known[part].all()):
        return True
    return any(
        old[part].tobytes() != new[part].tobytes()
        for old, new in zip(before, after, strict=True)
    )


def _apply(trace: Trace, event: int, memory: fold.Memory) -> None:
    """What a write or an update does to a memory."""
    region = trace.region(int(trace.columns.region[event]))
    fold.put(memory.values, region, trace.values(event))
    fold.put(memory.initialized, region, np.bool_(True))
