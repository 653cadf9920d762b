"""Races of a trace: conflicting accesses in no order, one for each pair of lines.

The rules of memory are in `trace/proxies.py`; here they are asked about the pairs that
`races_pairs.py` picks, and the answers are counted. The checks PD201 to PD205 say the
result in words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from pallas_debug import ir
from pallas_debug.checks import races_pairs
from pallas_debug.trace.proxies import Engine, Standing, proxies
from pallas_debug.trace.schema import Kind
from pallas_debug.trace.trace import Trace

SHOWN = 50
FLAGS = 16  # faults, each with and without parallel grid points


class Fault(Enum):
    """What is wrong with a pair of accesses."""

    READ_WRITE = "read-write"
    WRITE_WRITE = "write-write"
    UNCOMMITTED = "uncommitted"  # ordered, but stored through the other proxy
    UNFENCED = "unfenced"  # ordered, but read through the other proxy
    UNSEEN = "unseen"  # ordered, but stored to global memory through the other proxy


@dataclass(frozen=True, kw_only=True, eq=False)
class Race:
    """Two lines that touch the same memory against the rules.

    Attributes:
      first, second: Events of the first occurrence; `first` was recorded first.
      count: How many pairs of accesses there are.
      events: The first few pairs, flat.
      pairs: All of them, a row each, in the order of the second access.
      begun, done: What `second` builds on, and by when `first` is over (-1: never).
      is_parallel: In grid points that the kernel calls parallel.
    """

    fault: Fault
    first: int
    second: int
    count: int
    events: tuple[int, ...]
    pairs: np.ndarray
    begun: int
    done: int
    is_parallel: bool = False


def races(trace: Trace) -> tuple[Race, ...]:
    """The races of a trace, in the order in which they show."""
    if "races" not in trace.caches:
        trace.caches["races"] = _races(trace)
    return trace.caches["races"]


def _races(trace: Trace) -> tuple[Race, ...]:
    a, b = races_pairs.pairs(trace)
    kinds = trace.columns.kind
    standing = proxies(trace).standing(a, b)
    parallel = _in_parallel(trace, a, b)
    standing[parallel] = Standing.UNORDERED
    bad = np.flatnonzero(standing != Standing.ORDERED)
    a, b, standing, parallel = a[bad], b[bad], standing[bad], parallel[bad]
    reads = (kinds[a] == Kind.READ) | (kinds[b] == Kind.READ)
    unfenced = standing == Standing.UNFENCED
    fault = np.where(reads, 0, 1) + np.where(unfenced, 2, 0)
    fault[unfenced] = np.where(kinds[a[unfenced]] == Kind.READ, 3, 2)
    in_gmem = np.array([row.space == "gmem" for row in trace.buffer_rows], bool)
    fault[unfenced & in_gmem[trace.columns.object[a]]] = 4
    return tuple(
        _race(trace, fault, a[members], b[members], is_parallel)
        for fault, is_parallel, members in _grouped(trace, a, b, fault, parallel)
    )


def _grouped(
    trace: Trace, a: np.ndarray, b: np.ndarray, fault: np.ndarray, parallel: np.ndarray
) -> Iterator[tuple[Fault, bool, np.ndarray]]:
    """Positions of the pairs of each launch, pair of lines, buffer name and fault."""
    columns = trace.columns
    names = {row.name: i for i, row in enumerate(trace.buffer_rows)}
    name = np.array([names[row.name] for row in trace.buffer_rows], np.int64)
    sites = columns.launch.astype(np.int64) << 32 | columns.instr
    site, of = np.unique(sites[np.concatenate([a, b])], return_inverse=True)
    sides = of.reshape(2, -1)
    key = sides[0] * len(site) + sides[1]
    key = key * (len(name) + 1) + name[columns.object[a]]
    key, group = np.unique(key * FLAGS + fault * 2 + parallel, return_inverse=True)
    places = [_place(trace, int(number)) for number in site]
    labels: dict[Any, int] = {}
    label = np.zeros(len(key), np.int64)
    for number, value in enumerate(key.tolist()):
        value, flags = divmod(value, FLAGS)
        pair, buffer = divmod(value, len(name) + 1)
        lines = sorted((places[i] for i in divmod(pair, len(site))), key=str)
        label[number] = labels.setdefault((*lines, buffer, flags), len(labels))
    by_label = np.argsort(label[group], kind="stable")
    ends = np.cumsum(np.bincount(label[group], minlength=len(labels)))
    members = np.split(by_label, ends[:-1])
    for (*_, flags), mine in zip(labels, members, strict=False):
        yield tuple(Fault)[flags // 2], bool(flags % 2), mine


def _place(trace: Trace, site: int) -> tuple[Any, ...]:
    """Launch and source line of an instruction; itself where the line is unknown."""
    launch, instr = divmod(site, 1 << 32)
    loc = trace.launches[launch].kernel.loc_of(instr)
    return (launch, loc.file, loc.line) if loc else (launch, instr)


def _race(
    trace: Trace, fault: Fault, a: np.ndarray, b: np.ndarray, is_parallel: bool
) -> Race:
    order = np.argsort(b, kind="stable")
    a, b = a[order], b[order]
    rules, pairs = proxies(trace), np.stack([a, b], 1)
    return Race(
        fault=fault,
        first=int(a[0]),
        second=int(b[0]),
        count=len(a),
        events=tuple(pairs[:SHOWN].ravel().tolist()),
        pairs=pairs,
        begun=int(rules.begun(b[:1])[0]),
        done=int(rules.done(a[:1])[0]),
        is_parallel=is_parallel,
    )


def _in_parallel(trace: Trace, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Pairs in grid points that differ along a dimension of parallel semantics.

    A core runs its grid points one after the other, but parallel ones may go to other
    cores, which share the arrays, and whose windows and scratch are each their own: in
    scratch, a point must not find what another one left.
    """
    columns = trace.columns
    result = np.zeros(len(a), bool)
    for launch in trace.launches:
        grid = launch.kernel.grid
        axes = [i for i, s in enumerate(grid.semantics) if "parallel" in s]
        if not axes or launch.backend not in ("tpu", "generic"):
            continue
        mine = np.flatnonzero(columns.launch[a] == launch.number)
        mine = mine[(columns.block[a[mine]] >= 0) & (columns.block[b[mine]] >= 0)]
        mine = mine[_is_shared(trace, launch.kernel, a[mine], b[mine])]
        points = [
            np.unravel_index(columns.block[side[mine]], (*launch.mesh, *launch.grid))
            for side in (a, b)
        ]
        differ = [left != right for left, right in zip(*points, strict=True)]
        of_grid = differ[len(launch.mesh) :]
        apart = np.any([of_grid[axis] for axis in axes], axis=0)
        for elsewhere in differ[: len(launch.mesh)]:  # there the order is the kernel's
            apart &= ~elsewhere
        result[mine] |= apart
    return result


def _is_shared(
    trace: Trace, kernel: ir.Kernel, a: np.ndarray, b: np.ndarray
) -> np.ndarray:
    """Whether both touch an array, by themselves the same window, or scratch in turn."""
    columns, rows = trace.columns, trace.buffer_rows
    roles = np.array([row.role for row in rows])
    moved = np.array(
        [*(instr.op.startswith("window.") for instr in kernel.tape), False]
    )
    result = np.ones(len(a), bool)
    carried = (columns.kind[a] != Kind.READ) & (columns.kind[b] == Kind.READ)
    for side in (a, b):
        role = roles[columns.object[side]]
        instr = np.minimum(columns.instr[side], len(kernel.tape))
        result &= np.isin(role, ("input", "output")) | (
            ((role == "window") & ~moved[instr]) | ((role == "scratch") & carried)
        )
    return result


def is_agent(trace: Trace, seq: int) -> bool:
    """Whether an asynchronous operation made the access."""
    return trace.threads[int(trace.columns.thread[seq])].is_agent


def engine(trace: Trace, seq: int) -> Engine:
    """Who executed an event."""
    return Engine(int(proxies(trace).engine[trace.columns.thread[seq]]))
