"""Which findings follow from which others: one fault, told once.

A missing wait shows as races, as reads of unset memory, as NaN in an output and as copies
that nobody waits for. A rule links two findings where facts of the trace say that mending
the cause ends the consequence, too; where they leave that open there is no link. A cause
is never milder than what follows from it, so that leaving out consequences hides no
error. What order would end is asked in `causes_of_order.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from pallas_debug.checks import causes_of_order as of_order
from pallas_debug.checks import outside_barriers
from pallas_debug.checks.causes_of_indices import made_up_indices
from pallas_debug.checks.causes_of_order import Known, Link
from pallas_debug.checks.finding import Finding, Severity
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.trace import Trace

RANK = {severity: rank for rank, severity in enumerate(Severity)}


def related(trace: Trace, findings: Sequence[Finding]) -> list[Finding]:
    """The same findings, each with the one that it follows from, if any."""
    known = Known(trace, findings)
    causes: dict[int, set[int]] = {}
    for rule in RULES:
        for effect, cause in rule(known):
            if effect != cause and rank(findings[cause]) <= rank(findings[effect]):
                causes.setdefault(effect, set()).add(cause)
    behind = [_behind(causes, number) for number in range(len(findings))]
    roots = [_root(behind, number) for number in range(len(findings))]
    return [
        one if root == number else replace(one, cause=findings[root])
        for number, (one, root) in enumerate(zip(findings, roots, strict=True))
    ]


def rank(one: Finding) -> int:
    """How bad a finding is, 0 the worst."""
    return RANK[one.severity or Severity.ERROR]


def _behind(causes: dict[int, set[int]], number: int) -> set[int]:
    """Everything that a finding follows from, over others."""
    found: set[int] = set()
    todo = [number]
    while todo:
        for cause in causes.get(todo.pop(), ()):
            if cause not in found:
                found.add(cause)
                todo.append(cause)
    return found


def _root(behind: list[set[int]], number: int) -> int:
    """The first finding behind one that follows from no other, but by a circle."""
    mine = behind[number]
    last = [one for one in mine if all(one in behind[other] for other in behind[one])]
    return min(last, default=number)


def _spread_of_unset_memory(known: Known) -> Iterator[Link]:
    """NaN that stands for unset memory, where the read of it is a finding itself."""
    for effect, one in known.of("PD401"):
        for cause, read in known.of("PD102"):
            same = one.launch == read.launch and one.buffer == read.buffer
            if one.details.get("unset") and same and one.loc == read.loc:
                yield effect, cause


def _spread_of_unwritten_output(known: Known) -> Iterator[Link]:
    """NaN that a block brought back which was not filled."""
    columns = known.trace.columns
    for effect, one in known.of("PD401"):
        read = one.events[0] if one.details.get("unset") else -1
        if not known.is_write_back(read):
            continue
        array = int(columns.object[read + 1])
        for cause, output in known.of("PD103"):
            if output.details.get("array") == array:
                yield effect, cause


def _unset_by_coming_back(known: Known) -> Iterator[Link]:
    """Reads of windows that are unset because a block was come back to."""
    columns = known.trace.columns
    read = [(n, one, one.events) for n, one in known.of("PD102")]
    spread = [(n, one) for n, one in known.of("PD401") if one.details.get("unset")]
    read += [(n, one, one.events[:1]) for n, one in spread]
    for cause, one in known.of("PD104"):
        if "left_by" not in one.details or one.count > len(one.events):
            continue
        windows = columns.object[list(one.events)]
        for effect, other, events in read:
            is_whole = other.code == "PD401" or other.count <= len(events)
            if is_whole and np.isin(columns.object[list(events)], windows).all():
                yield effect, cause


def _of_parallel_points(known: Known) -> Iterator[Link]:
    """One block of memory, shared by grid points that the kernel calls parallel."""
    shared = [n for n, one in known.of("PD104") if "axes" in one.details]
    shared += [n for n in known.races if known.races[n][0].is_parallel]
    for effect in shared:
        for cause in shared:
            one, other = known.findings[effect], known.findings[cause]
            if one.launch == other.launch and one.buffer == other.buffer:
                yield effect, cause


def _of_waiting_threads(known: Known) -> Iterator[Link]:
    """Waits for threads that wait themselves, in another finding, and not in a circle."""
    found = [(n, one) for n, one in known.of("PD210") if one.count == len(one.threads)]
    for effect, one in found:
        edges = one.details.get("graph", {}).get("edges", ())
        mine = [edge for edge in edges if edge["from"] in one.threads]
        if {edge["from"] for edge in mine} != set(one.threads):
            continue
        for cause, other in found:
            asked = all(
                e["state"] == "waits" and e["to"] in other.threads for e in mine
            )
            if asked and one.launch == other.launch:
                yield effect, cause


def _of_missing_elements(known: Known) -> Iterator[Link]:
    """Waits for an element that does not exist, or whose signals went to such a one."""
    columns = known.trace.columns
    nowhere = outside_barriers.nowhere(known.trace)
    for effect, one in known.of("PD210"):
        if not one.events or one.count > len(one.events):
            continue
        asleep = np.array(one.events, np.int64)
        for cause, other in known.of("PD101"):
            mine = np.intersect1d(np.array(other.events, np.int64), nowhere)
            lost = mine[columns.kind[mine] != Kind.BLOCK]
            if np.isin(asleep, mine).all() or _is_short_of(known, one, asleep, lost):
                yield effect, cause


def _is_short_of(
    known: Known, one: Finding, asleep: np.ndarray, lost: np.ndarray
) -> bool:
    """Whether as much was given to missing elements of an array as its waits lack."""
    columns = known.trace.columns
    if not np.isin(columns.object[asleep], columns.object[lost]).all():
        return False
    mine = lost[columns.object[lost] == columns.object[asleep[0]]]
    if "units" in one.details:
        units = one.details["units"]
        given = int(columns.aux[mine].sum())
        return given >= units["needed"] - units["seen"]
    arrivals = one.details["arrivals"]
    return len(mine) >= arrivals["needed"] - arrivals["seen"]


def _freed_or_over(known: Known) -> Iterator[Link]:
    """Operations that nobody waits for: at the end of a scope, and of the kernel."""
    for free, one in known.of("PD107"):
        for end, other in known.of("PD221"):
            if one.launch != other.launch or "given" in other.details:
                continue
            if one.severity is Severity.ERROR and known.agents(other) <= known.agents(
                one
            ):
                yield end, free
            elif one.severity is Severity.INFO and known.agents(one) <= known.agents(
                other
            ):
                yield free, end


RULES: tuple[Callable[[Known], Iterator[Link]], ...] = (
    of_order.unordered_pairs,
    of_order.commits,
    of_order.reads_of_unset_memory,
    of_order.unawaited_operations,
    of_order.unawaited_copies,
    of_order.unobserved_barriers,
    of_order.missed_phases,
    of_order.copies_into_one_slot,
    of_order.barriers_for_nobody,
    made_up_indices,
    _spread_of_unset_memory,
    _spread_of_unwritten_output,
    _unset_by_coming_back,
    _of_parallel_points,
    _of_waiting_threads,
    _of_missing_elements,
    _freed_or_over,
)
