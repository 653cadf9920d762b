"""The rows of a block, as a function of where it stands.

A row is affine in that:  row = (1, step, thread, buffer, block) @ rows,  the numbers of
the block's first instruction, new thread and new buffer, and its own. The rows of
accesses are *open*: block, object, region and payload are filled in by the replay.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pallas_debug.machine.replaying.effects import DATA
from pallas_debug.machine.replaying.path import Leg
from pallas_debug.machine.replaying.rest import Rest
from pallas_debug.machine.replaying.values import CORE
from pallas_debug.machine.step import Step
from pallas_debug.trace.schema import COLUMNS, Kind
from pallas_debug.trace.writer import Writer

KIND, THREAD, BLOCK, STEP, INSTR, OBJECT, REGION, AUX, PAYLOAD = range(len(COLUMNS))
NOTED = (BLOCK, OBJECT, REGION, PAYLOAD)
ONE, BY_STEP, BY_THREAD, BY_BUFFER, BY_BLOCK = range(5)
WINDOWS = ("window.fetch", "window.output")
OPEN = DATA | {"scope.alloc", *WINDOWS}
OF_THREADS = (int(Kind.SPAWN), int(Kind.JOIN))  # their object is a thread

At = tuple[int, int, int, int, int]  # (1, step, thread, buffer, block)


@dataclass(kw_only=True, eq=False)
class Template:
    """What the blocks of one way have in common.

    Attributes:
      key: The way: legs, threads, kinds and instructions of the events.
      same: How the machine stood (`Rest.same`).
      legs, spawned, windows: As `compile_path` takes them.
      rows: The affine map, flat: 5 × (events · columns). In float64, where NumPy has a
        fast product; 2**53 is far away.
      open_rows: Which rows are filled in.
      steps, buffers, count, noted: How many instructions, new buffers, events, numbers
        to fill in.
      cells: Where those go in a block's rows, laid flat.
      threads: The threads table's new rows; the parent is new, too, where the second
        of each is 1.
      choices: Step and thread since the beginning of the block, and whether it is new.
      regions: Row and region of each event that has one and is not filled in.
    """

    key: Any
    same: tuple[Any, ...]
    legs: tuple[Leg, ...]
    spawned: tuple[tuple[int, int], ...]
    windows: dict[int, tuple[int, ...]]
    rows: np.ndarray
    open_rows: np.ndarray
    steps: int
    buffers: int
    threads: tuple[tuple[tuple[Any, ...], int], ...]
    choices: tuple[tuple[int, int, int], ...]
    regions: tuple[tuple[int, tuple[int, ...]], ...]
    count: int = field(init=False)
    noted: int = field(init=False)
    cells: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.count = self.rows.shape[1] // len(COLUMNS)
        self.cells = (self.open_rows[:, None] * len(COLUMNS) + np.array(NOTED)).ravel()
        self.noted = len(self.cells)

    def filled(self, places: np.ndarray, noted: np.ndarray) -> np.ndarray:
        """The rows of blocks, one after the other, with what was noted in each.

        `places` has a row for each block (`At`), in float64.
        """
        rows = (places @ self.rows).astype(np.int32)
        rows[:, self.cells] = noted.reshape(len(rows), -1)
        return rows.reshape(-1, len(COLUMNS))

    def of(self, writer: Writer) -> Template | None:
        """The same with this writer's numbers of regions, if it has them all."""
        if not self.regions:
            return self
        numbers = [writer.known_region(region) for _, region in self.regions]
        if any(number < 0 for number in numbers):
            return None
        rows = self.rows.reshape(5, self.count, -1).copy()
        rows[ONE, [row for row, _ in self.regions], REGION] = numbers
        return replace(self, rows=rows.reshape(self.rows.shape))

    def agrees(self, other: Template) -> bool:
        """Whether another block of the same way has the same rows."""
        return (
            np.array_equal(self.rows, other.rows)
            and (self.steps, self.buffers) == (other.steps, other.buffers)
            and (self.threads, self.choices) == (other.threads, other.choices)
        )


def learned(
    m: Step, before: Rest, now: Rest, legs: Sequence[Leg], core: int
) -> Template | None:
    """The template of the block that ran between two rests; None if it has none.

    `legs` have the trace's numbers of threads; `core` is one, or -1 for a block of its
    own.
    """
    writer, first = m.writer, before.threads
    log = writer.log[before.rows : now.rows]
    rows = np.frombuffer(bytes(log), np.int32).reshape(-1, len(COLUMNS)).copy()
    new = writer.threads[first : now.threads]
    if not len(rows) or (core < 0 and not new):
        return None
    block = int(rows[0, AUX]) if core >= 0 else new[0][4]
    if core >= 0 and rows[0, KIND] != Kind.GRID:
        return None
    relative = tuple((max(t - first, CORE), start, to) for t, start, to in legs)
    spawned = tuple((max(row[1] - first, CORE), row[7]) for row in new)
    ops = np.array([m.kernel.tape[i].op in OPEN for i in rows[:, INSTR]])
    open_rows = np.flatnonzero(ops & (rows[:, THREAD] != m.root))
    key = (relative, spawned, rows[:, KIND].tobytes(), rows[:, INSTR].tobytes())
    at = (1, before.step, first, before.buffers, block)
    affine = _affine(rows, open_rows, at)
    if affine is None or any(row[4] != block or row[3] >= 0 for row in new):
        return None
    return Template(
        key=key,
        same=now.same,
        legs=relative,
        spawned=spawned,
        windows=_windows(m, rows),
        rows=affine.reshape(5, -1).astype(np.float64),
        open_rows=open_rows,
        steps=now.step - before.step,
        buffers=now.buffers - before.buffers,
        threads=tuple(_thread(row, first) for row in new),
        choices=tuple(
            (step - before.step, *_since(thread, first))
            for _, step, thread in writer.choices[before.choices : now.choices]
        ),
        regions=_regions(m, rows, open_rows),
    )


