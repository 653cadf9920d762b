"""The conditions of `events.where`: each turns an argument into a bool column."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from pallas_debug import errors
from pallas_debug.accepted import flag, is_whole, one_of, scalar, whole
from pallas_debug.trace import boxes
from pallas_debug.trace.schema import Kind

if TYPE_CHECKING:
    from pallas_debug.trace.trace import Trace

KINDS = {kind.name.lower(): kind for kind in Kind}
WITHOUT_BUFFER = (Kind.SPAWN, Kind.JOIN)


def refuse_unknown(unknown: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raises for a condition that does not exist."""
    for name in unknown:
        raise errors.BadOption(
            option="where", value=name, accepted=tuple(known)
        ) from None


def where(trace: Trace, conditions: Mapping[str, Any]) -> np.ndarray:
    """Sorted event numbers that meet all conditions that are not None."""
    keep: np.ndarray | None = None
    for name, value in conditions.items():
        if value is None:
            continue
        mask = CONDITIONS[name](trace, scalar(value))
        keep = mask if keep is None else keep & mask
    if keep is None:
        return np.arange(len(trace.columns), dtype=np.int64)
    return np.flatnonzero(keep).astype(np.int64, copy=False)


def lines(trace: Trace) -> np.ndarray:
    """The source line of each event, 0 if unknown."""
    return _by_instr(trace, lambda kernel, i: _line(kernel.loc_of(i)), 0)


def _line(loc: Any) -> int:
    return loc.line if loc else 0


def _by_instr(trace: Trace, look: Callable[[Any, int], Any], empty: Any) -> np.ndarray:
    """A column looked up by each event's instruction."""
    column = np.full(len(trace.columns), empty)
    for launch in trace.launches:
        if not len(launch.events):
            continue
        kernel = launch.kernel
        table = np.array([look(kernel, i) for i in range(len(kernel.tape))] + [empty])
        part = slice(launch.first_event, launch.last_event)
        instr = np.minimum(trace.columns.instr[part], len(kernel.tape))
        column[part] = table[instr]
    return column


def _several(value: Any) -> tuple[Any, ...]:
    if isinstance(value, str | bytes | Mapping):
        return (value,)
    try:
        return tuple(map(scalar, value))
    except TypeError:  # one
        return (value,)


def _row(value: Any, count: int) -> list[int]:
    """The row that a number means, none if there is no such row."""
    is_row = is_whole(value) and 0 <= operator.index(value) < count
    return [operator.index(value)] if is_row else []


def _kind(trace: Trace, value: Any) -> np.ndarray:
    wanted: list[int] = []
    for one in _several(value):
        number = KINDS.get(one.lower(), -1) if isinstance(one, str) else one
        if not is_whole(number) or operator.index(number) not in set(Kind):
            raise errors.BadOption(option="kind", value=one, accepted=tuple(KINDS))
        wanted.append(operator.index(number))
    return np.isin(trace.columns.kind, wanted)


def about_a_buffer(trace: Trace, numbers: Any = slice(None)) -> np.ndarray:
    """Which events (of some, or all) are about a buffer."""
    columns = trace.columns
    has = columns.object[numbers] >= 0
    return has & ~np.isin(columns.kind[numbers], WITHOUT_BUFFER)


def _objects(trace: Trace, keep: np.ndarray) -> np.ndarray:
    """Events about a buffer for which `keep` is true."""
    if not len(keep):
        return np.zeros(len(trace.columns), bool)
    has = about_a_buffer(trace)
    return has & keep[np.where(has, trace.columns.object, 0)]


def _buffer(trace: Trace, value: Any) -> np.ndarray:
    rows = trace.buffer_rows
    keep = np.zeros(len(rows), bool)
    for one in _several(value):
        number = getattr(one, "number", one)  # an entry of `trace.buffers` is fine
        if isinstance(number, str):
            match = [i for i, row in enumerate(rows) if row.name == number]
        else:
            match = _row(number, len(rows))
        if not match:
            names = tuple(dict.fromkeys(row.name for row in rows))
            raise errors.BadOption(option="buffer", value=one, accepted=names)
        keep[match] = True
    return _objects(trace, keep)


def _space(trace: Trace, value: Any) -> np.ndarray:
    rows = trace.buffer_rows
    spaces = tuple(dict.fromkeys(row.space for row in rows))
    wanted = {one_of("space", one, spaces) for one in _several(value)}
    return _objects(trace, np.array([row.space in wanted for row in rows], bool))


def _block(trace: Trace, value: Any) -> np.ndarray:
    columns = trace.columns
    if is_whole(value):
        return columns.block == operator.index(value)
    words = "a linear number, or coordinates such as (0, 1)"
    coordinates = tuple(whole("block", i, words) for i in _several(value))
    keep = np.zeros(len(columns), bool)
    found = False
    for launch in trace.launches:
        number = launch.linear(coordinates)
        found = found or number >= 0
        part = slice(launch.first_event, launch.last_event)
        keep[part] = (columns.block[part] == number) & (number >= 0)
    if not found:
        shapes = ", ".join(f"{launch.block_shape}" for launch in trace.launches)
        raise errors.BadOption(
            option="block", value=value, accepted=f"coordinates in a grid of {shapes}"
        )
    return keep


def _thread(trace: Trace, value: Any) -> np.ndarray:
    rows = trace.thread_rows
    keep = np.zeros(len(rows), bool)
    for one in _several(value):
        number = getattr(one, "number", one)
        if isinstance(number, str):
            match = [i for i, row in enumerate(rows) if row.kind == number]
            match = match or _threads_named(trace, number)
        else:
            match = _row(number, len(rows))
        if not match:
            kinds = tuple(dict.fromkeys(row.kind for row in rows))
            words = f"0 … {len(rows) - 1}, a thread's name or {errors.or_list(kinds)}"
            words = words if rows else "none"
            raise errors.BadOption(option="thread", value=one, accepted=words)
        keep[match] = True
    if not len(keep):
        return np.zeros(len(trace.columns), bool)
    return keep[trace.columns.thread]


def _threads_named(trace: Trace, name: str) -> list[int]:
    """Threads that are shown under a name: `warpgroup 1 of block (0, 3)`, `wg 1`."""
    name = name.strip().replace("wg ", "warpgroup ")
    names = (thread.name for thread in trace.threads)
    return [i for i, one in enumerate(names) if name in (one, one.split(" of ")[0])]


def _source_line(trace: Trace, value: Any) -> np.ndarray:
    return _standing(trace, _file_and_line(value, "line"))


def _standing(trace: Trace, place: tuple[str, int]) -> np.ndarray:
    matches = lambda kernel, i: _stands_at(kernel.loc_of(i), *place)
    return _by_instr(trace, matches, False)


def _within(trace: Trace, value: Any) -> np.ndarray:
    own = _standing(trace, _file_and_line(value, "within"))
    return own | called_from(trace, value)


def called_from(trace: Trace, value: Any) -> np.ndarray:
    """Which events stand in something that is called or opened on a line."""
    return _by_instr(trace, lambda k, i: sites_on(k.callers_of(i), value), False)


def sites_on(sites: Iterable[Any], value: Any) -> bool:
    """Whether one of some calls is on a line: its first, the others have their own."""
    file, number = _file_and_line(value, "line")
    return any(s.line == number and _stands_at(s, file, number) for s in sites)


def stands_on(loc: Any, value: Any) -> bool:
    """Whether a place is on a line, or goes over it."""
    return _stands_at(loc, *_file_and_line(value, "line"))


def _file_and_line(value: Any, option: str) -> tuple[str, int]:
    if is_whole(value):
        return "", operator.index(value)
    file, _, text = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    if not text.isdigit():
        accepted = 'a number or "file.py:41"'
        raise errors.BadOption(option=option, value=value, accepted=accepted)
    return file, int(text)


def _stands_at(loc: Any, file: str, number: int) -> bool:
    if loc is None or not loc.line <= number <= (loc.end_line or loc.line):
        return False
    return not file or file in (loc.file, PurePath(loc.file).name)


def _launch(trace: Trace, value: Any) -> np.ndarray:
    names = [launch.name for launch in trace.launches]
    number = getattr(value, "number", value)
    if isinstance(number, str):
        match = [i for i, name in enumerate(names) if name == number]
    else:
        match = _row(number, len(names))
    if not match:
        raise errors.BadOption(
            option="launch", value=value, accepted=(*names, *range(len(names)))
        )
    return np.isin(trace.columns.launch, match)


def _op(trace: Trace, value: Any) -> np.ndarray:
    tapes = (launch.kernel.tape for launch in trace.launches)
    known = dict.fromkeys(instr.op for tape in tapes for instr in tape)
    wanted = {one_of("op", one, known) for one in _several(value)}
    return _by_instr(trace, lambda kernel, i: kernel.tape[i].op in wanted, False)


def _region(trace: Trace, value: Any) -> np.ndarray:
    box = boxes.box_of(value)
    columns, rows = trace.columns, trace.buffer_rows
    keep = about_a_buffer(trace) & (columns.region >= 0)
    seqs = np.flatnonzero(keep)
    shapes = list(dict.fromkeys(row.shape for row in rows))
    number = {shape: i for i, shape in enumerate(shapes)}
    shape_of = np.array([number[row.shape] for row in rows], np.int64)
    keys = columns.region[seqs].astype(np.int64) * len(shapes)
    keys, which = np.unique(keys + shape_of[columns.object[seqs]], return_inverse=True)
    found = np.zeros(len(keys), bool)
    for i, shape in enumerate(shapes):
        extents = boxes.extents(box, shape)
        mine = np.flatnonzero(keys % len(shapes) == i)
        if extents is not None:
            regions = keys[mine] // len(shapes)
            found[mine] = boxes.touching(trace, regions, shape, extents)
    keep[seqs] = found[which]
    return keep


def _holding(name: str, test: Any) -> Callable[[Trace, Any], np.ndarray]:
    """The condition that some element of the recorded value passes a test."""

    def holding(trace: Trace, value: Any) -> np.ndarray:
        wanted = flag(name, value)
        table = trace.caches.get(name)
        if table is None:
            found = [v.dtype.kind in "fcV" and test(v).any() for v in trace.payloads]
            table = trace.caches[name] = np.array([*found, False], bool)  # -1: none
        return table[trace.columns.payload] == wanted

    return holding


CONDITIONS: dict[str, Callable[[Any, Any], np.ndarray]] = {
    "kind": _kind,
    "buffer": _buffer,
    "block": _block,
    "thread": _thread,
    "line": _source_line,
    "within": _within,
    "launch": _launch,
    "space": _space,
    "op": _op,
    "region": _region,
    "nan": _holding("nan", np.isnan),
    "inf": _holding("inf", np.isinf),
}