def _regions(
    m: Step, rows: np.ndarray, open_rows: np.ndarray
) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Row and region of the events that have one and are not filled in."""
    having = np.setdiff1d(np.flatnonzero(rows[:, REGION] >= 0), open_rows)
    regions = m.writer.regions
    return tuple((int(row), regions[rows[row, REGION]]) for row in having)


def _windows(m: Step, rows: np.ndarray) -> dict[int, tuple[int, ...]]:
    """Kinds of the events of each window instruction."""
    return {
        position: tuple(rows[rows[:, INSTR] == position, KIND].tolist())
        for position, instr in enumerate(m.kernel.tape)
        if instr.op in WINDOWS
    }


def _since(thread: int, first: int) -> tuple[int, int]:
    """A thread's number since the block's first new one, and 1; or as it is, and 0."""
    return (thread - first, 1) if thread >= first else (thread, 0)


def _thread(row: tuple[Any, ...], first: int) -> tuple[tuple[Any, ...], int]:
    kind, parent, device, _, _, index, _, instr = row
    parent, new = _since(parent, first)
    return (kind, parent, device, index, instr), new


def _affine(rows: np.ndarray, open_rows: np.ndarray, at: At) -> np.ndarray | None:
    """The map that gives these rows at this place; None if they are not of the kind."""
    _, step, first, buffer, block = at
    found = np.zeros((5, *rows.shape), np.int32)
    found[ONE] = rows
    for column in NOTED:
        found[ONE, open_rows, column] = 0
    rows = found[ONE].copy()
    fixed = np.ones(len(rows), bool)
    fixed[open_rows] = False

    def shift(column: int, by: int, amount: int, where: np.ndarray) -> None:
        found[by, where, column] = 1
        found[ONE, where, column] -= amount

    own = fixed & (rows[:, BLOCK] >= 0)
    if (rows[own, BLOCK] != block).any() or (rows[fixed, PAYLOAD] >= 0).any():
        return None
    kinds, objects = rows[:, KIND], rows[:, OBJECT]
    of_thread = np.isin(kinds, OF_THREADS)
    shift(STEP, BY_STEP, step, np.ones(len(rows), bool))
    shift(THREAD, BY_THREAD, first, rows[:, THREAD] >= first)
    shift(BLOCK, BY_BLOCK, block, own)
    shift(OBJECT, BY_THREAD, first, fixed & of_thread & (objects >= first))
    shift(OBJECT, BY_BUFFER, buffer, fixed & ~of_thread & (objects >= buffer))
    shift(AUX, BY_BLOCK, block, kinds == Kind.GRID)
    agents = (kinds == Kind.BLOCK) & (objects < 0) & (rows[:, AUX] >= first)
    shift(AUX, BY_THREAD, first, agents)
    return found


def rows_of(
    done: Sequence[Template], places: Sequence[int], noted: Sequence[int]
) -> np.ndarray:
    """The rows of replayed blocks, in their order."""
    found = np.frombuffer(array("i", noted), np.int32)
    ats = np.array(places, np.float64).reshape(len(done), -1)
    templates = {id(template): template for template in done}
    if len(templates) == 1:
        return done[0].filled(ats, found)
    starts = np.cumsum([0, *(template.count for template in done)])
    opened = np.cumsum([0, *(template.noted for template in done)])
    rows = np.empty((starts[-1], len(COLUMNS)), np.int32)
    for number, template in templates.items():
        mine = [n for n, other in enumerate(done) if id(other) == number]
        cells = opened[mine][:, None] + np.arange(template.noted)
        block = template.filled(ats[mine], found[cells])
        rows[starts[mine][:, None] + np.arange(template.count)] = block.reshape(
            len(mine), -1, len(COLUMNS)
        )
    return rows


def add_tables(
    writer: Writer, launch: int, done: Sequence[Template], places: Sequence[int]
) -> None:
    """The side tables' rows of replayed blocks, in their order."""
    if not any(template.threads or template.choices for template in done):
        return
    ats = zip(*[iter(places)] * 5, strict=True)
    for template, (_, step, first, _, block) in zip(done, ats, strict=True):
        writer.threads += [
            (kind, parent + first * new, device, -1, block, index, launch, instr)
            for (kind, parent, device, index, instr), new in template.threads
        ]
        writer.choices += [
            (launch, step + later, thread + first * new)
            for later, thread, new in template.choices
        ]
